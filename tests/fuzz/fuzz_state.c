/* Fuzzes what a hostile snapshot can do: a state of a built-in simulation with arbitrary bytes in
 * it is loaded, stepped and drawn, and every step has to be defined and to end.
 *
 *   u8 simulation   which of them
 *   u8 players      less one
 *   u8 ticks        lowest three bits: steps before the state is altered; the rest: steps behind
 *   then changes    u16 offset into the save, u8 shape and its bytes
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

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

static void step(ls_sim_instance *instance, uint32_t players, fuzz_input *input)
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

static void run(ls_sim_instance *instance, uint32_t players, fuzz_input *input)
{
    uint8_t ticks = fuzz_take_u8(input);
    for (uint32_t i = 0; i < (ticks & 7u); i++) {
        step(instance, players, input);
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
            step(instance, players, input);
        }
        (void)ls_sim_instance_hash(instance);
    }
    free(save);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    ls_sim_instance *instance = NULL;
    const ls_simulation *simulation = read_simulation(&input);
    ls_sim_config config = small_config(simulation, fuzz_take_u8(&input));
    if (ls_sim_instance_create(simulation, &config, ls_allocator_heap(), &instance, NULL) ==
        LS_OK) {
        run(instance, config.players, &input);
        ls_sim_instance_destroy(instance);
    }
    return 0;
}
