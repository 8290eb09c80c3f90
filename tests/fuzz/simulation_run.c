#include "lockstep/tests/fuzz/simulation_run.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulation/state_schema.h"

#include <stdlib.h>
#include <string.h>

enum {
    TICKS_MAX = 60
};

typedef struct run {
    ls_sim_instance *instance;
    uint32_t players;
    ls_slot_input slots[TICKS_MAX][LS_PLAYERS_MAX];
} run;

static void check_state(run *of)
{
    size_t offset = 0;
    const ls_schema *schema = ls_sim_instance_schema(of->instance);
    LS_ASSERT(!ls_schema_dirty_padding(schema, ls_sim_instance_view(of->instance), &offset));
}

static void read_tick(run *of, ls_tick tick, uint32_t input_bytes_max, fuzz_input *input)
{
    uint8_t who = fuzz_take_u8(input);
    for (uint32_t slot = 0; slot < of->players; slot++) {
        ls_slot_input *made = &of->slots[tick][slot];
        made->events = tick == 0 ? LS_EVENT_JOINED : 0;
        if (who >> slot % 8 & 1u) {
            uint8_t shape = fuzz_take_u8(input);
            size_t size = fuzz_take_u8(input);
            size += shape & 4u ? fuzz_take_u8(input) * 256u : 0;
            size = size < input_bytes_max ? size : input_bytes_max;
            made->events ^= shape & 3u;
            made->bytes = fuzz_take_bytes(input, size, &size);
            made->size = (uint32_t)size;
        }
    }
}

static void step(run *of)
{
    ls_tick tick = ls_sim_instance_tick(of->instance);
    ls_tick_inputs inputs = {.tick = tick, .slot_count = of->players, .slots = of->slots[tick]};
    ls_sim_instance_step(of->instance, &inputs);
    check_state(of);
}

/* Goes back to the save and plays the same ticks again. */
static void play_again(run *of, const uint8_t *save, ls_tick from)
{
    ls_tick end = ls_sim_instance_tick(of->instance);
    uint64_t state_hash = ls_sim_instance_hash(of->instance);
    LS_ASSERT(ls_sim_instance_load(of->instance, save, ls_sim_instance_save_bytes(of->instance),
                                   from) == LS_OK);
    while (ls_sim_instance_tick(of->instance) < end) {
        step(of);
    }
    LS_ASSERT(ls_sim_instance_hash(of->instance) == state_hash);
}

void simulation_run(const ls_simulation *simulation, const ls_sim_config *config, fuzz_input *input)
{
    static run here;
    memset(&here, 0, sizeof here);
    here.players = config->players;
    if (ls_sim_instance_create(simulation, config, ls_allocator_heap(), &here.instance, NULL) !=
        LS_OK) {
        return;
    }
    uint8_t *save = malloc(ls_sim_instance_save_bytes(here.instance));
    LS_ASSERT(save != NULL);
    ls_tick saved_at = 0;
    LS_ASSERT(ls_sim_instance_save(here.instance, save) == LS_OK);
    for (ls_tick tick = 0; tick < TICKS_MAX && input->size > 0; tick++) {
        read_tick(&here, tick, simulation->input_bytes_max, input);
        step(&here);
        if (tick == 7) {
            saved_at = tick + 1;
            LS_ASSERT(ls_sim_instance_save(here.instance, save) == LS_OK);
        }
    }
    play_again(&here, save, saved_at);
    ls_sim_instance_destroy(here.instance);
    free(save);
}
