#include "lockstep/protocol/sealed/sealed_connections.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"

#include <string.h>

#define NONE LS_SEALED_NO_CONNECTION

typedef enum place_state {
    FREE,
    HALF_OPEN,
    OPEN,
} place_state;

typedef struct place {
    place_state state;
    uint32_t chained;        /* the next place whose key is found in the same chain */
    uint32_t before, behind; /* of the list of its state; OPEN: in none */
    uint8_t client_key[LS_CIPHER_KEY_BYTES];
} place;

typedef struct list {
    uint32_t first, last, count;
} list;

struct ls_sealed_connections {
    const ls_allocator *allocator;
    place *places;
    uint32_t *chains;
    uint32_t place_count;
    uint32_t chain_bits;
    uint64_t multiplier; /* odd and secret: no client can choose keys of one chain */
    list free, half_open;
};

/* ---- lists ---- */

static void append(ls_sealed_connections *connections, list *to, uint32_t index)
{
    place *added = &connections->places[index];
    added->before = to->last;
    added->behind = NONE;
    if (to->last == NONE) {
        to->first = index;
    } else {
        connections->places[to->last].behind = index;
    }
    to->last = index;
    to->count++;
}

static void unlink_place(ls_sealed_connections *connections, list *from, uint32_t index)
{
    const place *removed = &connections->places[index];
    if (removed->before == NONE) {
        from->first = removed->behind;
    } else {
        connections->places[removed->before].behind = removed->behind;
    }
    if (removed->behind == NONE) {
        from->last = removed->before;
    } else {
        connections->places[removed->behind].before = removed->before;
    }
    from->count--;
}

/* ---- chains ---- */

static uint32_t *chain_of(const ls_sealed_connections *connections, const uint8_t *client_key)
{
    uint64_t mixed = ls_load_u64(client_key) * connections->multiplier;
    return &connections->chains[mixed >> (64 - connections->chain_bits)];
}

static void chain(ls_sealed_connections *connections, uint32_t index)
{
    uint32_t *head = chain_of(connections, connections->places[index].client_key);
    connections->places[index].chained = *head;
    *head = index;
}

static void unchain(ls_sealed_connections *connections, uint32_t index)
{
    uint32_t *link = chain_of(connections, connections->places[index].client_key);
    while (*link != index) {
        link = &connections->places[*link].chained;
    }
    *link = connections->places[index].chained;
}

uint32_t ls_sealed_connections_find(const ls_sealed_connections *connections,
                                    const uint8_t client_key[LS_CIPHER_KEY_BYTES])
{
    uint32_t index = *chain_of(connections, client_key);
    while (index != NONE &&
           memcmp(connections->places[index].client_key, client_key, LS_CIPHER_KEY_BYTES) != 0) {
        index = connections->places[index].chained;
    }
    return index;
}

/* ---- places ---- */

static ls_status allocate(ls_sealed_connections *connections)
{
    const ls_allocator *allocator = connections->allocator;
    uint32_t chain_count = 1u << connections->chain_bits;
    connections->places =
        ls_allocate_array(allocator, connections->place_count, sizeof *connections->places);
    connections->chains = ls_allocate_array(allocator, chain_count, sizeof *connections->chains);
    if (!connections->places || !connections->chains) {
        return LS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < chain_count; i++) {
        connections->chains[i] = NONE;
    }
    for (uint32_t i = 0; i < connections->place_count; i++) {
        append(connections, &connections->free, i);
    }
    return LS_OK;
}

ls_status ls_sealed_connections_create(uint32_t places, uint64_t seed,
                                       const ls_allocator *allocator, ls_sealed_connections **out)
{
    ls_sealed_connections *connections = ls_allocate(allocator, sizeof *connections);
    if (!connections) {
        return LS_NO_MEMORY;
    }
    *connections = (ls_sealed_connections){
        .allocator = allocator,
        .place_count = places,
        .chain_bits = 1,
        .multiplier = seed | 1u,
        .free = {NONE, NONE, 0},
        .half_open = {NONE, NONE, 0},
    };
    while (1u << connections->chain_bits < places) {
        connections->chain_bits++;
    }
    ls_status status = allocate(connections);
    if (status) {
        ls_sealed_connections_destroy(connections);
        return status;
    }
    *out = connections;
    return LS_OK;
}

void ls_sealed_connections_destroy(ls_sealed_connections *connections)
{
    if (!connections) {
        return;
    }
    const ls_allocator *allocator = connections->allocator;
    ls_release(allocator, connections->places);
    ls_release(allocator, connections->chains);
    ls_release(allocator, connections);
}

uint32_t ls_sealed_connections_claim(ls_sealed_connections *connections,
                                     const uint8_t client_key[LS_CIPHER_KEY_BYTES])
{
    uint32_t index = connections->free.first;
    if (index == NONE) {
        return NONE;
    }
    unlink_place(connections, &connections->free, index);
    append(connections, &connections->half_open, index);
    place *taken = &connections->places[index];
    taken->state = HALF_OPEN;
    memcpy(taken->client_key, client_key, LS_CIPHER_KEY_BYTES);
    chain(connections, index);
    return index;
}

void ls_sealed_connections_open(ls_sealed_connections *connections, uint32_t index)
{
    LS_ASSERT(connections->places[index].state == HALF_OPEN);
    unlink_place(connections, &connections->half_open, index);
    connections->places[index].state = OPEN;
}

void ls_sealed_connections_release(ls_sealed_connections *connections, uint32_t index)
{
    LS_ASSERT(ls_sealed_connections_is_used(connections, index));
    place *released = &connections->places[index];
    if (released->state == HALF_OPEN) {
        unlink_place(connections, &connections->half_open, index);
    }
    unchain(connections, index);
    released->state = FREE;
    append(connections, &connections->free, index);
}

uint32_t ls_sealed_connections_oldest(const ls_sealed_connections *connections)
{
    return connections->half_open.first;
}

uint32_t ls_sealed_connections_half_open(const ls_sealed_connections *connections)
{
    return connections->half_open.count;
}

bool ls_sealed_connections_is_used(const ls_sealed_connections *connections, uint32_t index)
{
    return index < connections->place_count && connections->places[index].state != FREE;
}

bool ls_sealed_connections_is_open(const ls_sealed_connections *connections, uint32_t index)
{
    return index < connections->place_count && connections->places[index].state == OPEN;
}

/* ---- connection paths ---- */

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
