/* Spectator queue: which of the spectators that wait for a state is sent one next, and which one
 * makes room when all places are taken. Sends nothing, and changes nothing. Called by spectators.
 */
#ifndef LOCKSTEP_SERVER_MATCH_SPECTATOR_QUEUE_H
#define LOCKSTEP_SERVER_MATCH_SPECTATOR_QUEUE_H

#include "lockstep/server/match/origin_budget.h"
#include "lockstep/server/match/spectator_table.h"
#include "lockstep/server/match/state_handover.h"

/* A spectator whose origin is being sent the fewest states now, and of those the one that waits
 * longest: else an origin with many connections would hold up all others. NULL: none waits whose
 * origin has a share left. */
ls_spectator *ls_spectator_queue_next(const ls_spectator_table *table, const ls_handover *handover,
                                      const ls_origin_budget *origins, uint64_t now_ns);

/* All places are taken, and more than half of them (rounded up) by one origin, which is known,
 * another one than `for_origin` and not this machine: its spectator that came last, one that does
 * not watch yet before all others. NULL: there is none. */
ls_spectator *ls_spectator_queue_yielding(const ls_spectator_table *table, uint64_t for_origin);

#endif
