/* Own game: a game of the caller's own as a simulation of Lockstep. The functions of the simulation
 * find the game by their config, and hand its structs over in those of lockstep.h. Called by
 * lockstep.c. */
#ifndef LOCKSTEP_TOOLS_LIBLOCKSTEP_OWN_GAME_H
#define LOCKSTEP_TOOLS_LIBLOCKSTEP_OWN_GAME_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/liblockstep/lockstep.h"

/* The game stays where it is as long as the simulation is used. */
ls_simulation lockstep_own_game(lockstep_game *game);

/* BAD_ARGUMENT for what ls_simulation_check cannot see. */
ls_status lockstep_own_game_check(const lockstep_game *game, ls_text *why);

#endif
