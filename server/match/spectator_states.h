/* Spectator states: the states with which spectators begin to watch: copies of the live state that
 * are old enough to be shown, the blob that holds one of them, and its streams to spectators. Sends
 * nothing but parts of the blob; never decides who may watch. Called by spectators. */
#ifndef LOCKSTEP_SERVER_MATCH_SPECTATOR_STATES_H
#define LOCKSTEP_SERVER_MATCH_SPECTATOR_STATES_H

#include "lockstep/server/match/state_handover.h"

typedef struct ls_spectator_states ls_spectator_states;

/* bytes_per_s: of all streams together. NO_MEMORY: what there is by then is destroyed with the
 * match.
 */
ls_status ls_spectator_states_create(const ls_match_context *match, uint32_t bytes_per_s,
                                     ls_spectator_states **out);
void ls_spectator_states_destroy(ls_spectator_states *states);

/* Whether ls_spectator_states_advance has something to do that does not wait for a stream. */
bool ls_spectator_states_is_due(const ls_spectator_states *states);

/* Copies, compresses and sends what is due. */
void ls_spectator_states_advance(ls_spectator_states *states);

/* Tick 0: no copy has come of age, and spectators begin with state 0, which they can make. */
ls_tick ls_spectator_states_ready_tick(const ls_spectator_states *states);

/* Enough ticks behind `tick` are held for a spectator that begins there. */
bool ls_spectator_states_is_young(const ls_spectator_states *states, ls_tick tick);

/* A blob with a state to begin with, and a free stream, are there. STALE: not at the moment.
 * UNSUPPORTED: there will be none. */
ls_status ls_spectator_states_provide(ls_spectator_states *states);

/* Which state the blob holds or leads to; completes JOIN with it. */
const ls_state_copy *ls_spectator_states_in_blob(const ls_spectator_states *states);
void ls_spectator_states_set_blob(const ls_spectator_states *states, ls_join *join, ls_text *how);

/* Begins to stream the blob to a peer, ends that, and takes the peer's BLOB_ACK. */
void ls_spectator_states_start(ls_spectator_states *states, ls_peer_id peer, uint32_t number);
void ls_spectator_states_stop(ls_spectator_states *states, ls_peer_id peer);
ls_status ls_spectator_states_take_ack(ls_spectator_states *states, ls_peer_id peer,
                                       ls_peer_link *link, const uint8_t *bytes, size_t size);

#endif
