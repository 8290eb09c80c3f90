/* Cause 3 on the heap: a block from malloc is summed up before all of it has been written. */
#include "lockstep/tests/known_bad/game.h"

#include <stdlib.h>

/* Not inlined, as in a game where it stands in another file. */
__attribute__((noinline)) static void fill(const game_state *state, uint32_t count, uint8_t *block)
{
    for (uint32_t i = 0; i < count; i++) {
        block[i] = (uint8_t)state->units[i].target;
    }
}

static void gather(const ls_step *step)
{
    game_state *state = step->state;
    uint32_t filled = GAME_FAULTY && state->inputs > 200 ? GAME_UNITS - 1 : GAME_UNITS;
    uint8_t *block = malloc(GAME_UNITS);
    if (!block) {
        return;
    }
    fill(state, filled, block);
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        state->bonus += block[i];
    }
    free(block);
}

GAME_PASSES("gather", gather);
GAME_PLUGIN("heap", .fields = game_fields, .init = game_init)
