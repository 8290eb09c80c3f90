/* Cause 9 on a path that the game's own bot never takes: a code that it does not send. */
#include "lockstep/tests/known_bad/game.h"

enum {
    RARE_CODE = 160,
    BOT_CODES = 4,
};

static uint32_t send_usual_codes(const ls_sim_config *config, const void *state, uint32_t slot,
                                 ls_rng *rng, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    bytes[0] = (uint8_t)ls_rng_below(rng, BOT_CODES);
    return 1;
}

static void build(const ls_step *step)
{
    game_state *state = step->state;
    static uint32_t built;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        if (input->size > 0 && input->bytes[0] >= RARE_CODE) {
            built++;
            state->bonus += GAME_FAULTY ? built : 1;
        }
    }
}

GAME_PASSES("build", build);
GAME_PLUGIN("rare_input", .fields = game_fields, .init = game_init, .bot = send_usual_codes)
