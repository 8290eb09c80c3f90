#include "lockstep/server/match/pending_connections.h"

#include "lockstep/common/base/assert.h"

static uint32_t row_of(const ls_pending_connections *pending, ls_peer_id peer)
{
    uint32_t row = 0;
    while (row < LS_PENDING_MAX && pending->rows[row].peer != peer) {
        row++;
    }
    return row;
}

bool ls_pending_connections_has(const ls_pending_connections *pending, ls_peer_id peer)
{
    return pending->count > 0 && row_of(pending, peer) < LS_PENDING_MAX;
}

bool ls_pending_connections_is_full(const ls_pending_connections *pending)
{
    return pending->count == LS_PENDING_MAX;
}

ls_peer_id ls_pending_connections_oldest(const ls_pending_connections *pending)
{
    const ls_pending_connection *oldest = &pending->rows[0];
    for (uint32_t row = 1; row < LS_PENDING_MAX; row++) {
        oldest = pending->rows[row].number < oldest->number ? &pending->rows[row] : oldest;
    }
    return oldest->peer;
}

void ls_pending_connections_add(ls_pending_connections *pending, ls_peer_id peer, uint64_t now_ns)
{
    uint32_t row = row_of(pending, 0);
    LS_ASSERT(row < LS_PENDING_MAX);
    pending->rows[row] =
        (ls_pending_connection){.peer = peer, .since_ns = now_ns, .number = pending->seen++};
    pending->count++;
}

void ls_pending_connections_forget(ls_pending_connections *pending, ls_peer_id peer)
{
    if (ls_pending_connections_has(pending, peer)) {
        pending->rows[row_of(pending, peer)].peer = 0;
        pending->count--;
    }
}

ls_peer_id ls_pending_connections_overdue(const ls_pending_connections *pending, uint64_t limit_ns)
{
    for (uint32_t row = 0; pending->count > 0 && row < LS_PENDING_MAX; row++) {
        if (pending->rows[row].peer != 0 && pending->rows[row].since_ns <= limit_ns) {
            return pending->rows[row].peer;
        }
    }
    return 0;
}
