/* Token passes: what the connect token of a connection says, as a pass for a match, and whether the
 * token is used: it is once its peer was given a seat or watches, and as new when it never was.
 * Called by host.c. */
#ifndef LOCKSTEP_SERVER_HOST_TOKEN_PASSES_H
#define LOCKSTEP_SERVER_HOST_TOKEN_PASSES_H

#include "lockstep/protocol/transport/transport.h"
#include "lockstep/server/host/match_table.h"

/* A peer has connected: false when it has no token, and `pass` is as it was. `number` is that of
 * its match, or LS_MATCH_ANY. */
bool ls_token_pass_of(const ls_transport *transport, const ls_match_table *table, ls_peer_id peer,
                      ls_match_pass *pass, uint32_t *number);

/* The match of a peer says something: that may decide about its token. */
void ls_token_pass_take_event(ls_transport *transport, const ls_match_event *event);

/* A peer is gone: a token that nothing was given for is as new. Comes before the transport forgets
 * the peer, and after every event about it. */
void ls_token_pass_take_end(ls_transport *transport, ls_peer_id peer);

#endif
