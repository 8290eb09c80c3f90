/* Arena draw: the picture between two states. Reads only; nothing it makes reaches a state.
 * Called through the arena's ls_simulation by viewers. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_DRAW_H
#define LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_DRAW_H

#include "lockstep/common/simulation/simulation.h"

/* As ls_simulation.draw: walls, bodies, ships with their noses, shots. */
void ls_arena_draw(const ls_sim_config *config, const void *previous, const void *current,
                   ls_fixed alpha, ls_draw_list *list);

#endif
