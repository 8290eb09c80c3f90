/* Cause 1 and 9, out of sight: a library that the plug-in needs calls sin() and keeps a static. */
#include "lockstep/tests/known_bad/game.h"

double swing_library_swing(double angle);

static void swing(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        double angle = (double)(step->inputs->tick * 61 + state->inputs + i * 37) / 7.0;
        state->units[i].heat = swing_library_swing(angle);
    }
    fesetenv(&kept);
}

GAME_PASSES("swing", swing);
GAME_PLUGIN("libm_needed", .fields = game_fields, .init = game_init)
