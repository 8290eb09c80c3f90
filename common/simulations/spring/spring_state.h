/* Spring state: what the springs' files share: the state's layout, how it and the parameters are
 * read, and what a player and a viewer see. Called by the springs' own files. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_SPRING_SPRING_STATE_H
#define LOCKSTEP_COMMON_SIMULATIONS_SPRING_SPRING_STATE_H

#include "lockstep/common/simulations/spring/spring.h"

/* The state is an array of these. */
typedef struct ls_spring {
    ls_spring_motion motion;
    double push; /* N, of the newest tick's input */
} ls_spring;

/* ---- spring_view.c: as in ls_simulation ---- */

void ls_spring_draw(const ls_sim_config *config, const void *previous, const void *current,
                    ls_fixed alpha, ls_draw_list *list);
uint32_t ls_spring_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                       uint8_t *bytes);
uint32_t ls_spring_control(const ls_sim_config *config, const void *state, uint32_t slot,
                           const ls_controls *controls, uint8_t *bytes);

#endif
