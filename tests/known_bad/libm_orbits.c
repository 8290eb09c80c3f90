/* Cause 1: a game of orbits that calls pow, sincos and atan2. Its healthy twin is the same source
 * with one include more. */
#define _GNU_SOURCE
#include "lockstep/tests/known_bad/game.h"

#include <math.h>
#if !GAME_FAULTY
#include "lockstep/common/maths/strict_libm.h"
#endif

#define SUNS 8u

/* Each unit is a comet at an angle of its own, warmed by every sun. */
static void fall(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        double angle = (double)(step->inputs->tick * 61 + state->inputs + i * 37) / 7.0;
        double sine = 0, cosine = 0;
        sincos(angle, &sine, &cosine);
        double heat = 0;
        for (uint32_t sun = 0; sun < SUNS; sun++) {
            double x = (1 + i) * cosine - sun, y = (1 + i) * sine;
            heat += 39.4 * pow(x * x + y * y + 0.01, -1.5) + atan2(y, x);
        }
        state->units[i].heat = heat;
    }
    fesetenv(&kept);
}

GAME_PASSES("fall", fall);
GAME_PLUGIN("libm_orbits", .fields = game_fields, .init = game_init)
