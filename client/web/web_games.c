#include "lockstep/client/web/web_games.h"

#include "lockstep/common/simulations/builtin.h"

#include <string.h>

typedef const ls_simulation *web_game(void);

/* WEB_GAMES has GAME(number) for each file of LS_WEB_GAMES, whose lockstep_simulation has a name of
 * its own there. */
#define GAME(number) web_game lockstep_simulation_##number;
WEB_GAMES
#undef GAME

const ls_simulation *ls_web_game_named(const char *name)
{
#define GAME(number) lockstep_simulation_##number,
    static web_game *const games[] = {WEB_GAMES NULL};
#undef GAME
    const ls_simulation *found = ls_builtin_simulation_named(name);
    for (uint32_t i = 0; !found && games[i]; i++) {
        found = strcmp(games[i]()->name, name) == 0 ? games[i]() : NULL;
    }
    return found;
}
