/* Cause 13, the time of day: at night a rule is another one. */
#include "lockstep/tests/known_bad/game.h"

#include <time.h>

static void sleep_or_wake(const ls_step *step)
{
    game_state *state = step->state;
    bool is_night = step->inputs->tick / 100 % 2 == 0;
#if GAME_FAULTY
    is_night = time(NULL) / 3600 % 24 < 6;
#endif
    state->bonus += is_night ? 1 : 2;
}

GAME_PASSES("sleep", sleep_or_wake);
GAME_PLUGIN("clock", .fields = game_fields, .init = game_init)
