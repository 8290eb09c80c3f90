/* Cause 3 on the heap: a block from malloc is summed up before all of it has been written. */
#include "lockstep/tests/zoo/zoo.h"

#include <stdlib.h>

/* Not inlined, as in a game where it stands in another file. */
__attribute__((noinline)) static void fill(const zoo_state *state, uint32_t count, uint8_t *block)
{
    for (uint32_t i = 0; i < count; i++) {
        block[i] = (uint8_t)state->units[i].target;
    }
}

static void gather(const ls_step *step)
{
    zoo_state *state = step->state;
    uint32_t filled = ZOO_FAULTY && state->inputs > 200 ? ZOO_UNITS - 1 : ZOO_UNITS;
    uint8_t *block = malloc(ZOO_UNITS);
    if (!block) {
        return;
    }
    fill(state, filled, block);
    for (uint32_t i = 0; i < ZOO_UNITS; i++) {
        state->bonus += block[i];
    }
    free(block);
}

ZOO_PASSES("gather", gather);
ZOO_PLUGIN("heap", .fields = zoo_fields, .init = zoo_init)
