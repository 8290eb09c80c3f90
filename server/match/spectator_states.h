/* Spectator states: the states with which spectators begin to watch: copies of the live state that
 * are old enough to be shown, the blob that holds one of them, and its streams to spectators. Sends
 * nothing but parts of the blob; never decides who may watch. Called by spectators. */
#ifndef LOCKSTEP_SERVER_MATCH_SPECTATOR_STATES_H
#define LOCKSTEP_SERVER_MATCH_SPECTATOR_STATES_H

#include "lockstep/server/match/state_handover.h"

typedef struct ls_spectator_states {
    const ls_match_context *match;
    ls_send_budget budget;
    ls_aged_state aged; /* ready.tick 0: spectators begin with state 0, which they can make */
    ls_handover handover;
    uint32_t first_stream; /* that is sent before the others, of a turn: modulo their number */
} ls_spectator_states;

/* All zero before. bytes_per_s: of all streams together. NO_MEMORY; deinit may follow either way.
 */
ls_status ls_spectator_states_init(ls_spectator_states *states, const ls_match_context *match,
                                   uint32_t bytes_per_s);
void ls_spectator_states_deinit(ls_spectator_states *states, const ls_allocator *allocator);

/* Whether ls_spectator_states_advance has something to do that does not wait for a stream. */
bool ls_spectator_states_is_due(const ls_spectator_states *states);

/* Copies, compresses and sends what is due. */
void ls_spectator_states_advance(ls_spectator_states *states);

/* Enough ticks behind `tick` are held for a spectator that begins there. */
bool ls_spectator_states_is_young(const ls_spectator_states *states, ls_tick tick);

/* A blob with a state to begin with, and a free stream, are there. STALE: not at the moment.
 * UNSUPPORTED: there will be none. */
ls_status ls_spectator_states_provide(ls_spectator_states *states);

#endif
