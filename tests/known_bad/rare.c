/* Cause 9 on a path that is rarely taken: not in the first 900 ticks. */
#include "lockstep/tests/known_bad/game.h"

static void celebrate(const ls_step *step)
{
    game_state *state = step->state;
    static ls_tick last_feast;
    if (step->inputs->tick >= 900 && step->inputs->tick % 100 == 7) {
        state->bonus += GAME_FAULTY && last_feast >= step->inputs->tick ? 2 : 1;
        last_feast = step->inputs->tick;
    }
}

GAME_PASSES("celebrate", celebrate);
GAME_PLUGIN("rare", .fields = game_fields, .init = game_init)
