/* Fuzzes the built-in simulations: their steps, and what a hostile state can do to them. */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/simulations/units/units_state.h"

#include "lockstep/tests/fuzz/fuzz_input.h"

#include <stdlib.h>
#include <string.h>

/* ==== simulation ==== */

/* Fuzzes the step of a built-in simulation with arbitrary inputs and parameters, for some ticks and
 * twice: from the start, and again from a save in the middle. Padding must stay zero and both runs
 * must agree.
 *
 *   u8 players    less one
 *   then parameters, as below, and ticks
 */

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

/* The parameters of a simulation, from the input. */
typedef void (*params_taker)(fuzz_input *input, const ls_simulation *simulation,
                             ls_sim_config *config);

static int fuzz_steps(const ls_simulation *simulation, params_taker take_params,
                      const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    ls_sim_config config = ls_sim_config_default(simulation);
    config.players = 1u + fuzz_take_u8(&input) % simulation->players_max;
    take_params(&input, simulation, &config);
    simulation_run(simulation, &config, &input);
    return 0;
}

/* u8 units: twice as many, at least the least; u8 wave: seconds in the lowest two bits, percent in
 * the rest. */
static void take_units_params(fuzz_input *input, const ls_simulation *units, ls_sim_config *config)
{
    int64_t count = 2 * fuzz_take_u8(input);
    const ls_param *param = &units->params[LS_UNITS_PARAM_UNITS];
    config->params[LS_UNITS_PARAM_UNITS] = count > param->min ? count : param->min;
    uint8_t wave = fuzz_take_u8(input);
    config->params[LS_UNITS_PARAM_WAVE_SECONDS] = wave & 3u;
    config->params[LS_UNITS_PARAM_WAVE_PERCENT] = wave >> 2;
}

FUZZ_TARGET(units)
{
    return fuzz_steps(ls_units_simulation(), take_units_params, bytes, size);
}

/* u8 each: bodies, percent of boxes, area, speed, friction, restitution, drag, iterations and
 * shots: places in their parameters' ranges, bodies few. */
static void take_arena_params(fuzz_input *input, const ls_simulation *arena, ls_sim_config *config)
{
    for (uint32_t i = 0; i < LS_ARENA_PARAM_COUNT; i++) {
        const ls_param *param = &arena->params[i];
        int64_t most = i == LS_ARENA_PARAM_BODIES ? 60 : param->max;
        config->params[i] = param->min + (most - param->min) * fuzz_take_u8(input) / 255;
    }
}

FUZZ_TARGET(arena)
{
    return fuzz_steps(ls_arena_simulation(), take_arena_params, bytes, size);
}

/* ==== state ==== */

/* Fuzzes what a hostile snapshot can do: a state of a built-in simulation with arbitrary bytes in
 * it is loaded, stepped and drawn, and every step has to be defined and to end.
 *
 *   u8 simulation   which of them
 *   u8 players      less one
 *   u8 ticks        lowest three bits: steps before the state is altered; the rest: steps behind
 *   then changes    u16 offset into the save, u8 shape and its bytes
 */

enum {
    CHANGES_MAX = 64,
    FEW = 24, /* bodies, units and the like */
};

/* Where numbers of 64 bits overflow, or are zero. */
static const uint64_t edges[] = {
    0,         1,          UINT64_MAX, INT64_MAX,  (uint64_t)INT64_MIN, UINT32_MAX,
    INT32_MAX, 1ull << 31, 1ull << 32, 1ull << 47, 0x3fffffffffffffff,  0xc000000000000000,
};

static const ls_simulation *read_simulation(fuzz_input *input)
{
    uint32_t count = 0;
    while (ls_builtin_simulation(count)) {
        count++;
    }
    return ls_builtin_simulation(fuzz_take_u8(input) % count);
}

/* As small as it goes: it is the step that is looked at. */
static ls_sim_config small_config(const ls_simulation *simulation, uint32_t players)
{
    ls_sim_config config = ls_sim_config_default(simulation);
    config.players = 1u + players % simulation->players_max;
    for (uint32_t i = 0; i < config.param_count; i++) {
        const ls_param *param = &simulation->params[i];
        if (config.params[i] > FEW && param->max > 255) {
            config.params[i] = param->min > FEW ? param->min : FEW;
        }
    }
    return config;
}

static void change(uint8_t *save, size_t size, fuzz_input *input)
{
    size_t offset = fuzz_take_u16(input) * UINT64_C(8) % size;
    uint8_t shape = fuzz_take_u8(input);
    uint8_t bytes[8];
    if (shape & 1u) {
        ls_store_u64(bytes, edges[shape / 2 % (sizeof edges / sizeof edges[0])]);
    } else {
        ls_store_u64(bytes, (uint64_t)fuzz_take_u32(input) << (shape >> 3 & 31u));
    }
    size_t count = shape & 128u ? 4 : 8;
    offset += shape & 128u && shape & 64u ? 4 : 0;
    if (offset < size) {
        memcpy(save + offset, bytes, count < size - offset ? count : size - offset);
    }
}

static void state_step(ls_sim_instance *instance, uint32_t players, fuzz_input *input)
{
    uint32_t most = ls_sim_instance_simulation(instance)->input_bytes_max;
    ls_slot_input slots[LS_PLAYERS_MAX] = {0};
    ls_tick tick = ls_sim_instance_tick(instance);
    for (uint32_t slot = 0; slot < players; slot++) {
        slots[slot].events = tick == 0 ? LS_EVENT_JOINED : fuzz_take_u8(input) & 3u;
        size_t size = 0;
        slots[slot].bytes = fuzz_take_bytes(input, most < FEW ? most : FEW, &size);
        slots[slot].size = (uint32_t)size;
    }
    const ls_tick_inputs inputs = {.tick = tick, .slot_count = players, .slots = slots};
    ls_sim_instance_step(instance, &inputs);
}

static void state_run(ls_sim_instance *instance, uint32_t players, fuzz_input *input)
{
    uint8_t ticks = fuzz_take_u8(input);
    for (uint32_t i = 0; i < (ticks & 7u); i++) {
        state_step(instance, players, input);
    }
    size_t size = ls_sim_instance_save_bytes(instance);
    uint8_t *save = malloc(size);
    LS_ASSERT(save && ls_sim_instance_save(instance, save) == LS_OK);
    for (uint32_t i = 0; i < CHANGES_MAX && input->size > 2; i++) {
        change(save, size, input);
    }
    ls_tick tick = ls_sim_instance_tick(instance);
    if (ls_sim_instance_load(instance, save, size, tick) == LS_OK) {
        for (uint32_t i = 0; i <= (uint32_t)(ticks >> 3 & 7u); i++) {
            state_step(instance, players, input);
        }
        (void)ls_sim_instance_hash(instance);
    }
    free(save);
}

FUZZ_TARGET(state)
{
    fuzz_input input = {bytes, size};
    ls_sim_instance *instance = NULL;
    const ls_simulation *simulation = read_simulation(&input);
    ls_sim_config config = small_config(simulation, fuzz_take_u8(&input));
    if (ls_sim_instance_create(simulation, &config, ls_allocator_heap(), &instance, NULL) ==
        LS_OK) {
        state_run(instance, config.players, &input);
        ls_sim_instance_destroy(instance);
    }
    return 0;
}
