/* Web games: the simulations that a page has: the built-in ones, and those that it was built with
 * (LS_WEB_GAMES). Called by web_client and by the page of recorded matches. */
#ifndef LOCKSTEP_CLIENT_WEB_WEB_GAMES_H
#define LOCKSTEP_CLIENT_WEB_WEB_GAMES_H

#include "lockstep/common/simulation/simulation.h"

/* NULL: the page lacks it. */
const ls_simulation *ls_web_game_named(const char *name);

#endif
