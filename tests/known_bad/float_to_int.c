/* Cause 2: a double that does not fit is made an integer: each processor has its own answer. */
#include "lockstep/tests/known_bad/game.h"

static void aim(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        double far = state->units[i].heat * 1e6 * (double)(step->inputs->tick + 1);
        if (!GAME_FAULTY && far > 2e9) {
            far = 2e9;
        }
        state->units[i].order = (uint32_t)(int32_t)far;
    }
    fesetenv(&kept);
}

GAME_PASSES("aim", aim);
GAME_PLUGIN("float_to_int", .fields = game_fields, .init = game_init)
