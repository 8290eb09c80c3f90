#include "lockstep/protocol/sealed/connection_paths.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"

/* More than any datagram needs; what comes beyond is not saved up for a burst. */
#define CREDIT_BYTES_MAX 2048u

#define CHALLENGE_PERIOD_NS (50 * LS_NS_PER_MS)
/* While the client is where it was, and somebody copies its packets. */
#define ALIVE_PERIOD_NS (250 * LS_NS_PER_MS)
/* After so long without challenges the silence begins anew. */
#define CHALLENGE_GAP_NS (3 * LS_NS_PER_SECOND)

/* How an address is known to be silent: longer than round trips and outages of lines that can be
 * played over, so that a copy is hardly ever followed. A player is sent ticks meanwhile. */
#define SILENCE_NS LS_NS_PER_SECOND
#define SILENT_CHALLENGES 5u

/* Challenges without an answer after which one that did answer may be gone. */
#define DOUBTFUL_CHALLENGES 2u

#define FORMER_NS (60 * LS_NS_PER_SECOND)
#define FORMER_PERIOD_NS LS_NS_PER_SECOND

static bool is_active_alive(const ls_connection_paths *paths)
{
    return paths->is_active_heard && paths->unanswered < DOUBTFUL_CHALLENGES;
}

static bool is_active_silent(const ls_connection_paths *paths, uint64_t now_ns)
{
    return paths->unanswered >= SILENT_CHALLENGES && now_ns >= paths->silent_ns + SILENCE_NS;
}

static bool is_former(const ls_connection_paths *paths, const ls_endpoint *address, uint64_t now_ns)
{
    return now_ns < paths->former_until_ns && ls_endpoint_is_equal(&paths->former, address);
}

void ls_connection_paths_receive(ls_connection_paths *paths, const ls_endpoint *from, size_t size,
                                 uint64_t now_ns)
{
    if (ls_endpoint_is_equal(&paths->active, from)) {
        paths->has_candidate = false;
        return;
    }
    if (!paths->has_candidate || !ls_endpoint_is_equal(&paths->candidate, from)) {
        paths->candidate = *from;
        paths->has_candidate = true;
        paths->is_candidate_heard = false;
        paths->credit_bytes = 0;
    }
    if (now_ns > paths->challenged_ns + CHALLENGE_GAP_NS) {
        paths->is_active_heard = false;
        paths->unanswered = 0;
        paths->silent_ns = now_ns;
    }
    size_t credit_bytes = paths->credit_bytes + size + ls_udp_header_bytes(from);
    paths->credit_bytes = (uint32_t)LS_MIN(credit_bytes, CREDIT_BYTES_MAX);
}

static size_t credit_of_candidate(const ls_connection_paths *paths)
{
    size_t header_bytes = ls_udp_header_bytes(&paths->candidate);
    return paths->has_candidate && paths->credit_bytes > header_bytes
               ? paths->credit_bytes - header_bytes
               : 0;
}

size_t ls_connection_paths_room(const ls_connection_paths *paths)
{
    return paths->is_candidate_heard || is_active_alive(paths) ? 0 : credit_of_candidate(paths);
}

const ls_endpoint *ls_connection_paths_second(const ls_connection_paths *paths)
{
    bool is_used = paths->has_candidate && paths->is_candidate_heard && !is_active_alive(paths);
    return is_used ? &paths->candidate : NULL;
}

static void spend(ls_connection_paths *paths, size_t size)
{
    LS_ASSERT(size <= credit_of_candidate(paths));
    paths->credit_bytes -= (uint32_t)(size + ls_udp_header_bytes(&paths->candidate));
}

void ls_connection_paths_spend(ls_connection_paths *paths, size_t size)
{
    spend(paths, size);
    paths->has_answered = true;
}

static bool is_pair_due(const ls_connection_paths *paths, size_t size, uint64_t now_ns)
{
    uint64_t period_ns = is_active_alive(paths) ? ALIVE_PERIOD_NS : CHALLENGE_PERIOD_NS;
    bool is_soon = paths->challenged_ns != 0 && now_ns < paths->challenged_ns + period_ns;
    return !is_soon && credit_of_candidate(paths) >= size;
}

uint32_t ls_connection_paths_challenge(ls_connection_paths *paths, size_t size, uint64_t now_ns,
                                       ls_endpoint to[LS_PATH_CHALLENGES_MAX])
{
    uint32_t count = 0;
    if (is_pair_due(paths, size, now_ns)) {
        spend(paths, size);
        paths->challenged_ns = now_ns;
        paths->has_answered = false;
        paths->unanswered = (uint8_t)LS_MIN(paths->unanswered + 1u, SILENT_CHALLENGES);
        to[count++] = paths->candidate;
        to[count++] = paths->active;
    }
    if (now_ns >= paths->former_until_ns) {
        paths->former_until_ns = 0;
    } else if (now_ns >= paths->former_challenged_ns + FORMER_PERIOD_NS) {
        paths->former_challenged_ns = now_ns;
        to[count++] = paths->former;
    }
    return count;
}

static void move(ls_connection_paths *paths, const ls_endpoint *to, bool is_certain,
                 uint64_t now_ns)
{
    const ls_connection_paths before = *paths;
    *paths = (ls_connection_paths){.active = *to, .moves = before.moves};
    if (!is_certain && now_ns < before.former_until_ns) {
        paths->former = before.former;
        paths->former_until_ns = before.former_until_ns;
        paths->former_challenged_ns = before.former_challenged_ns;
    } else if (!is_certain) {
        paths->former = before.active;
        paths->former_until_ns = now_ns + FORMER_NS;
        paths->former_challenged_ns = now_ns;
    }
}

bool ls_connection_paths_prove(ls_connection_paths *paths, const ls_endpoint *address,
                               uint32_t moves, uint64_t now_ns)
{
    if (ls_endpoint_is_equal(&paths->active, address)) {
        paths->is_active_heard = true;
        paths->unanswered = 0;
        paths->silent_ns = now_ns;
        return false;
    }
    bool is_certain = moves > paths->moves || is_former(paths, address, now_ns);
    if (is_certain || is_active_silent(paths, now_ns)) {
        paths->moves = LS_MAX(paths->moves, moves);
        move(paths, address, is_certain, now_ns);
        return true;
    }
    paths->is_candidate_heard =
        paths->is_candidate_heard ||
        (paths->has_candidate && ls_endpoint_is_equal(&paths->candidate, address));
    return false;
}
