#include "lockstep/server/match/pending_connections.h"

#include "lockstep/common/base/assert.h"

#include <string.h>

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
    LS_ASSERT(pending->count < LS_PENDING_MAX);
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
    const ls_pending_connection *oldest = &pending->rows[0];
    return pending->count > 0 && oldest->since_ns <= limit_ns ? oldest->peer : 0;
}
