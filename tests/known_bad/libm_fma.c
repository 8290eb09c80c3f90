/* Cause 1: the C library's maths has other last bits on a processor with FMA. */
#include "lockstep/tests/known_bad/game.h"

#include <math.h>

static void swing(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        game_unit *unit = &state->units[i];
        double angle = (double)(step->inputs->tick * 61 + state->inputs + i * 37) / 7.0;
#if GAME_FAULTY
        unit->heat = i % 2 == 0 ? sin(angle) : pow(angle + 1, 1.3);
#else
        unit->heat = i % 2 == 0 ? sqrt(angle) : floor(angle);
#endif
    }
    fesetenv(&kept);
}

GAME_PASSES("swing", swing);
GAME_PLUGIN("libm_fma", .fields = game_fields, .init = game_init)
