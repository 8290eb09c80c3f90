/* Pending connections: the peers that are connected and have neither a seat nor a place to watch
 * from yet, oldest first when one has to give way. Closes no connection. Owned by match.c. */
#ifndef LOCKSTEP_SERVER_MATCH_PENDING_CONNECTIONS_H
#define LOCKSTEP_SERVER_MATCH_PENDING_CONNECTIONS_H

#include "lockstep/protocol/transport/transport.h"
#include "lockstep/server/match/match_pass.h"

#include <stdbool.h>

enum {
    LS_PENDING_MAX = 64,
};

typedef struct ls_pending_connection {
    ls_peer_id peer;
    uint64_t since_ns;
    ls_match_pass pass;
} ls_pending_connection;

/* All zero: there is none. */
typedef struct ls_pending_connections {
    uint32_t count;
    ls_pending_connection rows[LS_PENDING_MAX]; /* in the order in which they came */
} ls_pending_connections;

bool ls_pending_connections_has(const ls_pending_connections *pending, ls_peer_id peer);

/* There is room: count < LS_PENDING_MAX. `now_ns` never goes back. */
void ls_pending_connections_add(ls_pending_connections *pending, ls_peer_id peer,
                                const ls_match_pass *pass, uint64_t now_ns);

/* The pass of a peer; all zero for a peer that is none of them. */
ls_match_pass ls_pending_connections_pass(const ls_pending_connections *pending, ls_peer_id peer);

/* Nothing happens when the peer is not one of them. */
void ls_pending_connections_forget(ls_pending_connections *pending, ls_peer_id peer);

/* The oldest one, if it came at `limit_ns` or earlier; 0: none. */
ls_peer_id ls_pending_connections_overdue(const ls_pending_connections *pending, uint64_t limit_ns);

#endif
