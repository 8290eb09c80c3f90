/* Sim player: a simulation with a bot in every seat, stepped when it is told to, with its two
 * newest states to draw from. The bots depend on the states alone: every run of it goes
 * the same way, whatever the frames. Called by sim_course, one_bit and tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_SIM_PLAYER_H
#define LOCKSTEP_TOOLS_TIMESTEP_SIM_PLAYER_H

#include "lockstep/client/bots.h"
#include "lockstep/common/simulation/sim_instance.h"

typedef struct stepping_sim_player {
    const ls_allocator *allocator;
    ls_sim_instance *instance;
    void *previous; /* the state before the newest; NULL when it cannot be copied */
    ls_draw_list list;
    ls_bot_crew bots;
} stepping_sim_player;

/* Borrows the simulation; errors of ls_sim_instance_create. */
ls_status stepping_sim_player_create(const ls_simulation *simulation, const ls_sim_config *config,
                                     const ls_allocator *allocator, stepping_sim_player **out,
                                     ls_text *why);
void stepping_sim_player_destroy(stepping_sim_player *player);

/* One tick, of the bots' inputs, or of those that `leader`'s newest tick had. */
void stepping_sim_player_step(stepping_sim_player *player);
void stepping_sim_player_follow(stepping_sim_player *player, const stepping_sim_player *leader);

/* The picture `alpha` of the way from the state before to the newest: borrowed until the next
 * call. Empty when the simulation does not draw. */
const ls_draw_list *stepping_sim_player_draw(stepping_sim_player *player, ls_fixed alpha);

#endif
