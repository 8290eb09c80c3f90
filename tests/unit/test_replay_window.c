#include "lockstep/common/diagnosis/replay_window.h"

#include "lockstep/common/diagnosis/state_history.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

/* Of the counter simulation, whose states of some hundred bytes change in many places. */
static const ls_replay_window_config small = {.window_ticks = 32,
                                              .recent_ticks = 24,
                                              .reach_ticks = 20,
                                              .snapshots = 2,
                                              .log_bytes = 1 << 16};

/* A log that holds few of them. */
static const ls_replay_window_config tight = {.window_ticks = 64,
                                              .recent_ticks = 24,
                                              .reach_ticks = 20,
                                              .snapshots = 2,
                                              .log_bytes = 1 << 10};

typedef struct fixture {
    ls_sim_instance *instance;
    ls_sim_instance *other;
    ls_replay_window *window;
    ls_rng rng;
    uint64_t state_hashes[512]; /* of every state, by tick */
} fixture;

static void destroy_window(void *window)
{
    ls_replay_window_destroy(window);
}

static fixture open_fixture(ls_replay_window_config config)
{
    fixture made = {.instance = keep_instance(counter_simulation(), NULL),
                    .other = keep_instance(counter_simulation(), NULL),
                    .rng = ls_rng_make(1, 1)};
    cr_assert_eq(ls_replay_window_create(&config, made.instance, ls_allocator_heap(), &made.window),
                 LS_OK);
    keep_until_end(made.window, destroy_window);
    made.state_hashes[0] = ls_sim_instance_hash(made.instance);
    ls_replay_window_start(made.window, made.instance, made.state_hashes[0]);
    return made;
}

static void record(fixture *made, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        ls_tick tick = ls_sim_instance_tick(made->instance);
        uint8_t bytes[2] = {(uint8_t)ls_rng_next(&made->rng), 0};
        bytes[1] = (uint8_t)ls_rng_next(&made->rng);
        const ls_slot_input slots[2] = {{bytes, 2, 0}, {NULL, 0, tick == 0}};
        const ls_tick_inputs inputs = {tick, 2, slots};
        ls_sim_instance_step(made->instance, &inputs);
        made->state_hashes[tick + 1] = ls_sim_instance_hash(made->instance);
        ls_replay_window_record(made->window, &inputs, made->instance,
                                made->state_hashes[tick + 1]);
    }
}

TestSuite(replay_window, .fini = destroy_kept);

static void check_stretches(ls_replay_window_config config)
{
    fixture made = open_fixture(config);
    for (uint32_t ticks = 0; ticks < 100; ticks++) {
        record(&made, 1);
        ls_tick newest = ls_replay_window_newest(made.window);
        cr_assert_eq(newest, ticks + 1);
        ls_replay_stretch stretch;
        for (ls_tick agreed = newest < 20 ? 0 : newest - 20; agreed < newest; agreed++) {
            cr_assert_eq(ls_replay_window_stretch(made.window, agreed, newest, &stretch), LS_OK);
            cr_assert_leq(stretch.first, agreed);
            cr_assert_leq(newest - stretch.first, 2 * config.reach_ticks);
            cr_assert_eq(ls_replay_stretch_hash(&stretch, stretch.first),
                         made.state_hashes[stretch.first]);
        }
        cr_assert_eq(ls_replay_stretch_load(&stretch, made.other), LS_OK);
        cr_assert_eq(ls_sim_instance_hash(made.other), made.state_hashes[stretch.first]);
        cr_assert_eq(ls_replay_stretch_run(&stretch, made.other, newest), LS_OK);
        cr_assert_eq(ls_sim_instance_hash(made.other), made.state_hashes[newest]);
    }
}

Test(replay_window, any_agreed_tick_can_be_simulated_again)
{
    check_stretches(small);
    check_stretches(tight);
}

Test(replay_window, hashes_are_held_for_the_window_and_no_longer)
{
    fixture made = open_fixture(small);
    record(&made, 31);
    cr_expect_eq(ls_replay_window_oldest(made.window), 0);
    record(&made, 1);
    cr_expect_eq(ls_replay_window_oldest(made.window), 1);
    record(&made, 68);
    uint64_t state_hash = 0;
    cr_expect_eq(ls_replay_window_oldest(made.window), 69);
    cr_expect_eq(ls_replay_window_hash(made.window, 68, &state_hash), LS_NOT_FOUND);
    cr_expect_eq(ls_replay_window_hash(made.window, 101, &state_hash), LS_NOT_FOUND);
    for (ls_tick tick = 69; tick <= 100; tick++) {
        cr_assert_eq(ls_replay_window_hash(made.window, tick, &state_hash), LS_OK);
        cr_assert_eq(state_hash, made.state_hashes[tick]);
    }
}

/* How many of the window's states there are; each is what it was. */
static uint32_t check_states(ls_replay_window_config config)
{
    fixture made = open_fixture(config);
    uint32_t kept = 0;
    record(&made, 100);
    for (ls_tick tick = 69; tick <= 100; tick++) {
        const uint8_t *state = ls_replay_window_state(made.window, tick);
        if (state) {
            cr_assert_eq(ls_sim_instance_load(made.other, state,
                                              ls_sim_instance_image_bytes(made.other), tick),
                         LS_OK);
            cr_assert_eq(ls_sim_instance_hash(made.other), made.state_hashes[tick]);
            kept++;
        }
    }
    cr_assert_not_null(ls_replay_window_state(made.window, 100));
    return kept;
}

Test(replay_window, recent_states_and_snapshots_are_kept_as_they_were)
{
    cr_expect_eq(check_states(small), 25);
    uint32_t kept = check_states(tight);
    cr_expect(kept > 3 && kept < 25, "%u", kept);
}

Test(replay_window, ticks_that_have_left_the_window_give_no_stretch)
{
    fixture made = open_fixture(small);
    ls_replay_stretch stretch;
    cr_expect_eq(ls_replay_window_stretch(made.window, 0, 1, &stretch), LS_NOT_FOUND);
    record(&made, 100);
    cr_expect_eq(ls_replay_window_stretch(made.window, 75, 100, &stretch), LS_NOT_FOUND);
    cr_expect_eq(ls_replay_window_stretch(made.window, 76, 100, &stretch), LS_OK);
    cr_expect_eq(stretch.first, 76);
    cr_assert_eq(ls_replay_window_stretch(made.window, 90, 100, &stretch), LS_OK);
    cr_expect_eq(stretch.first, 76, "there are no more before it");
    cr_expect_eq(ls_replay_window_stretch(made.window, 99, 101, &stretch), LS_NOT_FOUND);
    cr_expect_eq(ls_replay_window_stretch(made.window, 99, 99, &stretch), LS_NOT_FOUND);
}

Test(replay_window, a_stretch_begins_some_ticks_before_the_state_agreed_on)
{
    fixture made = open_fixture((ls_replay_window_config){.window_ticks = 256,
                                                          .recent_ticks = 100,
                                                          .reach_ticks = 30,
                                                          .snapshots = 2,
                                                          .log_bytes = 1 << 20});
    ls_replay_stretch stretch;
    record(&made, 200);
    cr_assert_eq(ls_replay_window_stretch(made.window, 190, 200, &stretch), LS_OK);
    cr_expect_eq(stretch.first, 190 - 32);
    cr_assert_eq(ls_replay_window_stretch(made.window, 120, 200, &stretch), LS_OK);
    cr_expect_eq(stretch.first, 100, "what is before it is gone");
}

Test(replay_window, a_start_in_the_middle_forgets_what_was_before)
{
    fixture made = open_fixture(small);
    ls_replay_stretch stretch;
    record(&made, 45);
    ls_replay_window_start(made.window, made.instance, made.state_hashes[45]);
    cr_expect_eq(ls_replay_window_oldest(made.window), 45);
    cr_expect_null(ls_replay_window_state(made.window, 44));
    cr_expect_not_null(ls_replay_window_state(made.window, 45));
    record(&made, 2);
    cr_expect_eq(ls_replay_window_stretch(made.window, 44, 47, &stretch), LS_NOT_FOUND);
    cr_assert_eq(ls_replay_window_stretch(made.window, 46, 47, &stretch), LS_OK);
    cr_expect_eq(stretch.first, 45);
    cr_assert_eq(ls_replay_stretch_load(&stretch, made.other), LS_OK);
    cr_assert_eq(ls_replay_stretch_run(&stretch, made.other, 47), LS_OK);
    cr_expect_eq(ls_sim_instance_hash(made.other), made.state_hashes[47]);
}

Test(replay_window, saved_states_are_kept_like_live_ones_and_may_be_missing)
{
    fixture made = open_fixture(small);
    fixture saved = open_fixture(small);
    static uint8_t bytes[1 << 12];
    cr_assert_leq(ls_sim_instance_save_bytes(saved.instance), sizeof bytes);
    for (uint32_t i = 0; i < 50; i++) {
        record(&made, 1);
        const ls_slot_input slots[2] = {{0}};
        const ls_tick_inputs inputs = {i, 2, slots};
        ls_sim_instance_step(saved.instance, &inputs);
        saved.state_hashes[i + 1] = ls_sim_instance_hash(saved.instance);
        cr_assert_eq(ls_sim_instance_save(saved.instance, bytes), LS_OK);
        bool has_hashes = i % 3 > 0; /* some states have none */
        const ls_saved_state state = {
            .bytes = i + 1 == 40 ? NULL : bytes,
            .chunk_hashes = has_hashes ? ls_sim_instance_chunk_hashes(saved.instance) : NULL};
        ls_replay_window_record_saved(saved.window, &inputs, &state, saved.state_hashes[i + 1]);
    }
    ls_replay_stretch stretch;
    for (ls_tick tick = 26; tick <= 50; tick++) {
        const uint8_t *mine = ls_replay_window_state(made.window, tick);
        const uint8_t *other = ls_replay_window_state(saved.window, tick);
        cr_assert_eq(other != NULL, mine != NULL && tick != 40, "tick %u", tick);
    }
    cr_assert_eq(ls_replay_window_stretch(saved.window, 40, 50, &stretch), LS_OK);
    cr_expect_eq(stretch.first, 26, "the oldest there is");
    cr_assert_eq(ls_replay_stretch_load(&stretch, saved.other), LS_OK);
    cr_assert_eq(ls_replay_stretch_run(&stretch, saved.other, 50), LS_OK);
    cr_expect_eq(ls_sim_instance_hash(saved.other), saved.state_hashes[50]);
}

/* ---- defaults ---- */

static const uint32_t rates[] = {1,   10,  20,  30,  50,  60,  61,  100,
                                 120, 128, 144, 240, 500, 999, 1000};
static const uint32_t hash_intervals[] = {1, 2, 60, 1024};

enum {
    RATES = sizeof rates / sizeof rates[0],
    HASH_INTERVALS = sizeof hash_intervals / sizeof hash_intervals[0],
};

/* From 64 B to 64 MiB, and what stands beside each power of two. */
static size_t size_at(uint32_t index)
{
    size_t power = (size_t)64 << index / 3;
    return power + index % 3 * (power / 3 + 1);
}

enum {
    SIZES = 3 * 20 + 1
};

Test(replay_window, whatever_is_found_late_has_a_state_before_it_and_the_inputs_since)
{
    for (uint32_t i = 0; i < SIZES * RATES * HASH_INTERVALS; i++) {
        const ls_replay_needs needs = {size_at(i / RATES / HASH_INTERVALS),
                                       rates[i / HASH_INTERVALS % RATES],
                                       hash_intervals[i % HASH_INTERVALS], false};
        ls_replay_window_config config = ls_replay_window_config_default(&needs);
        uint32_t late = ls_replay_late_ticks(needs.tick_rate_hz);
        cr_assert_geq((uint64_t)late * 1000, (uint64_t)needs.tick_rate_hz * 2400);
        cr_assert_geq(config.reach_ticks, late + needs.hash_interval_ticks);
        cr_assert_gt(config.recent_ticks, config.reach_ticks);
        uint32_t oldest = 2 * config.reach_ticks;
        cr_assert_lt(oldest, config.window_ticks);
        cr_assert_leq(oldest, ls_replay_input_ticks(needs.tick_rate_hz, needs.hash_interval_ticks));
    }
}

Test(replay_window, defaults_take_three_and_a_half_states_and_a_mebibyte_or_all_of_small_ones)
{
    for (uint32_t i = 0; i < SIZES * RATES; i++) {
        const ls_replay_needs needs = {size_at(i / RATES), rates[i % RATES], 1, false};
        ls_replay_window_config config = ls_replay_window_config_default(&needs);
        size_t bytes = ls_replay_window_bytes(&config, needs.state_bytes);
        size_t whole = ls_state_history_whole_log_bytes(needs.state_bytes, config.recent_ticks);
        if (needs.state_bytes > LS_REPLAY_SMALL_STATE_BYTES) {
            cr_expect_leq(bytes, 7 * needs.state_bytes / 2 + (1 << 20), "%zu B, %u Hz",
                          needs.state_bytes, needs.tick_rate_hz);
            continue;
        }
        cr_expect_leq(bytes, 17 << 20, "%zu B, %u Hz", needs.state_bytes, needs.tick_rate_hz);
        cr_expect(config.log_bytes == whole || bytes > 15 << 20, "%zu B, %u Hz: %zu B",
                  needs.state_bytes, needs.tick_rate_hz, bytes);
    }
}

Test(replay_window, the_memory_it_says_is_the_memory_it_takes)
{
    const uint32_t cells[] = {2, 40, 1000, 20000};
    const ls_input_buffer_config kept = {2, COUNTER_INPUT_BYTES_MAX, 64};
    ls_input_buffer *inputs = NULL;
    cr_assert_eq(ls_input_buffer_create(&kept, ls_allocator_heap(), &inputs), LS_OK);
    for (uint32_t i = 0; i < 4 * RATES; i++) {
        ls_sim_config sim = ls_sim_config_default(counter_simulation());
        sim.params[COUNTER_PARAM_CELLS] = cells[i / RATES];
        ls_sim_instance *instance = keep_instance(counter_simulation(), &sim);
        const ls_replay_needs needs = {ls_sim_instance_state_bytes(instance), rates[i % RATES], 1,
                                       false};
        ls_replay_window_config config = ls_replay_window_config_default(&needs);
        config.inputs = inputs;
        counting_allocator counting;
        counting_allocator_init(&counting);
        ls_replay_window *window = NULL;
        cr_assert_eq(ls_replay_window_create(&config, instance, &counting.allocator, &window),
                     LS_OK);
        cr_expect_eq(counting.live_bytes, ls_replay_window_bytes(&config, needs.state_bytes));
        cr_expect_eq(counting.peak_bytes, counting.live_bytes);
        ls_replay_window_destroy(window);
        cr_expect_eq(counting.live_bytes, 0);
    }
    ls_input_buffer_destroy(inputs);
}

Test(replay_window, a_state_that_is_wanted_is_kept_whatever_it_costs)
{
    ls_replay_window_config config = small;
    config.tick_bytes = 1;
    fixture made = open_fixture(config);
    uint32_t size = (uint32_t)ls_sim_instance_state_bytes(made.instance);
    ls_replay_window_want(made.window, 7);
    ls_replay_window_want(made.window, 9);
    record(&made, 12);
    for (ls_tick tick = 1; tick <= 12; tick++) {
        const uint8_t *state = ls_replay_window_state(made.window, tick);
        cr_assert_eq(ls_replay_window_has_state(made.window, tick), state != NULL);
        cr_assert_eq(state != NULL, tick == 7 || tick == 9, "tick %u of %u B", tick, size);
        if (state) {
            cr_assert_eq(ls_sim_instance_load(made.other, state,
                                              ls_sim_instance_image_bytes(made.other), tick),
                         LS_OK);
            cr_assert_eq(ls_sim_instance_hash(made.other), made.state_hashes[tick]);
        }
    }
    ls_replay_window_want(made.window, 15);
    ls_replay_window_start(made.window, made.instance, made.state_hashes[12]);
    record(&made, 3);
    cr_expect_not(ls_replay_window_has_state(made.window, 15), "it began anew");
}

/* A window with the defaults for these needs is played until all that is kept has been replaced. */
static void check_late_differences(uint32_t cells, uint32_t rate_hz, uint32_t hash_interval)
{
    ls_sim_config sim = ls_sim_config_default(counter_simulation());
    sim.params[COUNTER_PARAM_CELLS] = cells;
    ls_sim_instance *instance = keep_instance(counter_simulation(), &sim);
    const ls_replay_needs needs = {ls_sim_instance_state_bytes(instance), rate_hz, hash_interval,
                                   false};
    ls_replay_window_config config = ls_replay_window_config_default(&needs);
    ls_replay_window *window = NULL;
    cr_assert_eq(ls_replay_window_create(&config, instance, ls_allocator_heap(), &window), LS_OK);
    keep_until_end(window, destroy_window);
    ls_replay_window_start(window, instance, ls_sim_instance_hash(instance));
    uint32_t late = ls_replay_late_ticks(rate_hz);
    bool has_all = needs.state_bytes <= 4096;
    for (ls_tick tick = 0; tick < config.window_ticks + 2 * config.reach_ticks; tick++) {
        const ls_slot_input slots[2] = {{0}};
        const ls_tick_inputs inputs = {tick, 2, slots};
        ls_sim_instance_step(instance, &inputs);
        ls_replay_window_record(window, &inputs, instance, ls_sim_instance_hash(instance));
        if (tick + 1 <= late || tick % 61 != 0) {
            continue;
        }
        ls_tick bad = tick + 1 - late;
        ls_replay_stretch stretch;
        cr_assert_eq(ls_replay_window_stretch(window, (bad - 1) / hash_interval * hash_interval,
                                              bad, &stretch),
                     LS_OK, "tick %u, %u Hz, %u cells", tick, rate_hz, cells);
        cr_assert(!has_all || ls_replay_window_state(window, bad), "tick %u", tick);
    }
}

Test(replay_window, a_difference_that_is_found_late_can_be_run_again_and_small_states_are_there)
{
    const uint32_t cells[] = {2, 150, 1500, 20000};
    for (uint32_t i = 0; i < RATES; i++) {
        check_late_differences(cells[i % 2], rates[i], 1);
        check_late_differences(cells[2], rates[i], 1);
    }
    check_late_differences(cells[3], 60, 1);
    check_late_differences(cells[1], 60, 64);
    check_late_differences(cells[1], 128, 1000);
}

static void expect_rerun(fixture *made, ls_tick agreed, ls_tick last)
{
    ls_replay_stretch stretch;
    cr_assert_eq(ls_replay_window_stretch(made->window, agreed, last, &stretch), LS_OK);
    cr_assert(stretch.first <= agreed && stretch.agreed == agreed && stretch.last == last);
    cr_assert_eq(ls_replay_stretch_load(&stretch, made->other), LS_OK);
    cr_assert_eq(ls_replay_stretch_run(&stretch, made->other, last), LS_OK);
    cr_assert_eq(ls_sim_instance_hash(made->other), made->state_hashes[last]);
    cr_assert_eq(ls_replay_stretch_hash(&stretch, last), made->state_hashes[last]);
    cr_assert_eq(ls_replay_stretch_hash(&stretch, agreed), made->state_hashes[agreed]);
}

static bool is_to_be_had(const fixture *made, ls_tick agreed, ls_tick last)
{
    ls_replay_stretch stretch;
    return ls_replay_window_stretch(made->window, agreed, last, &stretch) == LS_OK;
}

Test(replay_window, what_is_kept_can_be_run_again_however_many_ticks_are_recorded_since)
{
    const ls_replay_window_config configs[] = {small, tight};
    for (uint32_t i = 0; i < 2; i++) {
        fixture made = open_fixture(configs[i]);
        record(&made, 40);
        ls_replay_window_keep(made.window, 36, 39);
        record(&made, 60);
        ls_replay_window_keep(made.window, 96, 97);
        ls_replay_window_keep(made.window, 36, 39); /* of another client */
        record(&made, 345);
        expect_rerun(&made, 36, 39);
        expect_rerun(&made, 37, 38);
        expect_rerun(&made, 96, 97);
        cr_expect_not(is_to_be_had(&made, 37, 41), "no more than what was kept");
        ls_replay_stretch step;
        cr_expect_eq(ls_replay_window_steps(made.window, 38, 1, &step), LS_OK);
        ls_replay_window_let_go(made.window, 36);
        expect_rerun(&made, 36, 39);
        ls_replay_window_let_go(made.window, 36);
        cr_expect_not(is_to_be_had(&made, 36, 39));
        expect_rerun(&made, 96, 97);
        ls_replay_window_start(made.window, made.instance, made.state_hashes[445]);
        cr_expect_not(is_to_be_had(&made, 96, 97), "it began anew");
        ls_replay_window_let_go(made.window, 96);
    }
}

Test(replay_window, what_has_left_the_window_is_not_kept_and_neither_is_more_than_there_is_room_for)
{
    fixture made = open_fixture(small);
    record(&made, 100);
    ls_replay_window_keep(made.window, 20, 22);
    cr_expect_not(is_to_be_had(&made, 20, 22));
    for (ls_tick tick = 82; tick < 98; tick++) {
        ls_replay_window_keep(made.window, tick, tick + 1);
    }
    record(&made, 100);
    uint32_t kept = 0;
    for (ls_tick tick = 82; tick < 98; tick++) {
        kept += is_to_be_had(&made, tick, tick + 1);
        ls_replay_window_let_go(made.window, tick);
    }
    cr_expect(kept >= 8);
    cr_expect_not(is_to_be_had(&made, 90, 91));
}

Test(replay_window, a_state_that_is_awaited_stays_as_long_as_the_inputs_since_do)
{
    ls_replay_window_config config = small;
    config.window_ticks = 128;
    config.log_bytes = 1 << 12;
    fixture made = open_fixture(config);
    record(&made, 30);
    ls_replay_window_await(made.window, 20);
    record(&made, 90);
    expect_rerun(&made, 20, 22);
    expect_rerun(&made, 110, 120);
    ls_replay_window_await(made.window, 118); /* the client has told of them */
    record(&made, 40);
    cr_expect_not(is_to_be_had(&made, 20, 22));
    ls_replay_window_await(made.window, 120);
    record(&made, 200);
    ls_replay_window_await(made.window, 120); /* too old to be run again */
    record(&made, 40);
    cr_expect_not(is_to_be_had(&made, 120, 121));
    expect_rerun(&made, 390, 400);
}

static ls_status create_with(ls_replay_window_config config)
{
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_replay_window *window = NULL;
    ls_status status = ls_replay_window_create(&config, instance, ls_allocator_heap(), &window);
    ls_replay_window_destroy(window);
    return status;
}

Test(replay_window, configurations_out_of_range_are_refused)
{
    cr_expect_eq(create_with((ls_replay_window_config){32, 32, 20, 2, 999 * 8, NULL, 0, false, 0}),
                 LS_OK);
    const ls_replay_window_config refused[] = {
        {32, 33, 20, 2, 999 * 8, NULL, 0, false, 0}, {33, 32, 20, 2, 999 * 8, NULL, 0, false, 0},
        {0, 0, 0, 2, 999 * 8, NULL, 0, false, 0},    {32, 20, 20, 2, 999 * 8, NULL, 0, false, 0},
        {32, 32, 20, 2, 0, NULL, 0, false, 0},       {32, 32, 20, 2, 999, NULL, 0, false, 0},
    };
    for (uint32_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        cr_expect_eq(create_with(refused[i]), LS_BAD_ARGUMENT, "%u", i);
    }
}

Test(replay_window, recording_never_allocates_and_refused_memory_is_survived)
{
    fixture made = open_fixture(small);
    uint64_t calls = heap_calls();
    record(&made, 100);
    cr_expect_eq(heap_calls(), calls);
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_replay_window *window = NULL;
        refused.status =
            ls_replay_window_create(&small, made.instance, &refused.counting.allocator, &window);
        ls_replay_window_destroy(window);
    }
}

Test(replay_window, recording_another_tick_than_the_next_is_a_mistake, .signal = SIGABRT)
{
    fixture made = open_fixture(small);
    const ls_slot_input slots[2] = {{0}};
    const ls_tick_inputs inputs = {1, 2, slots};
    ls_replay_window_record(made.window, &inputs, made.instance, 1);
}

/* ---- borrowed inputs ---- */

static void destroy_inputs(void *inputs)
{
    ls_input_buffer_destroy(inputs);
}

Test(replay_window, inputs_that_are_kept_elsewhere_are_not_copied)
{
    ls_input_buffer_config kept = {.slots = 2, .input_bytes_max = 2, .window_ticks = 64};
    ls_input_buffer *inputs = NULL;
    cr_assert_eq(ls_input_buffer_create(&kept, ls_allocator_heap(), &inputs), LS_OK);
    keep_until_end(inputs, destroy_inputs);
    ls_replay_window_config config = small;
    config.inputs = inputs;
    fixture made = open_fixture(config);
    for (ls_tick tick = 0; tick < 40; tick++) {
        uint8_t byte = (uint8_t)(tick * 5);
        const ls_slot_input slots[2] = {{&byte, 1, 0}, {NULL, 0, 0}};
        const ls_tick_inputs both = {tick, 2, slots};
        for (uint32_t slot = 0; slot < 2; slot++) {
            ls_input_buffer_put(inputs, tick, slot, slots[slot].bytes, slots[slot].size, 0);
        }
        ls_sim_instance_step(made.instance, &both);
        made.state_hashes[tick + 1] = ls_sim_instance_hash(made.instance);
        ls_replay_window_record(made.window, &both, made.instance, made.state_hashes[tick + 1]);
    }
    ls_replay_stretch stretch;
    cr_assert_eq(ls_replay_window_stretch(made.window, 24, 37, &stretch), LS_OK);
    cr_assert_eq(stretch.first, 16);
    cr_assert_eq(ls_replay_stretch_load(&stretch, made.other), LS_OK);
    cr_assert_eq(ls_replay_stretch_run(&stretch, made.other, 37), LS_OK);
    cr_assert_eq(ls_sim_instance_hash(made.other), made.state_hashes[37]);
    ls_input_buffer_forget_before(inputs, 25);
    cr_assert_eq(ls_replay_window_stretch(made.window, 24, 37, &stretch), LS_NOT_FOUND,
                 "what leads there is gone");
    cr_assert_eq(ls_replay_window_stretch(made.window, 34, 37, &stretch), LS_OK);
    /* With inputs of others a window may begin again at an earlier tick. */
    ls_replay_window_start(made.window, made.other, made.state_hashes[37]);
    cr_assert_eq(ls_replay_window_newest(made.window), 37);
}
