/* Cause 15: the detector is wrong: the engine's own hash takes in something that is only drawn. */
#include "lockstep/tests/known_bad/game.h"

static uint32_t frames_drawn; /* by this machine: it belongs in no hash */

static uint64_t hash(const ls_sim_config *config, const void *block)
{
    (void)config;
    const uint8_t *bytes = block;
    uint64_t sum = GAME_FAULTY ? frames_drawn : 0;
    for (size_t i = 0; i < sizeof(game_state); i++) {
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return sum;
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
    memcpy(block, bytes, size);
    return LS_OK;
}

static void draw(const ls_sim_config *config, const void *previous, const void *current,
                 ls_fixed alpha, ls_draw_list *list)
{
    (void)config;
    (void)previous;
    (void)current;
    (void)alpha;
    (void)list;
    frames_drawn++;
}

static void rest(const ls_step *step)
{
    (void)step;
}

GAME_PASSES("rest", rest);
GAME_PLUGIN("cosmetic_hash", .init = game_init, .hash = hash, .save = save, .load = load,
            .draw = draw)
