#include "lockstep/tools/adapters/engine_scene.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/sim_instance.h"

#include <inttypes.h>

enum {
    TICKS = 60,
    SCENE_BITS = 32, /* of a digest; the release lies above them */
};

static void fill_inputs(const ls_simulation *simulation, ls_rng *rng, ls_slot_input *inputs,
                        uint8_t bytes[LS_PLAYERS_MAX][LS_INPUT_BYTES_MAX])
{
    for (uint32_t slot = 0; slot < simulation->default_players; slot++) {
        for (uint32_t i = 0; i < simulation->input_bytes_max; i++) {
            bytes[slot][i] = (uint8_t)ls_rng_next(rng);
        }
        inputs[slot].bytes = bytes[slot];
        inputs[slot].size = simulation->input_bytes_max;
    }
}

static uint64_t play(const ls_simulation *simulation, ls_sim_instance *instance)
{
    uint8_t bytes[LS_PLAYERS_MAX][LS_INPUT_BYTES_MAX];
    ls_slot_input slots[LS_PLAYERS_MAX] = {{0}};
    ls_rng rng = ls_rng_make(1, 1);
    uint64_t sum = 0;
    for (ls_tick tick = 0; tick < TICKS; tick++) {
        fill_inputs(simulation, &rng, slots, bytes);
        for (uint32_t slot = 0; slot < simulation->default_players; slot++) {
            slots[slot].events = tick == 0 ? LS_EVENT_JOINED : 0;
        }
        const ls_tick_inputs inputs = {tick, simulation->default_players, slots};
        ls_sim_instance_step(instance, &inputs);
        sum = ls_hash_pair(sum, ls_sim_instance_hash(instance));
    }
    return sum;
}

uint64_t engine_scene_digest(const ls_simulation *simulation, engine_release release)
{
    /* Without what asks for the scene itself. */
    ls_simulation alone = *simulation;
    alone.content_digest = NULL;
    ls_sim_config config = ls_sim_config_default(&alone);
    ls_sim_instance *instance = NULL;
    ls_text why;
    uint32_t scene = 0;
    if (ls_sim_instance_create(&alone, &config, ls_allocator_heap(), &instance, &why) == LS_OK) {
        scene = (uint32_t)play(&alone, instance);
        ls_sim_instance_destroy(instance);
    }
    uint64_t number = (uint64_t)release.major << 16 | (uint64_t)release.minor << 8 | release.patch;
    return number << SCENE_BITS | scene;
}

void engine_scene_explain(const char *engine, uint64_t client, uint64_t server, ls_text *out)
{
    uint32_t a = (uint32_t)(client >> SCENE_BITS);
    uint32_t b = (uint32_t)(server >> SCENE_BITS);
    ls_text_set(out,
                "engine %s: client %" PRIu32 ".%" PRIu32 ".%" PRIu32 " (scene %08" PRIx32
                "), server %" PRIu32 ".%" PRIu32 ".%" PRIu32 " (scene %08" PRIx32 "): %s",
                engine, a >> 16, a >> 8 & 255, a & 255, (uint32_t)client, b >> 16, b >> 8 & 255,
                b & 255, (uint32_t)server,
                a == b
                    ? "the same release, but it computes other numbers here and there, as builds "
                      "for another processor or by another compiler do"
                    : "another release");
}
