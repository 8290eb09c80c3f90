/* Fuzzes the step of a built-in simulation with arbitrary inputs and parameters, for some ticks and
 * twice: from the start, and again from a save in the middle. Padding must stay zero and both runs
 * must agree. Two targets are made of it: FUZZ_UNITS says which simulation steps.
 *
 *   u8 players    less one
 *   then parameters, as below, and ticks
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

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

/* For each tick: u8 slots, bit s % 8 set when slot s does something; for each that does: u8 events
 * (lowest two bits), u8 and with bit 2 of events one more u8 for the high part of the size; then
 * the input's bytes. Everybody joins at tick 0. A config that is refused ends the run. */
static void simulation_run(const ls_simulation *simulation, const ls_sim_config *config,
                           fuzz_input *input)
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

#if defined(FUZZ_UNITS)
/* u8 units: twice as many, at least the least; u8 wave: seconds in the lowest two bits, percent in
 * the rest. */
static const ls_simulation *fuzzed(void)
{
    return ls_units_simulation();
}

static void take_params(fuzz_input *input, const ls_simulation *units, ls_sim_config *config)
{
    int64_t count = 2 * fuzz_take_u8(input);
    const ls_param *param = &units->params[LS_UNITS_PARAM_UNITS];
    config->params[LS_UNITS_PARAM_UNITS] = count > param->min ? count : param->min;
    uint8_t wave = fuzz_take_u8(input);
    config->params[LS_UNITS_PARAM_WAVE_SECONDS] = wave & 3u;
    config->params[LS_UNITS_PARAM_WAVE_PERCENT] = wave >> 2;
}
#else
/* u8 each: bodies, percent of boxes, area, speed, friction, restitution, drag, iterations and
 * shots: places in their parameters' ranges, bodies few. */
static const ls_simulation *fuzzed(void)
{
    return ls_arena_simulation();
}

static void take_params(fuzz_input *input, const ls_simulation *arena, ls_sim_config *config)
{
    for (uint32_t i = 0; i < LS_ARENA_PARAM_COUNT; i++) {
        const ls_param *param = &arena->params[i];
        int64_t most = i == LS_ARENA_PARAM_BODIES ? 60 : param->max;
        config->params[i] = param->min + (most - param->min) * fuzz_take_u8(input) / 255;
    }
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    const ls_simulation *simulation = fuzzed();
    ls_sim_config config = ls_sim_config_default(simulation);
    config.players = 1u + fuzz_take_u8(&input) % simulation->players_max;
    take_params(&input, simulation, &config);
    simulation_run(simulation, &config, &input);
    return 0;
}
