/* Cause 13: a rule of the game is read from the environment of each machine. */
#include "lockstep/tests/zoo/zoo.h"

#include <stdlib.h>

static void tax(const ls_step *step)
{
    zoo_state *state = step->state;
#if ZOO_FAULTY
    const char *difficulty = getenv("ZOO_DIFFICULTY");
    uint32_t rate = difficulty ? (uint32_t)difficulty[0] : 2;
#else
    uint32_t rate = 2;
#endif
    state->bonus += state->inputs % 11 * rate;
}

ZOO_PASSES("tax", tax);
ZOO_PLUGIN("environment", .fields = zoo_fields, .init = zoo_init)
