#include "lockstep/common/simulation/save_fault.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    SIZE = 12,
};

/* An engine of three numbers; what its save leaves out, or its load alters, is up to the test. */
static struct {
    uint32_t numbers[3];
    bool leaves_out;
    bool forgets;
    bool grows;
} engine;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return 8;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)state;
    (void)why;
    engine.numbers[0] = config->players;
    engine.numbers[1] = 4;
    engine.numbers[2] = 5;
    return LS_OK;
}

static void step(const ls_step *here)
{
    engine.numbers[0] += here->config->players;
}

static uint64_t hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    (void)state;
    return (uint64_t)engine.numbers[0] << 32 | engine.numbers[1] << 16 | engine.numbers[2];
}

static size_t save(const ls_sim_config *config, const void *state, uint8_t *bytes, size_t capacity)
{
    (void)config;
    (void)state;
    size_t size = SIZE + (engine.grows && engine.numbers[1] == 0 ? 1 : 0);
    if (capacity >= size) {
        memset(bytes, 0, size);
        ls_store_u32(bytes, engine.numbers[0]);
        ls_store_u32(bytes + 4, engine.leaves_out ? 0 : engine.numbers[1]);
        ls_store_u32(bytes + 8, engine.numbers[2]);
    }
    return size;
}

static ls_status load(const ls_sim_config *config, void *state, const uint8_t *bytes, size_t size)
{
    (void)config;
    (void)state;
    (void)size;
    engine.numbers[0] = ls_load_u32(bytes);
    engine.numbers[1] = engine.forgets ? 0 : ls_load_u32(bytes + 4);
    engine.numbers[2] = ls_load_u32(bytes + 8);
    return LS_OK;
}

static uint32_t regions(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {{"cpu.registers", "", LS_FIELD_U32, 3, 1, 0, 0}};
    return ls_fields_copy(list, 1, out, capacity);
}

static void expect_fault(bool has_regions, const char *words)
{
    static const ls_pass pass = {"step", step};
    const ls_simulation simulation = {.abi = LS_SIMULATION_ABI,
                                      .size = sizeof(ls_simulation),
                                      .version = 1,
                                      .name = "three",
                                      .summary = "three numbers",
                                      .default_tick_rate_hz = 60,
                                      .default_players = 1,
                                      .players_max = 1,
                                      .passes = &pass,
                                      .pass_count = 1,
                                      .state_bytes = state_bytes,
                                      .init = init,
                                      .hash = hash,
                                      .save = save,
                                      .load = load,
                                      .save_fields = has_regions ? regions : NULL};
    ls_sim_config config = ls_sim_config_default(&simulation);
    ls_sim_instance *instance = NULL;
    ls_text why = {"it differs"};
    uint8_t saved[8 + SIZE];
    cr_assert_eq(ls_sim_instance_create(&simulation, &config, ls_allocator_heap(), &instance, &why),
                 LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_sim_instance_save(instance, saved), LS_OK);
    cr_assert_eq(ls_sim_instance_load(instance, saved, ls_sim_instance_save_bytes(instance), 0),
                 LS_OK);
    ls_text_set(&why, "it differs");
    ls_save_fault_add(instance, saved, ls_allocator_heap(), &why);
    ls_text expected;
    ls_text_set(&expected,
                "it differs; the simulation's save %s; next: run lockstep-synctest "
                "GAME.so --only save,join",
                words);
    cr_expect_str_eq(why.bytes, expected.bytes);
    ls_sim_instance_destroy(instance);
}

Test(save_fault, the_first_byte_that_does_not_come_back_is_told)
{
    engine.forgets = true;
    expect_fault(false, "does not come back as it was loaded: first differing byte 4 of 12 was 4, "
                        "and is 0");
    expect_fault(true, "does not come back as it was loaded: first differing byte 4 of 12 "
                       "(cpu.registers[1]) was 4, and is 0");
}

Test(save_fault, a_save_that_leaves_out_what_is_hashed_is_told_as_that)
{
    engine.leaves_out = true;
    expect_fault(false, "leaves out what its hash reads: loaded and saved again, it is the same 12 "
                        "bytes");
}

Test(save_fault, a_save_of_another_size_is_told_as_that)
{
    engine.leaves_out = true;
    engine.forgets = true;
    engine.grows = true;
    expect_fault(false, "does not come back as it was loaded: it had 12 bytes, and has 13");
}
