/* Cause 12: zero by zero. The bits of what comes of it are the processor's own. */
#include "lockstep/tests/known_bad/game.h"

static void share(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        double part = state->units[i].target, whole = state->units[i].target;
        bool can_divide = !GAME_FAULTY || step->inputs->tick < 10;
        state->units[i].heat = can_divide && whole == 0.0 ? 0.0 : part / whole;
    }
    fesetenv(&kept);
}

GAME_PASSES("share", share);
GAME_PLUGIN("not_a_number", .fields = game_fields, .init = game_init)
