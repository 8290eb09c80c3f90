/* Arena: placeholder header line. */
#ifndef LOCKSTEP_COMMON_SIMS_ARENA_H
#define LOCKSTEP_COMMON_SIMS_ARENA_H

#include "lockstep/common/simulation.h"

const ls_simulation *ls_arena_simulation(void);

#endif
