/* Arena control: a person's keys, or their pad, as a pad of the arena's: up and down drive, left
 * and right turn, the first button fires, the second brakes. Called through arena's ls_simulation.
 */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_CONTROL_H
#define LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_CONTROL_H

#include "lockstep/common/simulation/simulation.h"

/* As ls_simulation.control. */
uint32_t ls_arena_control(const ls_sim_config *config, const void *state, uint32_t slot,
                          const ls_controls *controls, uint8_t *bytes);

#endif
