/* Chipmunk view: the picture, the bot and the keys of the buggies' game. Only reads the state.
 * Called through the simulation's struct. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_CHIPMUNK_CHIPMUNK_VIEW_H
#define LOCKSTEP_TOOLS_ADAPTERS_CHIPMUNK_CHIPMUNK_VIEW_H

#include "lockstep/tools/adapters/chipmunk/chipmunk_world.h"

void chipmunk_draw(const ls_sim_config *config, const void *previous, const void *current,
                   ls_fixed alpha, ls_draw_list *list);
uint32_t chipmunk_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                      uint8_t *bytes);
uint32_t chipmunk_control(const ls_sim_config *config, const void *state, uint32_t slot,
                          const ls_controls *controls, uint8_t *bytes);

#endif
