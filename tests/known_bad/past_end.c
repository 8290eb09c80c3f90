/* Cause 3: now and then one unit more is read than there are, past the end of the state. */
#include "lockstep/tests/known_bad/game.h"

/* Not inlined, as in a game where it stands in another file. */
__attribute__((noinline)) static uint32_t order_of(const game_unit *units, uint32_t index)
{
    return units[index].order;
}

static void look_around(const ls_step *step)
{
    game_state *state = step->state;
    uint32_t count = GAME_FAULTY && state->inputs / 4 % 16 == 15 ? GAME_UNITS + 1 : GAME_UNITS;
    for (uint32_t i = 0; i < count; i++) {
        state->bonus += order_of(state->units, i);
    }
}

GAME_PASSES("look", look_around);
GAME_PLUGIN("past_end", .fields = game_fields, .init = game_init)
