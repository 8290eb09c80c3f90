/* Cause 7: one pass draws from the C library's random numbers, which everybody shares. */
#include "lockstep/tests/known_bad/game.h"

#include <stdlib.h>

static void spawn(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    state->bonus += (uint32_t)rand() % 6;
#else
    state->bonus += ls_rng_below(&state->rng, 6);
#endif
}

GAME_PASSES("spawn", spawn);
GAME_PLUGIN("library_random", .fields = game_fields, .init = game_init)
