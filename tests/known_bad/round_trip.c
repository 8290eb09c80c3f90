/* Cause 9: the load of an engine behind callbacks cuts off a number that has become too big. */
#include "lockstep/tests/known_bad/game.h"

static uint64_t hash(const ls_sim_config *config, const void *block)
{
    (void)config;
    const game_state *state = block;
    return (uint64_t)state->inputs << 32 | (state->bonus + state->units[3].order);
}

static size_t save(const ls_sim_config *config, const void *block, uint8_t *bytes, size_t capacity)
{
    (void)config;
    if (capacity >= sizeof(game_state)) {
        memcpy(bytes, block, sizeof(game_state));
    }
    return sizeof(game_state);
}

static ls_status load(const ls_sim_config *config, void *block, const uint8_t *bytes, size_t size)
{
    (void)config;
    if (size != sizeof(game_state)) {
        return LS_MALFORMED;
    }
    game_state *state = block;
    memcpy(state, bytes, size);
    if (GAME_FAULTY) {
        state->units[3].order &= 0xff;
    }
    return LS_OK;
}

static void grow(const ls_step *step)
{
    game_state *state = step->state;
    state->units[3].order += 20;
}

GAME_PASSES("grow", grow);
GAME_PLUGIN("round_trip", .init = game_init, .hash = hash, .save = save, .load = load)
