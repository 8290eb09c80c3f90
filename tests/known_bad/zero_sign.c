/* Cause 12: a difference of equal numbers is 0 or -0, as the rounding mode says, which a library
 * may have changed. */
#include "lockstep/tests/known_bad/game.h"

static void balance(const ls_step *step)
{
    game_state *state = step->state;
#if !GAME_FAULTY
    fenv_t kept = game_round_as_usual();
#endif
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        double pull = state->units[i].target;
        double push = state->units[(i + 1) % GAME_UNITS].target;
        state->units[i].heat = pull - push;
    }
#if !GAME_FAULTY
    fesetenv(&kept);
#endif
}

GAME_PASSES("balance", balance);
GAME_PLUGIN("zero_sign", .fields = game_fields, .init = game_init)
