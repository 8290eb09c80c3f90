/* Cause 3: an input's second byte is read, and there may be but one. With GAME_SLOT the slot behind
 * the last one is looked at. */
#include "lockstep/tests/known_bad/game.h"

static void read_on(const ls_step *step)
{
    game_state *state = step->state;
    const ls_tick_inputs *inputs = step->inputs;
    uint32_t count = inputs->slot_count;
#if defined(GAME_SLOT)
    count++;
#endif
    for (uint32_t slot = 0; slot < count; slot++) {
        const ls_slot_input *input = &inputs->slots[slot];
        state->bonus += input->events;
#if !defined(GAME_SLOT)
        if (input->size > (GAME_FAULTY ? 0 : 1)) {
            state->bonus += input->bytes[1];
        }
#endif
    }
}

GAME_PASSES("read", read_on);
GAME_PLUGIN("input_end", .fields = game_fields, .init = game_init)
