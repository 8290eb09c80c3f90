/* Images of an instance's state, faults of a save, and an instance that rests. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulation/save_fault.h"
#include "lockstep/common/simulation/save_image.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- save_image ---- */

static ls_field given[8];
static uint32_t given_count;
static size_t given_bytes;

static uint32_t give_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    return ls_fields_copy(given, given_count, out, capacity);
}

static size_t give_bytes(const ls_sim_config *config)
{
    (void)config;
    return given_bytes;
}

static ls_status create(const ls_simulation *simulation, size_t first_bytes, ls_save_image **out,
                        ls_text *why)
{
    const ls_sim_config config = {.players = 1};
    return ls_save_image_create(simulation, &config, NULL, first_bytes, ls_allocator_heap(), out,
                                why);
}

static ls_save_image *image_of(uint32_t count, const ls_field *fields, size_t bytes)
{
    const ls_simulation simulation = {
        .name = "engine", .save_fields = give_fields, .save_bytes_max = give_bytes};
    ls_save_image *image = NULL;
    ls_text why = {{0}};
    given_count = count;
    given_bytes = bytes;
    memcpy(given, fields, count * sizeof *fields);
    cr_assert_eq(create(&simulation, bytes, &image, &why), LS_OK, "%s", why.bytes);
    return image;
}

static void expect_paths(const ls_save_image *image, uint32_t count, const char *const *paths)
{
    const ls_schema *schema = ls_save_image_schema(image);
    cr_assert_eq(ls_schema_field_count(schema), count);
    for (uint32_t i = 0; i < count; i++) {
        cr_expect_str_eq(ls_schema_field(schema, i)->path, paths[i]);
    }
}

Test(save_image, without_fields_a_save_is_its_bytes_with_room_to_grow)
{
    const ls_simulation simulation = {.name = "engine"};
    ls_save_image *image = NULL;
    cr_assert_eq(create(&simulation, 10000, &image, NULL), LS_OK);
    expect_paths(image, 2, (const char *const[]){"save_bytes", "save"});
    cr_expect_geq(ls_schema_state_bytes(ls_save_image_schema(image)), 8 + 12500);
    ls_save_image_destroy(image);
}

Test(save_image, what_the_fields_leave_out_is_named_by_its_place)
{
    const ls_field fields[] = {
        {"ram", "", LS_FIELD_U8, 16, 1, 4, 0},
        {"bodies.x", "", LS_FIELD_U32, 1, 3, 24, 8},
    };
    ls_save_image *image = image_of(2, fields, 50);
    cr_expect_eq(ls_schema_state_bytes(ls_save_image_schema(image)), 58);
    expect_paths(image, 8,
                 (const char *const[]){"save_bytes", "save", "ram", "save_20", "bodies.x",
                                       "save_28", "save_36", "save_44"});
    ls_save_image_destroy(image);
}

Test(save_image, fields_that_overlap_or_lie_beyond_the_save_are_refused)
{
    const ls_simulation simulation = {
        .name = "engine", .save_fields = give_fields, .save_bytes_max = give_bytes};
    const ls_field refused[][2] = {
        {{"a", "", LS_FIELD_U32, 1, 1, 0, 0}, {"b", "", LS_FIELD_U32, 1, 1, 2, 0}},
        {{"a", "", LS_FIELD_U32, 1, 1, 0, 0}, {"b", "", LS_FIELD_U64, 1, 1, 30, 0}},
        {{"a", "", LS_FIELD_U32, 1, 1, 0, 0}, {"a", "", LS_FIELD_U32, 1, 1, 8, 0}},
        {{"a", "", LS_FIELD_U32, 1, 1, 0, 0}, {"b", "", LS_FIELD_U32, 1, 4, 4, 0}},
    };
    given_count = 2;
    given_bytes = 32;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ls_save_image *image = NULL;
        ls_text why = {{0}};
        memcpy(given, refused[i], sizeof refused[i]);
        cr_expect_eq(create(&simulation, 32, &image, &why), LS_SCHEMA, "%zu", i);
        cr_expect_neq(why.bytes[0], '\0');
        cr_expect_null(image);
    }
}

Test(save_image, a_size_that_cannot_be_is_refused)
{
    const ls_simulation simulation = {.name = "engine", .save_bytes_max = give_bytes};
    ls_save_image *image = NULL;
    ls_text why = {{0}};
    given_bytes = 0;
    cr_expect_eq(create(&simulation, 0, &image, &why), LS_PLUGIN);
    given_bytes = LS_STATE_BYTES_MAX;
    cr_expect_eq(create(&simulation, 100, &image, &why), LS_PLUGIN);
}

Test(save_image, a_save_is_filled_up_with_zeros_or_refused)
{
    uint8_t save[12] = {0};
    uint8_t image[16];
    ls_store_u64(save, 4);
    memset(save + 8, 0xab, 4);
    memset(image, 0xff, sizeof image);
    cr_assert_eq(ls_save_image_fill(sizeof image, save, image), LS_OK);
    cr_expect_eq(memcmp(image, save, sizeof save), 0);
    for (size_t i = sizeof save; i < sizeof image; i++) {
        cr_expect_eq(image[i], 0);
    }
    ls_store_u64(save, 9);
    cr_expect_eq(ls_save_image_fill(sizeof image, save, image), LS_FULL);
}

/* ---- save_fault ---- */

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

/* ---- resting_instance ---- */

/* An instance that gives the memory of its first state back, and makes it again. */

TestSuite(resting_instance, .fini = destroy_kept);

static void step_many(ls_sim_instance *instance, uint32_t ticks)
{
    for (ls_tick tick = 0; tick < ticks; tick++) {
        static const uint8_t byte = 7;
        ls_slot_input slots[COUNTER_PLAYERS_MAX];
        uint32_t players = ls_sim_instance_config(instance)->players;
        for (uint32_t slot = 0; slot < players; slot++) {
            slots[slot] = (ls_slot_input){&byte, 1, tick == 0 ? LS_EVENT_JOINED : 0};
        }
        ls_sim_instance_step(instance, &(ls_tick_inputs){tick, players, slots});
    }
}

Test(resting_instance, resting_instance_holds_no_state_and_wakes_with_the_first_one)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_sim_config config = ls_sim_config_default(counter_simulation());
    ls_sim_instance *instance = NULL;
    cr_assert_eq(
        ls_sim_instance_create(counter_simulation(), &config, &counting.allocator, &instance, NULL),
        LS_OK);
    uint64_t awake_bytes = counting.live_bytes;
    ls_sim_instance_rest(instance);
    cr_assert_leq(counting.live_bytes + ls_sim_instance_state_bytes(instance), awake_bytes);
    cr_assert_null(ls_sim_instance_chunk_hashes(instance));
    counting.allowed = 0;
    cr_assert_eq(ls_sim_instance_wake(instance), LS_NO_MEMORY);
    counting.allowed = 1; /* the state, and nothing to compute in */
    cr_assert_eq(ls_sim_instance_wake(instance), LS_NO_MEMORY);
    counting.allowed = UINT64_MAX;
    cr_assert_eq(ls_sim_instance_wake(instance), LS_OK);
    cr_assert_eq(ls_sim_instance_hash(instance), ls_sim_instance_digests(instance).initial);
    step_many(instance, 5);
    uint64_t hash_5 = ls_sim_instance_hash(instance);
    cr_assert_eq(ls_sim_instance_wake(instance), LS_OK, "it is awake");
    cr_assert_eq(ls_sim_instance_hash(instance), hash_5);
    ls_sim_instance_destroy(instance);
    cr_assert_eq(counting.live_blocks, 0);
    ls_sim_instance *never_used = keep_instance(counter_simulation(), NULL);
    step_many(never_used, 5);
    cr_assert_eq(ls_sim_instance_hash(never_used), hash_5);
}

/* It counts its calls outside the state. */
static ls_status init_differently(const ls_sim_config *config, void *state, ls_text *why)
{
    static uint32_t calls;
    ls_status status = counter_simulation()->init(config, state, why);
    ((counter_state *)state)->steps = ++calls;
    return status;
}

Test(resting_instance, resting_instance_does_not_wake_with_another_state)
{
    ls_simulation simulation = *counter_simulation();
    simulation.init = init_differently;
    ls_sim_instance *instance = keep_instance(&simulation, NULL);
    ls_sim_instance_rest(instance);
    cr_assert_eq(ls_sim_instance_wake(instance), LS_PLUGIN);
    cr_assert_eq(ls_sim_instance_wake(instance), LS_PLUGIN);
    destroy_kept();
}

static uint64_t hash_cells(const ls_sim_config *config, const void *state)
{
    (void)config;
    return ((const counter_state *)state)->steps + 17;
}

Test(resting_instance, engine_never_rests)
{
    ls_simulation simulation = *counter_simulation();
    simulation.fields = NULL;
    simulation.hash = hash_cells;
    ls_sim_instance *instance = keep_instance(&simulation, NULL);
    const void *state = ls_sim_instance_view(instance);
    ls_sim_instance_rest(instance);
    cr_assert_eq(ls_sim_instance_view(instance), state);
    cr_assert_eq(ls_sim_instance_hash(instance), 17);
}

Test(resting_instance, instance_whose_writes_are_trusted_does_not_rest)
{
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    cr_assert_eq(ls_sim_instance_trust_writes(instance), LS_OK);
    const void *state = ls_sim_instance_view(instance);
    ls_sim_instance_rest(instance);
    bool is_trusted = ls_sim_instance_whole_ticks(instance) > 1;
    cr_assert_eq(ls_sim_instance_view(instance) == state, is_trusted);
    cr_assert_eq(ls_sim_instance_wake(instance), LS_OK);
}
