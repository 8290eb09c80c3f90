/* Cause 7: one pass draws from the C library's random numbers, which everybody shares. */
#include "lockstep/tests/zoo/zoo.h"

#include <stdlib.h>

static void spawn(const ls_step *step)
{
    zoo_state *state = step->state;
#if ZOO_FAULTY
    state->bonus += (uint32_t)rand() % 6;
#else
    state->bonus += ls_rng_below(&state->rng, 6);
#endif
}

ZOO_PASSES("spawn", spawn);
ZOO_PLUGIN("library_random", .fields = zoo_fields, .init = zoo_init)
