/* Strict double: runs a piece of a simulation with the arithmetic as the C standard starts a
 * program: rounded to nearest, nothing flushed to zero, nothing trapped. A library that lives in
 * the same process (audio, graphics) may have set it otherwise. Called by rope and spring around
 * init and every pass. */
#ifndef LOCKSTEP_COMMON_MATHS_STRICT_DOUBLE_H
#define LOCKSTEP_COMMON_MATHS_STRICT_DOUBLE_H

#include "lockstep/common/simulation/simulation.h"

/* The caller's arithmetic is as it was before, afterwards. */
void ls_strict_double_pass(void (*run)(const ls_step *step), const ls_step *step);
void ls_strict_double_init(void (*init)(const ls_sim_config *config, void *state),
                           const ls_sim_config *config, void *state);

#endif
