/* Cause 1: the same source, built with a fused multiply-add, rounds once where it rounded twice.
 * The fault is in the flags that it is built with. */
#include "lockstep/tests/known_bad/game.h"

static void warm(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        game_unit *unit = &state->units[i];
        double gain = (double)(state->inputs % 7 + i) / 3.0;
        unit->heat = unit->heat * 0.9 + gain * 0.1;
    }
    fesetenv(&kept);
}

GAME_PASSES("warm", warm);
GAME_PLUGIN("fused", .fields = game_fields, .init = game_init)
