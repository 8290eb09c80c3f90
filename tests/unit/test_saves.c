/* Images and faults of a save, an instance that rests, and the ring of snapshots. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/save_fault.h"
#include "lockstep/common/simulation/save_image.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulation/snapshot_ring.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
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

/* ---- snapshot_ring ---- */

static void destroy_ring(void *ring)
{
    ls_snapshot_ring_destroy(ring);
}

static ls_snapshot_ring *make_ring(ls_sim_instance *instance, uint32_t capacity)
{
    ls_snapshot_ring *ring = NULL;
    cr_assert_eq(ls_snapshot_ring_create(instance, capacity, ls_allocator_heap(), &ring), LS_OK);
    return keep_until_end(ring, destroy_ring);
}

static void step_ring(ls_sim_instance *instance, uint8_t byte)
{
    ls_slot_input slots[2] = {{&byte, 1, 0}, {&byte, 1, 0}};
    ls_sim_instance_step(instance, &(ls_tick_inputs){ls_sim_instance_tick(instance), 2, slots});
}

TestSuite(snapshot_ring, .fini = destroy_kept);

Test(snapshot_ring, brings_back_every_state_that_it_holds)
{
    uint64_t state_hashes[5];
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 5);
    for (uint32_t tick = 0; tick < 5; tick++) {
        state_hashes[tick] = ls_sim_instance_hash(instance);
        cr_assert_eq(ls_snapshot_ring_save(ring, state_hashes[tick]), LS_OK);
        step_ring(instance, (uint8_t)(1 + tick));
    }
    for (uint32_t i = 0; i < 5; i++) {
        ls_tick tick = (3 * i + 4) % 5; /* in any order */
        uint64_t state_hash = 0;
        cr_assert_eq(ls_snapshot_ring_load(ring, tick), LS_OK);
        cr_assert_eq(ls_sim_instance_tick(instance), tick);
        cr_assert_eq(ls_sim_instance_hash(instance), state_hashes[tick]);
        cr_assert_eq(ls_snapshot_ring_hash(ring, tick, &state_hash), LS_OK);
        cr_assert_eq(state_hash, state_hashes[tick]);
    }
    cr_assert_neq(state_hashes[0], state_hashes[4]);
}

Test(snapshot_ring, a_cleared_ring_holds_nothing_and_takes_new_states)
{
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 3);
    cr_assert_eq(ls_snapshot_ring_save(ring, 7), LS_OK);
    ls_snapshot_ring_clear(ring);
    cr_assert_null(ls_snapshot_ring_get(ring, 0).bytes);
    cr_assert_eq(ls_snapshot_ring_load(ring, 0), LS_NOT_FOUND);
    step_ring(instance, 1);
    cr_assert_eq(ls_snapshot_ring_save(ring, 8), LS_OK);
    cr_assert_eq(ls_snapshot_ring_load(ring, 1), LS_OK);
}

Test(snapshot_ring, shows_the_bytes_of_what_it_holds)
{
    static uint8_t saved[1 << 16];
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 2);
    cr_assert_leq(ls_sim_instance_save_bytes(instance), sizeof saved);
    cr_assert_null(ls_snapshot_ring_get(ring, 0).bytes);
    (void)ls_sim_instance_state(instance); /* somebody may write to it: it is not hashed any more */
    cr_assert_eq(ls_sim_instance_save(instance, saved), LS_OK);
    cr_assert_eq(ls_snapshot_ring_save(ring, 0), LS_OK);
    ls_saved_state state = ls_snapshot_ring_get(ring, 0);
    cr_assert_arr_eq(state.bytes, saved, ls_sim_instance_save_bytes(instance));
    cr_assert_null(state.chunk_hashes, "it was not hashed");
    cr_assert_null(ls_snapshot_ring_get(ring, 2).bytes, "the same place, another tick");
    (void)ls_sim_instance_hash(instance);
    cr_assert_eq(ls_snapshot_ring_save(ring, 0), LS_OK);
    const uint8_t *chunk_hashes = ls_sim_instance_chunk_hashes(instance);
    cr_assert_arr_eq(ls_snapshot_ring_get(ring, 0).chunk_hashes, chunk_hashes, sizeof(uint64_t));
}

Test(snapshot_ring, a_save_takes_the_place_of_the_state_that_is_too_old)
{
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 2);
    uint64_t state_hash = 77;
    cr_assert_eq(ls_snapshot_ring_hash(ring, 0, &state_hash), LS_NOT_FOUND);
    cr_assert_eq(ls_snapshot_ring_load(ring, 0), LS_NOT_FOUND);
    for (uint32_t tick = 0; tick < 3; tick++) {
        cr_assert_eq(ls_snapshot_ring_save(ring, tick), LS_OK);
        step_ring(instance, 1);
    }
    cr_assert_eq(ls_snapshot_ring_load(ring, 0), LS_NOT_FOUND);
    cr_assert_eq(ls_snapshot_ring_hash(ring, 0, &state_hash), LS_NOT_FOUND);
    cr_assert_eq(ls_snapshot_ring_load(ring, 3), LS_NOT_FOUND);
    cr_assert_eq(state_hash, 77, "untouched by a failure");
    cr_assert_eq(ls_sim_instance_tick(instance), 3);
    cr_assert_eq(ls_snapshot_ring_load(ring, 1), LS_OK);
    cr_assert_eq(ls_snapshot_ring_load(ring, 2), LS_OK);
}

Test(snapshot_ring, the_newest_save_of_a_tick_counts)
{
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 3);
    cr_assert_eq(ls_snapshot_ring_save(ring, 0), LS_OK);
    step_ring(instance, 1);
    cr_assert_eq(ls_snapshot_ring_save(ring, 1), LS_OK);
    cr_assert_eq(ls_snapshot_ring_load(ring, 0), LS_OK);
    step_ring(instance, 2);
    uint64_t state_hash = ls_sim_instance_hash(instance);
    cr_assert_eq(ls_snapshot_ring_save(ring, state_hash), LS_OK);
    step_ring(instance, 3);
    cr_assert_eq(ls_snapshot_ring_load(ring, 1), LS_OK);
    cr_assert_eq(ls_sim_instance_hash(instance), state_hash);
}

Test(snapshot_ring, allocates_at_create_only_and_gives_everything_back)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_snapshot_ring *ring = NULL;
    cr_assert_eq(ls_snapshot_ring_create(instance, 8, &counting.allocator, &ring), LS_OK);
    cr_assert_geq(counting.live_bytes, 8 * ls_sim_instance_state_bytes(instance));
    uint64_t calls = heap_calls();
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(ls_snapshot_ring_save(ring, 0), LS_OK);
        step_ring(instance, 1);
        cr_assert_eq(ls_snapshot_ring_load(ring, i), LS_OK);
        step_ring(instance, 2);
    }
    cr_assert_eq(heap_calls(), calls);
    ls_snapshot_ring_destroy(ring);
    ls_snapshot_ring_destroy(NULL);
    cr_assert_eq(counting.live_blocks, 0);
}

Test(snapshot_ring, every_failed_allocation_is_survived)
{
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_snapshot_ring *ring = NULL;
        refused.status = ls_snapshot_ring_create(instance, 8, &refused.counting.allocator, &ring);
        cr_assert_eq(ring != NULL, refused.status == LS_OK);
        ls_snapshot_ring_destroy(ring);
    }
}

Test(snapshot_ring, a_ring_without_room_is_a_mistake, .signal = SIGABRT)
{
    ls_snapshot_ring *ring = NULL;
    ls_snapshot_ring_create(keep_instance(counter_simulation(), NULL), 0, ls_allocator_heap(),
                            &ring);
}

/* ---- an engine of somebody else's, whose saves grow ---- */

static uint64_t engine_hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    return ((const counter_state *)state)->total;
}

/* 64 bytes, and one more for each that was played; all of them tell the total. */
static size_t engine_save(const ls_sim_config *config, const void *state, uint8_t *bytes,
                          size_t capacity)
{
    (void)config;
    size_t size = 64 + (size_t)((const counter_state *)state)->total;
    if (size <= capacity) {
        memset(bytes, (int)(size - 64), size);
    }
    return size;
}

static ls_status engine_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                             size_t size)
{
    (void)config;
    ((counter_state *)state)->total = bytes[size - 1];
    return LS_OK;
}

static ls_simulation *engine_simulation(void)
{
    static ls_simulation simulation; /* outlives what is kept */
    simulation = *counter_simulation();
    simulation.fields = NULL;
    simulation.hash = engine_hash;
    simulation.save = engine_save;
    simulation.load = engine_load;
    return &simulation;
}

Test(snapshot_ring, saves_may_grow_to_twice_their_size)
{
    ls_sim_instance *instance = keep_instance(engine_simulation(), NULL);
    ls_snapshot_ring *ring = make_ring(instance, 4);
    size_t header = ls_sim_instance_save_bytes(instance) - 64;
    counter_state *state = ls_sim_instance_state(instance);
    state->total = 64 + header;
    cr_assert_eq(ls_snapshot_ring_save(ring, 5), LS_OK);
    state->total = 1;
    cr_assert_eq(ls_snapshot_ring_load(ring, 0), LS_OK);
    cr_assert_eq(state->total, 64 + header);

    uint64_t state_hash = 0;
    state->total++;
    cr_assert_eq(ls_snapshot_ring_save(ring, 6), LS_FULL);
    cr_assert_eq(ls_snapshot_ring_hash(ring, 0, &state_hash), LS_NOT_FOUND, "its place is empty");
}

Test(snapshot_ring, an_engine_that_cannot_save_is_refused)
{
    ls_simulation *simulation = engine_simulation();
    simulation->save = NULL;
    simulation->load = NULL;
    ls_sim_instance *instance = keep_instance(simulation, NULL);
    ls_snapshot_ring *ring = NULL;
    cr_assert_eq(ls_snapshot_ring_create(instance, 4, ls_allocator_heap(), &ring), LS_UNSUPPORTED);
    cr_assert_null(ring);
}

/* ---- shared_copies ---- */

#define CHUNK LS_HASH_CHUNK_BYTES
#define CHUNKS 6u
#define BYTES (CHUNKS * CHUNK - 100u)
#define PLACES 5u

static void destroy_copies(void *copies)
{
    ls_shared_copies_destroy(copies);
}

static ls_shared_copies *make_copies(void)
{
    ls_shared_copies *copies = NULL;
    cr_assert_eq(ls_shared_copies_create(PLACES, BYTES, ls_allocator_heap(), &copies), LS_OK);
    return keep_until_end(copies, destroy_copies);
}

TestSuite(shared_copies, .fini = destroy_kept);

Test(shared_copies, a_chunk_that_stays_the_same_is_kept_once)
{
    static uint8_t block[BYTES];
    ls_shared_copies *copies = make_copies();
    cr_assert_eq(ls_shared_copies_chunks(copies), 0);
    for (uint32_t place = 0; place < PLACES; place++) {
        block[2 * CHUNK + 7] = (uint8_t)place;
        ls_shared_copies_store(copies, place, block, BYTES);
    }
    cr_assert_eq(ls_shared_copies_chunks(copies), CHUNKS + PLACES - 1);
    for (uint32_t place = 0; place < PLACES; place++) {
        cr_assert_eq(ls_shared_copies_read(copies, place)[2 * CHUNK + 7], place);
    }
}

/* Sizes that grow and shrink, changes here and there, reads and takes in any order: every copy is
 * what was taken, and no chunk is ever lost. */
Test(shared_copies, every_copy_is_what_was_taken)
{
    static uint8_t block[BYTES];
    static uint8_t expected[PLACES][BYTES];
    size_t sizes[PLACES] = {0};
    ls_shared_copies *copies = make_copies();
    ls_rng rng = ls_rng_make(1, 2);
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t place = ls_rng_below(&rng, PLACES);
        if (ls_rng_below(&rng, 3) == 0) {
            const uint8_t *bytes = ls_shared_copies_read(copies, place);
            cr_assert_eq(memcmp(bytes, expected[place], sizes[place]), 0, "read %u", i);
            continue;
        }
        for (uint32_t changes = ls_rng_below(&rng, 4); changes > 0; changes--) {
            block[ls_rng_below(&rng, BYTES)] = (uint8_t)ls_rng_below(&rng, 3);
        }
        sizes[place] = ls_rng_below(&rng, 2) == 0 ? BYTES : ls_rng_below(&rng, BYTES + 1);
        memcpy(expected[place], block, sizes[place]);
        ls_shared_copies_store(copies, place, block, sizes[place]);
    }
    cr_assert_leq(ls_shared_copies_chunks(copies), (PLACES + 1) * CHUNKS);
}

Test(shared_copies, there_is_room_when_everything_changes)
{
    static uint8_t block[BYTES];
    ls_shared_copies *copies = make_copies();
    for (uint32_t i = 0; i < 4 * PLACES; i++) {
        memset(block, (int)i, BYTES);
        ls_shared_copies_store(copies, i % PLACES, block, BYTES);
        (void)ls_shared_copies_read(copies, (i * 3 + 1) % PLACES);
    }
    cr_assert_leq(ls_shared_copies_chunks(copies), (PLACES + 1) * CHUNKS);
    for (uint32_t place = 0; place < PLACES; place++) {
        const uint8_t *bytes = ls_shared_copies_read(copies, place);
        cr_assert_eq(bytes[0], 3 * PLACES + place);
        cr_assert_eq(memcmp(bytes, bytes + 1, BYTES - 1), 0);
    }
}

Test(shared_copies, allocates_at_create_only_and_gives_everything_back)
{
    static uint8_t block[BYTES];
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_shared_copies *copies = NULL;
    cr_assert_eq(ls_shared_copies_create(PLACES, BYTES, &counting.allocator, &copies), LS_OK);
    uint64_t calls = heap_calls();
    for (uint32_t i = 0; i < 20; i++) {
        block[i * 1000] ^= 1;
        ls_shared_copies_store(copies, i % PLACES, block, BYTES - i);
    }
    cr_assert_eq(heap_calls(), calls);
    ls_shared_copies_destroy(copies);
    ls_shared_copies_destroy(NULL);
    cr_assert_eq(counting.live_blocks, 0);
}

Test(shared_copies, every_failed_allocation_is_survived)
{
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_shared_copies *copies = NULL;
        refused.status =
            ls_shared_copies_create(PLACES, BYTES, &refused.counting.allocator, &copies);
        cr_assert_eq(copies != NULL, refused.status == LS_OK);
        ls_shared_copies_destroy(copies);
    }
}

Test(shared_copies, copies_without_room_are_a_mistake, .signal = SIGABRT)
{
    ls_shared_copies *copies = NULL;
    ls_shared_copies_create(0, BYTES, ls_allocator_heap(), &copies);
}
