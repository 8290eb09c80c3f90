/* Own game: a game of lockstep.h as a simulation: of a program that embeds liblockstep, or of a
 * plug-in that is written against that header alone. The functions of the simulation find the game
 * by their config, and hand its structs over in those of lockstep.h. */
#ifndef LOCKSTEP_COMMON_LOADER_OWN_GAME_H
#define LOCKSTEP_COMMON_LOADER_OWN_GAME_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/liblockstep/lockstep.h"

/* A copy in this library's size, of a game whose program was built with a header of another; the
 * members beyond are absent. False: the game's size is that of no header. */
bool ls_own_game_read(const lockstep_game *game, lockstep_game *out);

/* The game stays where it is as long as the simulation is used. */
ls_simulation ls_own_game_simulation(lockstep_game *game);

/* The code of the step of such a simulation; NULL: it is none. */
const void *ls_own_game_code(const ls_simulation *simulation);

/* BAD_ARGUMENT for what ls_simulation_check cannot see. */
ls_status ls_own_game_check(const lockstep_game *game, ls_text *why);

#endif
