#include "lockstep/common/simulation/sim_instance.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static ls_sim_config default_config(void)
{
    return ls_sim_config_default(counter_simulation());
}

static ls_sim_instance *make(void)
{
    return keep_instance(counter_simulation(), NULL);
}

/* The counter with one pass alone; it outlives the test's function. */
static ls_simulation *with_pass(void (*run)(const ls_step *step))
{
    static ls_simulation simulation;
    static ls_pass pass;
    pass = (ls_pass){"look", run};
    simulation = *counter_simulation();
    simulation.passes = &pass;
    simulation.pass_count = 1;
    return &simulation;
}

static const counter_state *state_of(ls_sim_instance *instance)
{
    return ls_sim_instance_state(instance);
}

/* One step in which each slot sends `size` bytes that follow from the tick and the slot. */
static void step_with(ls_sim_instance *instance, uint32_t size)
{
    uint8_t bytes[COUNTER_PLAYERS_MAX][COUNTER_INPUT_BYTES_MAX];
    ls_slot_input slots[COUNTER_PLAYERS_MAX];
    ls_tick tick = ls_sim_instance_tick(instance);
    uint32_t players = ls_sim_instance_config(instance)->players;
    for (uint32_t slot = 0; slot < players; slot++) {
        for (uint32_t i = 0; i < size; i++) {
            bytes[slot][i] = (uint8_t)(37 * tick + 11 * slot + i);
        }
        slots[slot] = (ls_slot_input){bytes[slot], size, tick == 0 ? LS_EVENT_JOINED : 0};
    }
    ls_sim_instance_step(instance, &(ls_tick_inputs){tick, players, slots});
}

static void step_many(ls_sim_instance *instance, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        step_with(instance, i % (COUNTER_INPUT_BYTES_MAX + 1));
    }
}

/* ---- create ---- */

TestSuite(sim_instance, .fini = destroy_kept);

Test(sim_instance, begins_at_tick_0_with_what_init_made)
{
    ls_sim_instance *instance = make();
    cr_assert_eq(ls_sim_instance_simulation(instance), counter_simulation());
    cr_assert_eq(ls_sim_instance_config(instance)->players, 2);
    cr_assert_eq(ls_sim_instance_tick(instance), 0);
    cr_assert_eq(ls_sim_instance_state_bytes(instance),
                 sizeof(counter_state) + 8 * sizeof(counter_cell));
    cr_assert_eq(ls_schema_state_bytes(ls_sim_instance_schema(instance)),
                 ls_sim_instance_state_bytes(instance));
    cr_assert_eq(state_of(instance)->steps, 0);
    cr_assert_eq(state_of(instance)->cells[7].position, LS_FIXED_INT(7));
    cr_assert_eq(ls_sim_instance_digests(instance).initial, ls_sim_instance_hash(instance));
    ls_sim_instance_destroy(NULL);
}

Test(sim_instance, keeps_a_copy_of_the_configuration)
{
    ls_sim_config config = default_config();
    ls_sim_instance *instance = keep_instance(counter_simulation(), &config);
    config.params[COUNTER_PARAM_CELLS] = 1;
    cr_assert_eq(ls_sim_instance_config(instance)->params[COUNTER_PARAM_CELLS], 8);
    step_many(instance, 3);
}

static void expect_config_refused(const ls_simulation *simulation, const ls_sim_config *config,
                                  ls_status status, const char *words)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_sim_instance *instance = NULL;
    ls_text why = {""};
    cr_expect_eq(ls_sim_instance_create(simulation, config, &counting.allocator, &instance, &why),
                 status);
    cr_expect(strstr(why.bytes, words), "no \"%s\" in: %s", words, why.bytes);
    cr_expect_null(instance);
    cr_expect_eq(counting.live_blocks, 0);
}

static void expect_refused(const ls_simulation *simulation, ls_status status, const char *words)
{
    ls_sim_config config = default_config();
    expect_config_refused(simulation, &config, status, words);
}

Test(sim_instance, a_simulation_or_configuration_that_fails_its_check_is_refused)
{
    ls_sim_config config = default_config();
    ls_simulation simulation = *counter_simulation();
    simulation.pass_count = 0;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "pass_count");
    expect_refused(NULL, LS_PLUGIN, "no simulation");
    config.players = 9;
    expect_config_refused(counter_simulation(), &config, LS_BAD_ARGUMENT, "players");
}

static size_t no_bytes(const ls_sim_config *config)
{
    (void)config;
    return 0;
}

static size_t too_many_bytes(const ls_sim_config *config)
{
    (void)config;
    return (size_t)LS_STATE_BYTES_MAX + 1;
}

static size_t all_bytes(const ls_sim_config *config)
{
    (void)config;
    return SIZE_MAX;
}

Test(sim_instance, a_state_of_no_or_too_many_bytes_is_refused)
{
    ls_simulation simulation = *counter_simulation();
    simulation.state_bytes = no_bytes;
    expect_refused(&simulation, LS_PLUGIN, "asks for 0 bytes");
    simulation.state_bytes = too_many_bytes;
    expect_refused(&simulation, LS_PLUGIN, "asks for 268435457 bytes");
    simulation.state_bytes = all_bytes;
    expect_refused(&simulation, LS_PLUGIN, "of state");
    simulation = *counter_simulation();
    simulation.scratch_bytes = all_bytes;
    expect_refused(&simulation, LS_NO_MEMORY, "of scratch");
}

static uint32_t first_fields(const ls_sim_config *config, ls_field *fields, uint32_t capacity)
{
    return counter_simulation()->fields(config, fields, capacity) - 1;
}

static uint32_t too_many_fields(const ls_sim_config *config, ls_field *fields, uint32_t capacity)
{
    (void)config;
    (void)fields;
    return capacity + 1;
}

Test(sim_instance, a_schema_that_leaves_bytes_out_is_refused_by_their_names)
{
    ls_simulation simulation = *counter_simulation();
    simulation.fields = first_fields;
    expect_refused(&simulation, LS_SCHEMA,
                   "8 byte ranges are not covered exactly once: byte 95 between \"cells.owner\" "
                   "and \"cells.position\" is covered by no field, so are 119, 143");
    simulation.fields = too_many_fields;
    expect_refused(&simulation, LS_SCHEMA, "has 1025 fields");
}

static ls_status fail_to_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    (void)state;
    return LS_IO;
}

static ls_status init_dirty(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    ((counter_state *)state)->cells[2].padding = 1;
    return LS_OK;
}

Test(sim_instance, a_failed_init_is_handed_on)
{
    ls_simulation simulation = *counter_simulation();
    simulation.init = fail_to_init;
    expect_refused(&simulation, LS_IO, "could not make its first state: input or output");
}

Test(sim_instance, an_init_that_writes_to_padding_is_refused_by_its_byte)
{
    ls_simulation simulation = *counter_simulation();
    simulation.init = init_dirty;
    expect_refused(&simulation, LS_SCHEMA,
                   "wrote to byte 143 of its state, which is padding (\"cells.padding\")");
}

Test(sim_instance, every_failed_allocation_is_survived)
{
    ls_sim_config config = default_config();
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_sim_instance *instance = NULL;
        ls_text why = {""};
        refused.status = ls_sim_instance_create(counter_simulation(), &config,
                                                &refused.counting.allocator, &instance, &why);
        cr_assert_eq(instance != NULL, refused.status == LS_OK);
        cr_assert_eq(refused.status == LS_OK, why.bytes[0] == '\0');
        ls_sim_instance_destroy(instance);
    }
}

/* ---- memory ---- */

typedef struct scratch_seen {
    uintptr_t address;
    bool is_zero;
    bool is_dirty;
} scratch_seen;

static scratch_seen seen;

static void look_at_scratch(const ls_step *step)
{
    uint8_t *scratch = step->scratch;
    size_t bytes = scratch ? step->config->params[COUNTER_PARAM_CELLS] * sizeof(uint32_t) : 0;
    seen = (scratch_seen){(uintptr_t)scratch, true, true};
    for (size_t i = 0; i < bytes; i++) {
        seen.is_zero = seen.is_zero && scratch[i] == 0;
        seen.is_dirty = seen.is_dirty && scratch[i] == 0xee;
    }
    if (scratch) {
        memset(scratch, 0xee, bytes);
    }
}

Test(sim_instance, state_and_scratch_are_aligned_and_apart)
{
    ls_sim_instance *instance = keep_instance(with_pass(look_at_scratch), NULL);
    uintptr_t state = (uintptr_t)ls_sim_instance_state(instance);
    step_with(instance, 0);
    cr_assert(seen.is_zero, "scratch begins as zero");
    cr_assert_eq(seen.address % 64, 0);
    cr_assert_eq(state % 64, 0);
    cr_assert(seen.address >= state + ls_sim_instance_state_bytes(instance) ||
              seen.address + 32 <= state);
    step_with(instance, 0);
    cr_assert(seen.is_dirty, "scratch is left alone between steps");
}

Test(sim_instance, no_scratch_is_null)
{
    ls_simulation *simulation = with_pass(look_at_scratch);
    simulation->scratch_bytes = NULL;
    for (int i = 0; i < 2; i++) {
        ls_sim_instance *instance = keep_instance(simulation, NULL);
        seen.address = 1;
        step_with(instance, 0);
        cr_assert_eq(seen.address, 0);
        simulation->scratch_bytes = no_bytes;
    }
}

#if LS_HAS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>

Test(sim_instance, bytes_round_the_state_are_forbidden_to_sanitized_code)
{
    ls_sim_config config = default_config();
    for (int64_t cells = 2; cells < 12; cells++) {
        config.params[COUNTER_PARAM_CELLS] = cells;
        ls_sim_instance *instance = keep_instance(counter_simulation(), &config);
        uint8_t *state = ls_sim_instance_state(instance);
        size_t bytes = ls_sim_instance_state_bytes(instance);
        cr_assert_not(__asan_region_is_poisoned(state, bytes));
        cr_assert(__asan_address_is_poisoned(state + bytes));
        cr_assert(__asan_address_is_poisoned(state - 1));
    }
}
#endif

/* ---- tuning and watching ---- */

static ls_sim_tuning tuning_seen;

static void look_at_tuning(const ls_step *step)
{
    tuning_seen = *step->tuning;
}

Test(sim_instance, a_step_is_told_how_this_machine_runs_it)
{
    ls_simulation *simulation = with_pass(look_at_tuning);
    simulation->workers_max = 4;
    ls_sim_instance *instance = keep_instance(simulation, NULL);
    step_with(instance, 0);
    cr_assert_eq(tuning_seen.workers, 1);
    cr_assert_eq(tuning_seen.log_level, LS_LOG_WARNING);
    ls_sim_instance_tune(instance, (ls_sim_tuning){.workers = 4, .log_level = LS_LOG_DEBUG});
    step_with(instance, 0);
    cr_assert_eq(tuning_seen.workers, 4);
    cr_assert_eq(tuning_seen.log_level, LS_LOG_DEBUG);
}

Test(sim_instance, more_workers_than_the_simulation_can_use_are_a_mistake, .signal = SIGABRT)
{
    ls_sim_instance_tune(make(), (ls_sim_tuning){.workers = 2, .log_level = LS_LOG_WARNING});
}

typedef struct watched {
    char order[128]; /* each pass as it runs: "name:index " */
} watched;

static void note_and_run(void *user, const ls_step *step, const ls_pass *pass, uint32_t index)
{
    watched *notes = user;
    size_t used = strlen(notes->order);
    snprintf(notes->order + used, sizeof notes->order - used, "%s:%u ", pass->name, index);
    pass->run(step);
}

Test(sim_instance, a_watched_step_shows_each_pass_and_ends_the_same)
{
    ls_sim_instance *plain = make();
    ls_sim_instance *seen_instance = make();
    watched notes = {""};
    const ls_step_watch watch = {note_and_run, &notes};
    const ls_slot_input slots[2] = {{(const uint8_t *)"ab", 2, 0}, {NULL, 0, 0}};
    const ls_tick_inputs inputs = {0, 2, slots};
    ls_sim_instance_step(plain, &inputs);
    ls_sim_instance_step_watched(seen_instance, &inputs, &watch);
    cr_assert_str_eq(notes.order, "apply:0 move:1 ");
    cr_assert_eq(ls_sim_instance_hash(plain), ls_sim_instance_hash(seen_instance));
    cr_assert_eq(ls_sim_instance_tick(seen_instance), 1);
}

Test(sim_instance, running_never_allocates)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_sim_config config = default_config();
    config.params[COUNTER_PARAM_CELLS] = 3000;
    ls_sim_instance *instance = NULL;
    cr_assert_eq(
        ls_sim_instance_create(counter_simulation(), &config, &counting.allocator, &instance, NULL),
        LS_OK);
    static uint8_t saved[100000];
    cr_assert_leq(ls_sim_instance_save_bytes(instance), sizeof saved);
    cr_assert_gt(ls_sim_instance_save_bytes(instance), LS_HASH_CHUNK_BYTES);
    const counting_allocator before = counting;
    uint64_t calls = heap_calls();
    uint64_t state_hashes = 0;
    for (ls_tick tick = 0; tick < 200; tick++) {
        step_with(instance, tick % 17);
        state_hashes |= ls_sim_instance_hash(instance);
        cr_assert_eq(ls_sim_instance_save(instance, saved), LS_OK);
        cr_assert_eq(
            ls_sim_instance_load(instance, saved, ls_sim_instance_save_bytes(instance), tick + 1),
            LS_OK);
    }
    cr_assert_neq(state_hashes, 0);
    cr_assert_eq(counting.allocations, before.allocations);
    cr_assert_eq(counting.live_blocks, before.live_blocks);
    cr_assert_eq(heap_calls(), calls);
    ls_sim_instance_destroy(instance);
    cr_assert_eq(counting.live_blocks, 0);
    cr_assert_eq(counting.live_bytes, 0);
}

/* ---- stepping ---- */

Test(sim_instance, a_step_applies_inputs_and_events_in_pass_order)
{
    ls_sim_instance *instance = make();
    const uint8_t bytes[] = {3, 11, 255};
    const ls_slot_input slots[] = {{bytes, 3, LS_EVENT_JOINED}, {NULL, 0, LS_EVENT_LEFT}};
    ls_sim_instance_step(instance, &(ls_tick_inputs){0, 2, slots});
    const counter_state *state = state_of(instance);
    cr_assert_eq(state->total, 269);
    cr_assert(state->joins == 1 && state->leaves == 1 && state->present == 1);
    cr_assert(state->last[0] == 3 && state->last[1] == 0);
    cr_assert(state->cells[3].hits == 2 && state->cells[7].hits == 1); /* 11 and 255 modulo 8 */
    cr_assert_eq(state->cells[3].owner, 1);
    cr_assert_eq(state->cells[3].heading, 2 * (LS_ANGLE_QUARTER / 16));
    cr_assert_eq(state->cells[1].position, LS_FIXED_INT(1) + LS_FIXED_INT(3) / 60);
    cr_assert_eq(ls_sim_instance_tick(instance), 1);
}

Test(sim_instance, equal_inputs_give_equal_states_tick_by_tick)
{
    ls_sim_instance *a = make();
    ls_sim_instance *b = make();
    uint64_t previous = ls_sim_instance_hash(a);
    for (uint32_t i = 0; i < 100; i++) {
        step_with(a, i % 17);
        step_with(b, i % 17);
        uint64_t state_hash = ls_sim_instance_hash(a);
        cr_assert_eq(state_hash, ls_sim_instance_hash(b));
        cr_assert_neq(state_hash, previous);
        previous = state_hash;
    }
}

Test(sim_instance, instances_of_one_simulation_are_independent)
{
    ls_sim_config config = default_config();
    ls_sim_instance *a = keep_instance(counter_simulation(), &config);
    config.seed = 2;
    config.params[COUNTER_PARAM_CELLS] = 20;
    ls_sim_instance *b = keep_instance(counter_simulation(), &config);
    uint64_t before = ls_sim_instance_hash(a);
    step_many(b, 10);
    cr_assert_eq(ls_sim_instance_hash(a), before);
    cr_assert_eq(ls_sim_instance_tick(a), 0);
    ls_sim_instance *alone = make();
    step_many(a, 10);
    step_many(alone, 10);
    cr_assert_eq(ls_sim_instance_hash(a), ls_sim_instance_hash(alone));
}

Test(sim_instance, one_changed_input_bit_changes_the_state)
{
    ls_sim_instance *a = make();
    ls_sim_instance *b = make();
    const uint8_t bytes[] = {4, 5};
    const ls_slot_input slots_a[] = {{bytes, 1, 0}, {NULL, 0, 0}};
    const ls_slot_input slots_b[] = {{bytes + 1, 1, 0}, {NULL, 0, 0}};
    ls_sim_instance_step(a, &(ls_tick_inputs){0, 2, slots_a});
    ls_sim_instance_step(b, &(ls_tick_inputs){0, 2, slots_b});
    cr_assert_neq(ls_sim_instance_hash(a), ls_sim_instance_hash(b));
}

/* Golden: with any compiler, at any optimisation, on any machine. */
Test(sim_instance, the_state_after_100_ticks_never_changes)
{
    ls_sim_instance *instance = make();
    uint64_t chain = ls_hash_chain_start(ls_sim_instance_hash(instance));
    for (uint32_t i = 0; i < 100; i++) {
        step_with(instance, i % 17);
        chain = ls_hash_chain_next(chain, ls_sim_instance_hash(instance));
    }
    uint64_t state_hash = ls_sim_instance_hash(instance);
    cr_expect_eq(state_hash, UINT64_C(0xefe35e073de41859), "root 0x%016llx",
                 (unsigned long long)state_hash);
    cr_expect_eq(chain, UINT64_C(0x6c25fcefd604f028), "chain 0x%016llx", (unsigned long long)chain);
}

Test(sim_instance, inputs_of_another_tick_are_a_mistake, .signal = SIGABRT)
{
    const ls_slot_input slots[2] = {{NULL, 0, 0}};
    ls_sim_instance_step(make(), &(ls_tick_inputs){1, 2, slots});
}

Test(sim_instance, inputs_for_another_number_of_slots_are_a_mistake, .signal = SIGABRT)
{
    const ls_slot_input slots[2] = {{NULL, 0, 0}};
    ls_sim_instance_step(make(), &(ls_tick_inputs){0, 1, slots});
}

Test(sim_instance, an_input_above_the_simulations_size_is_a_mistake, .signal = SIGABRT)
{
    static const uint8_t bytes[COUNTER_INPUT_BYTES_MAX + 1];
    const ls_slot_input slots[2] = {{bytes, sizeof bytes, 0}};
    ls_sim_instance_step(make(), &(ls_tick_inputs){0, 2, slots});
}

/* ---- saving ---- */

Test(sim_instance, a_loaded_save_replays_to_the_same_states)
{
    ls_sim_instance *instance = make();
    uint8_t saved[2048];
    cr_assert_leq(ls_sim_instance_save_bytes(instance), sizeof saved);
    step_many(instance, 20);
    cr_assert_eq(ls_sim_instance_save(instance, saved), LS_OK);
    uint64_t hash_20 = ls_sim_instance_hash(instance);
    step_many(instance, 30);
    uint64_t hash_50 = ls_sim_instance_hash(instance);
    cr_assert_neq(hash_20, hash_50);

    size_t size = ls_sim_instance_save_bytes(instance);
    cr_assert_eq(ls_sim_instance_load(instance, saved, size - 1, 20), LS_MALFORMED);
    cr_assert_eq(ls_sim_instance_load(instance, saved, size + 1, 20), LS_MALFORMED);
    cr_assert_eq(ls_sim_instance_load(instance, saved, 0, 20), LS_MALFORMED);
    cr_assert_eq(ls_sim_instance_tick(instance), 50);
    cr_assert_eq(ls_sim_instance_hash(instance), hash_50);
    cr_assert_eq(ls_sim_instance_load(instance, saved, size, 20), LS_OK);
    cr_assert_eq(ls_sim_instance_tick(instance), 20);
    cr_assert_eq(ls_sim_instance_hash(instance), hash_20);
    step_many(instance, 30);
    cr_assert_eq(ls_sim_instance_hash(instance), hash_50);

    ls_sim_instance *other = make();
    cr_assert_eq(ls_sim_instance_load(other, saved, size, 20), LS_OK);
    step_many(other, 30);
    cr_assert_eq(ls_sim_instance_hash(other), hash_50);
}

Test(sim_instance, a_save_is_the_canonical_state)
{
    ls_sim_instance *instance = make();
    uint8_t saved[2048];
    uint8_t canonical[2048];
    step_many(instance, 5);
    cr_assert_eq(ls_sim_instance_save(instance, saved), LS_OK);
    ls_schema_to_canonical(ls_sim_instance_schema(instance), ls_sim_instance_state(instance),
                           canonical);
    cr_assert_arr_eq(saved, canonical, ls_sim_instance_save_bytes(instance));
    cr_assert_eq(saved[offsetof(counter_state, steps)], 5);
}

/* ---- digests ---- */

static ls_sim_digests digests_of(const ls_simulation *simulation, const ls_sim_config *config)
{
    return ls_sim_instance_digests(keep_instance(simulation, config));
}

Test(sim_instance, equal_configurations_have_equal_digests)
{
    ls_sim_digests a = digests_of(counter_simulation(), NULL);
    ls_sim_digests b = digests_of(counter_simulation(), NULL);
    cr_assert(a.parameters == b.parameters && a.schema == b.schema && a.initial == b.initial);
    cr_assert_neq(a.schema, 0);
    cr_assert_eq(a.content, 0);
}

Test(sim_instance, everything_configured_changes_the_parameter_digest)
{
    ls_sim_config configs[6];
    for (size_t i = 0; i < 6; i++) {
        configs[i] = default_config();
    }
    configs[1].seed = 2;
    configs[2].tick_rate_hz = 61;
    configs[3].players = 3;
    configs[4].params[COUNTER_PARAM_CELLS] = 9;
    configs[5].params[COUNTER_PARAM_SPEED] = 4;
    ls_sim_digests digests[6];
    for (size_t i = 0; i < 6; i++) {
        digests[i] = digests_of(counter_simulation(), &configs[i]);
        for (size_t j = 0; j < i; j++) {
            cr_assert_neq(digests[i].parameters, digests[j].parameters, "%zu and %zu", i, j);
        }
    }
    cr_assert_neq(digests[1].initial, digests[0].initial);
    cr_assert_neq(digests[4].schema, digests[0].schema);
    cr_assert_eq(digests[5].schema, digests[0].schema);
}

Test(sim_instance, a_parameters_name_is_part_of_the_digest)
{
    static ls_simulation simulation;
    static ls_param params[COUNTER_PARAM_COUNT];
    simulation = *counter_simulation();
    memcpy(params, simulation.params, sizeof params);
    params[COUNTER_PARAM_SPEED].name = "pace";
    simulation.params = params;
    cr_assert_neq(digests_of(&simulation, NULL).parameters,
                  digests_of(counter_simulation(), NULL).parameters);
}

static uint64_t content(const ls_sim_config *config)
{
    return 1000 + config->players;
}

Test(sim_instance, the_content_digest_is_the_simulations_own)
{
    static ls_simulation simulation;
    simulation = *counter_simulation();
    simulation.content_digest = content;
    cr_assert_eq(digests_of(&simulation, NULL).content, 1002);
}

/* ---- a wrapped engine: its block holds a handle ---- */

typedef struct engine_block {
    uint64_t *number; /* lives outside the block */
} engine_block;

static uint64_t engine_number;
static int engine_deinits;

static size_t engine_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(engine_block);
}

static ls_status engine_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    engine_number = config->seed;
    ((engine_block *)state)->number = &engine_number;
    return LS_OK;
}

static void engine_run(const ls_step *step)
{
    *((engine_block *)step->state)->number += step->inputs->slots[0].size + 1;
}

static uint64_t engine_hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    return *((const engine_block *)state)->number * 3;
}

/* As many bytes as the number has, so that sizes differ from tick to tick. */
static size_t engine_save(const ls_sim_config *config, const void *state, uint8_t *bytes,
                          size_t capacity)
{
    (void)config;
    size_t size = (size_t) * ((const engine_block *)state)->number;
    if (size <= capacity) {
        memset(bytes, 0x5a, size);
    }
    return size;
}

static uint32_t engine_loads;

static ls_status engine_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                             size_t size)
{
    (void)config;
    engine_loads++;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0x5a) {
            return LS_MALFORMED;
        }
    }
    *((engine_block *)state)->number = size;
    return LS_OK;
}

static void engine_deinit(const ls_sim_config *config, void *state)
{
    (void)config;
    cr_expect_eq(((engine_block *)state)->number, &engine_number);
    engine_deinits++;
}

static ls_simulation *engine_simulation(void)
{
    ls_simulation *simulation = with_pass(engine_run);
    simulation->state_bytes = engine_bytes;
    simulation->scratch_bytes = NULL;
    simulation->fields = NULL;
    simulation->init = engine_init;
    simulation->hash = engine_hash;
    simulation->save = engine_save;
    simulation->load = engine_load;
    simulation->deinit = engine_deinit;
    return simulation;
}

Test(sim_instance, a_restart_leads_through_the_same_states_again)
{
    ls_sim_instance *instance = make();
    uint64_t hash_0 = ls_sim_instance_hash(instance);
    step_many(instance, 20);
    uint64_t hash_20 = ls_sim_instance_hash(instance);
    cr_assert_eq(ls_sim_instance_restart(instance), LS_OK);
    cr_assert_eq(ls_sim_instance_tick(instance), 0);
    cr_assert_eq(ls_sim_instance_hash(instance), hash_0);
    step_many(instance, 20);
    cr_assert_eq(ls_sim_instance_hash(instance), hash_20);
}

static ls_status init_once(const ls_sim_config *config, void *state, ls_text *why)
{
    static uint32_t calls;
    return calls++ == 0 ? engine_init(config, state, why) : LS_IO;
}

Test(sim_instance, an_engine_is_given_up_before_it_begins_again)
{
    ls_simulation *simulation = engine_simulation();
    ls_sim_instance *instance = keep_instance(simulation, NULL);
    cr_assert_eq(ls_sim_instance_restart(instance), LS_OK);
    cr_assert_eq(engine_deinits, 1);
    destroy_kept();
    cr_assert_eq(engine_deinits, 2);

    simulation->init = init_once;
    instance = keep_instance(simulation, NULL);
    cr_assert_eq(ls_sim_instance_restart(instance), LS_IO);
    cr_assert_eq(engine_deinits, 3);
    destroy_kept();
    cr_assert_eq(engine_deinits, 3, "there was none any more");
}

Test(sim_instance, a_wrapped_engine_hashes_saves_and_loads_by_itself)
{
    ls_sim_instance *instance = keep_instance(engine_simulation(), NULL);
    cr_assert_null(ls_sim_instance_schema(instance));
    cr_assert_eq(ls_sim_instance_digests(instance).schema, 0);
    cr_assert_eq(ls_sim_instance_digests(instance).initial, 3);
    step_with(instance, 4);
    cr_assert_eq(ls_sim_instance_hash(instance), 18);

    uint8_t saved[64];
    size_t size = ls_sim_instance_save_bytes(instance);
    cr_assert_leq(size, sizeof saved);
    memset(saved, 0, sizeof saved);
    cr_assert_eq(ls_sim_instance_save(instance, saved), LS_OK);
    cr_assert_eq(saved[size - 1], 0x5a);
    cr_assert_eq(saved[size], 0);
    step_with(instance, 9);
    cr_assert_neq(ls_sim_instance_save_bytes(instance), size);
    cr_assert_eq(ls_sim_instance_load(instance, saved, size, 1), LS_OK);
    cr_assert_eq(ls_sim_instance_hash(instance), 18);
    cr_assert_eq(ls_sim_instance_tick(instance), 1);

    step_with(instance, 0);
    saved[size - 1] = 1;
    cr_assert_eq(ls_sim_instance_load(instance, saved, size, 1), LS_MALFORMED);
    cr_assert_eq(ls_sim_instance_tick(instance), 2, "a failed load leaves the tick");
    cr_assert_eq(engine_deinits, 0);
    destroy_kept();
    cr_assert_eq(engine_deinits, 1);
}

Test(sim_instance, an_engine_never_sees_a_save_that_says_another_size_than_it_has)
{
    static const uint64_t said[] = {0, 5, 7, 64, 1ull << 40, UINT64_MAX - 7, UINT64_MAX};
    ls_sim_instance *instance = keep_instance(engine_simulation(), NULL);
    step_with(instance, 4);
    uint8_t saved[64] = {0};
    cr_assert_eq(ls_sim_instance_save(instance, saved), LS_OK);
    size_t size = ls_sim_instance_save_bytes(instance);
    uint64_t bytes = ls_load_u64(saved);
    cr_assert_eq(bytes, size - 8);
    for (size_t cut = 0; cut < sizeof saved; cut++) {
        cr_assert(cut == size || ls_sim_instance_load(instance, saved, cut, 9) == LS_MALFORMED);
    }
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        ls_store_u64(saved, said[i]);
        cr_assert(said[i] == bytes ||
                  ls_sim_instance_load(instance, saved, size, 9) == LS_MALFORMED);
    }
    cr_assert_eq(engine_loads, 0);
    cr_assert_eq(ls_sim_instance_tick(instance), 1);
    cr_assert_eq(ls_sim_instance_hash(instance), 18);
}

Test(sim_instance, an_engine_loads_an_image_which_may_not_say_more_than_it_holds)
{
    ls_sim_instance *instance = keep_instance(engine_simulation(), NULL);
    step_with(instance, 4);
    size_t size = ls_sim_instance_image_bytes(instance);
    uint8_t *image = ls_allocate(ls_allocator_heap(), size);
    cr_assert_eq(ls_sim_instance_image(instance, image), LS_OK);
    step_with(instance, 9);
    cr_assert_eq(ls_sim_instance_load(instance, image, size, 1), LS_OK);
    cr_assert_eq(ls_sim_instance_hash(instance), 18);
    cr_assert_eq(engine_loads, 1);
    cr_assert_eq(ls_sim_instance_load(instance, image, size - 1, 1), LS_MALFORMED);
    ls_store_u64(image, size - 7);
    cr_assert_eq(ls_sim_instance_load(instance, image, size, 1), LS_MALFORMED);
    cr_assert_eq(engine_loads, 1);
    ls_release(ls_allocator_heap(), image);
}

Test(sim_instance, an_engine_that_cannot_save_says_so)
{
    ls_simulation *simulation = engine_simulation();
    simulation->save = NULL;
    simulation->load = NULL;
    ls_sim_instance *instance = keep_instance(simulation, NULL);
    uint8_t saved[64];
    cr_assert_eq(ls_sim_instance_save_bytes(instance), 0);
    cr_assert_eq(ls_sim_instance_save(instance, saved), LS_UNSUPPORTED);
    cr_assert_eq(ls_sim_instance_load(instance, saved, sizeof saved, 5), LS_UNSUPPORTED);
    cr_assert_eq(ls_sim_instance_tick(instance), 0);
}

Test(sim_instance, a_state_never_initialised_is_not_deinitialised)
{
    ls_simulation *simulation = engine_simulation();
    simulation->init = fail_to_init;
    expect_refused(simulation, LS_IO, "first state");
    cr_assert_eq(engine_deinits, 0);
}

/* ---- writes that are named ---- */

enum {
    WRITER_BYTES = 5 * LS_WRITE_CHUNK_BYTES + 24,
    WRITER_FORGETS = 70, /* in this tick it writes to chunk 3 and does not say so */
};

static size_t writer_bytes(const ls_sim_config *config)
{
    (void)config;
    return WRITER_BYTES;
}

static uint32_t writer_fields(const ls_sim_config *config, ls_field *fields, uint32_t capacity)
{
    (void)config;
    const ls_field all[] = {{"head", "", LS_FIELD_U8, 100, 1, 0, 0},
                            {"body", "", LS_FIELD_U8, WRITER_BYTES - 100, 1, 100, 0}};
    return ls_fields_copy(all, 2, fields, capacity);
}

static ls_status writer_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)config;
    (void)why;
    memset(state, 7, WRITER_BYTES);
    return LS_OK;
}

/* Over the ends of the first three chunks, and to the end of the state. */
static void write_named(const ls_step *step)
{
    ls_tick tick = step->inputs->tick;
    uint8_t *state = step->state;
    size_t offset = tick * 4001 % (3 * LS_WRITE_CHUNK_BYTES - 300);
    ls_step_wrote(step, offset, 300);
    memset(state + offset, (int)tick, 300);
    state[WRITER_BYTES - 1]++;
    ls_step_wrote(step, WRITER_BYTES - 1, 1);
}

static void write_and_forget(const ls_step *step)
{
    write_named(step);
    if (step->inputs->tick == WRITER_FORGETS) {
        ((uint8_t *)step->state)[3 * LS_WRITE_CHUNK_BYTES + 4000] ^= 1;
    }
}

static ls_simulation *writer(void (*run)(const ls_step *step))
{
    ls_simulation *simulation = with_pass(run);
    simulation->param_count = 0;
    simulation->check = NULL;
    simulation->scratch_bytes = NULL;
    simulation->state_bytes = writer_bytes;
    simulation->fields = writer_fields;
    simulation->init = writer_init;
    simulation->names_writes = 1;
    return simulation;
}

static uint64_t hash_of_all(const ls_sim_instance *instance)
{
    ls_sim_instance *copy = keep_instance(ls_sim_instance_simulation(instance), NULL);
    memcpy(ls_sim_instance_state(copy), ls_sim_instance_view(instance), WRITER_BYTES);
    return ls_sim_instance_hash(copy);
}

Test(sim_instance, a_trusted_hash_is_that_of_all_bytes)
{
    for (uint32_t interval = 1; interval <= 130; interval += 43) {
        ls_sim_instance *instance = keep_instance(writer(write_named), NULL);
        ls_text what;
        cr_assert_eq(ls_sim_instance_trust_writes(instance), LS_OK);
        for (ls_tick tick = 1; tick <= 400; tick++) {
            step_with(instance, 0);
            if (tick == 101) { /* somebody else writes */
                ((uint8_t *)ls_sim_instance_state(instance))[9000] ^= 1;
            }
            if (tick == 202) {
                uint8_t saved[WRITER_BYTES];
                cr_assert_eq(ls_sim_instance_save(instance, saved), LS_OK);
                saved[17000] ^= 1;
                cr_assert_eq(ls_sim_instance_load(instance, saved, sizeof saved, tick), LS_OK);
            }
            if (tick % interval == 0) {
                cr_assert_eq(ls_sim_instance_hash(instance), hash_of_all(instance), "tick %u",
                             tick);
            }
        }
        cr_assert_not(ls_sim_instance_unnamed_write(instance, &what));
    }
}

Test(sim_instance, a_trusted_hash_does_not_read_what_is_not_written)
{
    ls_sim_instance *instance = keep_instance(writer(write_named), NULL);
    cr_assert_eq(ls_sim_instance_trust_writes(instance), LS_OK);
    uint64_t before = ls_sim_instance_hash(instance);
    *(uint8_t *)(uintptr_t)ls_sim_instance_view(instance) ^= 1; /* behind its back */
    cr_assert_eq(ls_sim_instance_hash(instance), before);
}

Test(sim_instance, an_unnamed_write_is_found_within_a_second_and_ends_the_trust)
{
    ls_sim_instance *instance = keep_instance(writer(write_and_forget), NULL);
    ls_text what = {{0}};
    cr_assert_eq(ls_sim_instance_trust_writes(instance), LS_OK);
    (void)ls_sim_instance_hash(instance);
    for (ls_tick tick = 1; tick <= 200; tick++) {
        step_with(instance, 0);
        uint64_t state_hash = ls_sim_instance_hash(instance);
        bool is_found = ls_sim_instance_unnamed_write(instance, &what);
        bool is_missed = tick > WRITER_FORGETS && tick < 120;
        cr_assert_eq(is_found, tick == 120, "tick %u", tick);
        cr_assert_eq(state_hash != hash_of_all(instance), is_missed, "tick %u", tick);
    }
    cr_assert_str_eq(what.bytes,
                     "between tick 60 and tick 120 simulation 'counter' wrote to bytes 12288 to "
                     "16383 of its state (from \"body\" on) and did not name them: all bytes are "
                     "hashed every time from now on");
}

Test(sim_instance, a_simulation_that_names_nothing_is_not_trusted)
{
    ls_simulation *simulation = writer(write_and_forget);
    simulation->names_writes = 0;
    ls_sim_instance *instance = keep_instance(simulation, NULL);
    cr_assert_eq(ls_sim_instance_trust_writes(instance), LS_OK);
    cr_assert_eq(ls_sim_instance_whole_ticks(instance), 1);
    for (ls_tick tick = 1; tick <= 80; tick++) {
        step_with(instance, 0);
        cr_assert_eq(ls_sim_instance_hash(instance), hash_of_all(instance), "tick %u", tick);
    }
}

Test(sim_instance, the_newest_hash_of_all_bytes_is_on_a_tick_that_is_hashed)
{
    static const struct {
        uint32_t interval;
        ls_tick tick, whole;
    } cases[] = {{1, 0, 0},  {1, 1, 0},   {1, 60, 0},   {1, 61, 60},   {1, 120, 60},
                 {7, 63, 0}, {7, 70, 63}, {7, 126, 63}, {7, 133, 126}, {1024, 2048, 1024}};
    ls_sim_instance *plain = keep_instance(writer(write_named), NULL);
    ls_sim_instance *trusted = keep_instance(writer(write_named), NULL);
    cr_assert_eq(ls_sim_instance_trust_writes(trusted), LS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t interval = cases[i].interval;
        ls_tick before = cases[i].tick > 0 ? (cases[i].tick - 1) / interval * interval : 0;
        cr_expect_eq(ls_sim_instance_whole_before(trusted, interval, cases[i].tick), cases[i].whole,
                     "case %zu", i);
        cr_expect_eq(ls_sim_instance_whole_before(plain, interval, cases[i].tick), before);
    }
}

static uint64_t hash_nothing(const ls_sim_config *config, const void *state)
{
    (void)config;
    (void)state;
    return 1;
}

Test(sim_instance, an_engine_cannot_name_what_it_writes)
{
    ls_simulation simulation = *counter_simulation();
    simulation.fields = NULL;
    simulation.hash = hash_nothing;
    simulation.names_writes = 1;
    ls_text why = {{0}};
    cr_assert_eq(ls_simulation_check(&simulation, &why), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, "names_writes"), "%s", why.bytes);
}
