/* No fault, but a bot that fires as a person does: one bit for one tick at a time. The healthy twin
 * says that it is an edge. */
#include "lockstep/tests/known_bad/game.h"

enum {
    FIRE = 0x20,
    FIRES_ONE_IN = 12,
};

static uint32_t fire_at_times(const ls_sim_config *config, const void *state, uint32_t slot,
                              ls_rng *rng, uint8_t *bytes)
{
    (void)config;
    const game_state *game = state;
    (void)rng;
    bytes[0] = game->bonus % FIRES_ONE_IN == slot ? FIRE : 0;
    return 1;
}

static void input_bits(const ls_sim_config *config, const void *state, const ls_input_bits *bits)
{
    (void)config;
    (void)state;
    bits->edges[0] = GAME_FAULTY ? 0 : FIRE;
}

static void count_ticks(const ls_step *step)
{
    game_state *state = step->state;
    state->bonus++;
}

GAME_PASSES("count", count_ticks);
GAME_PLUGIN("taps", .fields = game_fields, .init = game_init, .bot = fire_at_times,
            .input_bits = input_bits)
