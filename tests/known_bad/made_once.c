/* Cause 14: a table is made once in a process, from the seed of the match that was first. */
#include "lockstep/tests/known_bad/game.h"

#define HEIGHTS 32u

static uint32_t heights[HEIGHTS];

static void grow(const ls_step *step)
{
    game_state *state = step->state;
    if (!GAME_FAULTY || heights[0] == 0) {
        ls_rng rng = ls_rng_make(step->config->seed, 5);
        for (uint32_t i = 0; i < HEIGHTS; i++) {
            heights[i] = 1 + ls_rng_below(&rng, 99);
        }
    }
    state->bonus += heights[state->inputs % HEIGHTS];
}

GAME_PASSES("grow", grow);
GAME_PLUGIN("made_once", .fields = game_fields, .init = game_init)
