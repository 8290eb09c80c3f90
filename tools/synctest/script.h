/* Script: the seating of the match that lockstep-synctest plays: seats are taken, left and taken
 * again, seeded, so that joins and leaves are tested as well as inputs. Pure. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_SCRIPT_H
#define LOCKSTEP_TOOLS_SYNCTEST_SCRIPT_H

#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/simulation.h"

typedef struct synctest_script {
    ls_rng rng;
    uint32_t players;
    bool is_present[LS_PLAYERS_MAX];
    ls_tick next_change[LS_PLAYERS_MAX];
} synctest_script;

synctest_script synctest_script_make(uint64_t seed, uint32_t players);

/* The events of the next tick, one for each seat. Called once for each tick, in order from 0. At
 * tick 0 seat 0 is taken, and most others are. */
void synctest_script_advance(synctest_script *script, ls_tick tick,
                             uint32_t events[LS_PLAYERS_MAX]);

#endif
