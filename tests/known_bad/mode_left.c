/* Cause 12, the other side of it: a step changes the rounding mode and leaves it so. */
#include "lockstep/tests/known_bad/game.h"

static void lean(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    if (step->inputs->tick == 20) {
        fesetround(FE_UPWARD);
        state->bonus++;
        if (GAME_FAULTY) {
            return;
        }
    }
    fesetenv(&kept);
}

GAME_PASSES("lean", lean);
GAME_PLUGIN("mode_left", .fields = game_fields, .init = game_init)
