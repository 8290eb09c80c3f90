/* Shared steps: the arena for clients that stand for as many machines and run in one process. Equal
 * steps out of equal states, of all matches alike, are simulated once and then copied: so hundreds
 * of players of matches that go the same way leave the server its share of the machine. For one
 * thread. Called by crowd. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_SHARED_STEPS_H
#define LOCKSTEP_TESTS_LAB_BENCH_SHARED_STEPS_H

#include "lockstep/common/simulation/simulation.h"

/* The arena with its results shared; NULL without memory. Good until the process ends. */
const ls_simulation *bench_shared_arena(void);

#endif
