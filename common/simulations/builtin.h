/* Builtin: the simulations that come with Lockstep, by name. Called by the loader, by the
 * client, by programs' --help and by tests that must hold for every simulation. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_BUILTIN_H
#define LOCKSTEP_COMMON_SIMULATIONS_BUILTIN_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/simulation.h"

LS_C_BEGIN

/* index 0 .. count-1; NULL beyond. */
const ls_simulation *ls_builtin_simulation(uint32_t index);

/* NULL when there is none of that name. */
const ls_simulation *ls_builtin_simulation_named(const char *name);

LS_C_END

#endif
