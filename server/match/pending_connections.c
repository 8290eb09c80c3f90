#include "lockstep/server/match/pending_connections.h"

#include "lockstep/common/base/assert.h"

#include <string.h>

ls_status ls_pending_connections_init(ls_pending_connections *pending, uint32_t players,
                                      const ls_allocator *allocator)
{
    pending->count = 0;
    pending->room = LS_MAX(players, LS_PENDING_LEAST);
    pending->rows = ls_allocate(allocator, pending->room * sizeof pending->rows[0]);
    return pending->rows ? LS_OK : LS_NO_MEMORY;
}

void ls_pending_connections_deinit(ls_pending_connections *pending, const ls_allocator *allocator)
{
    ls_release(allocator, pending->rows);
}

static uint32_t row_of(const ls_pending_connections *pending, ls_peer_id peer)
{
    uint32_t row = 0;
    while (row < pending->count && pending->rows[row].peer != peer) {
        row++;
    }
    return row;
}

bool ls_pending_connections_has(const ls_pending_connections *pending, ls_peer_id peer)
{
    return row_of(pending, peer) < pending->count;
}

void ls_pending_connections_add(ls_pending_connections *pending, ls_peer_id peer,
                                const ls_match_pass *pass, uint64_t now_ns)
{
    LS_ASSERT(pending->count < pending->room);
    pending->rows[pending->count++] =
        (ls_pending_connection){.peer = peer, .since_ns = now_ns, .pass = *pass};
}

ls_match_pass ls_pending_connections_pass(const ls_pending_connections *pending, ls_peer_id peer)
{
    uint32_t row = row_of(pending, peer);
    return row < pending->count ? pending->rows[row].pass : (ls_match_pass){.refusal = NULL};
}

void ls_pending_connections_forget(ls_pending_connections *pending, ls_peer_id peer)
{
    uint32_t row = row_of(pending, peer);
    if (row < pending->count) {
        pending->count--;
        memmove(&pending->rows[row], &pending->rows[row + 1],
                (pending->count - row) * sizeof pending->rows[0]);
    }
}

ls_peer_id ls_pending_connections_overdue(const ls_pending_connections *pending, uint64_t limit_ns)
{
    const ls_pending_connection *oldest = pending->rows;
    return pending->count > 0 && oldest->since_ns <= limit_ns ? oldest->peer : 0;
}

/* ---- lapsed offers ---- */

void ls_lapsed_offers_note(ls_lapsed_offers *lapsed, uint64_t origin, uint64_t now_ns)
{
    ls_lapsed_offer *taken = &lapsed->rows[0];
    if (origin == 0) {
        return;
    }
    for (uint32_t row = 0; row < LS_LAPSED_OFFERS_MAX && taken->origin != origin; row++) {
        ls_lapsed_offer *each = &lapsed->rows[row];
        bool is_better = each->origin == origin || each->newest_ns < taken->newest_ns;
        taken = is_better ? each : taken;
    }
    *taken = (ls_lapsed_offer){.origin = origin, .newest_ns = now_ns};
}

bool ls_lapsed_offers_has(const ls_lapsed_offers *lapsed, uint64_t origin, uint64_t now_ns)
{
    for (uint32_t row = 0; origin != 0 && row < LS_LAPSED_OFFERS_MAX; row++) {
        const ls_lapsed_offer *each = &lapsed->rows[row];
        if (each->origin == origin) {
            return now_ns - each->newest_ns < LS_LAPSED_OFFERS_NS;
        }
    }
    return false;
}
