/* Chipmunk space: one step of the engine, from a flat state to a flat state. Keeps nothing from one
 * step to the next. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_CHIPMUNK_CHIPMUNK_SPACE_H
#define LOCKSTEP_TOOLS_ADAPTERS_CHIPMUNK_CHIPMUNK_SPACE_H

#include "lockstep/tools/adapters/chipmunk/chipmunk_world.h"

size_t chipmunk_scratch_bytes(const ls_sim_config *config);

/* Safe with any bytes as state: numbers that are none or too large are replaced, what is out of
 * range is left out. */
void chipmunk_run_space(const ls_step *step);

#endif
