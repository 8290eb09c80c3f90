/* Strict double: runs a piece of a simulation with the arithmetic as the C standard starts a
 * program: rounded to nearest, nothing flushed to zero, nothing trapped. A library that lives in
 * the same process (audio, graphics) may have set it otherwise. Called by simulations in floating
 * point, around init and every pass. */
#ifndef LOCKSTEP_COMMON_SIMULATION_STRICT_DOUBLE_H
#define LOCKSTEP_COMMON_SIMULATION_STRICT_DOUBLE_H

#include "lockstep/common/simulation/simulation.h"

LS_C_BEGIN

/* The caller's arithmetic is as it was before, afterwards. `run` and `init` have to be functions of
 * their own, handed over as they are: a pass that sets the mode itself and computes in the same
 * function does not keep it, since compilers move arithmetic past fesetround and fesetenv. init
 * needs it as well as every pass: state 0 is compared, too. */
void ls_strict_double_pass(void (*run)(const ls_step *step), const ls_step *step);
ls_status ls_strict_double_init(ls_status (*init)(const ls_sim_config *config, void *state,
                                                  ls_text *why),
                                const ls_sim_config *config, void *state, ls_text *why);

LS_C_END

#endif
