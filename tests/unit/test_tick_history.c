/* The past of a match: its ticks, and states that are played again. */
#define _DEFAULT_SOURCE /* mincore */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/server/investigation/diff_pool.h"
#include "lockstep/server/investigation/step_study.h"
#include "lockstep/server/match/aged_state.h"
#include "lockstep/tests/support/diagnosed_match.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ==== aged_state ==== */

#if defined(__linux__)
#include <sys/mman.h>
#endif

/* ---- aged_state ---- */

static ls_sim_instance *instance;
static uint64_t initial;
static ls_aged_state aged;

static void open_state(uint32_t age_ticks, uint32_t pause_ticks)
{
    ls_sim_config config = ls_sim_config_default(ls_arena_simulation());
    ls_text why;
    cr_assert_eq(ls_sim_instance_create(ls_arena_simulation(), &config, ls_allocator_heap(),
                                        &instance, &why),
                 LS_OK, "%s", why.bytes);
    initial = ls_sim_instance_hash(instance);
    ls_aged_state_config ages = {
        .instance = instance, .age_ticks = age_ticks, .pause_min_ticks = pause_ticks};
    cr_assert_eq(ls_aged_state_init(&aged, &ages, ls_allocator_heap()), LS_OK);
}

static void close_state(void)
{
    ls_aged_state_deinit(&aged, ls_allocator_heap());
    ls_sim_instance_destroy(instance);
}

static void step(void)
{
    ls_slot_input inputs[LS_PLAYERS_MAX] = {{0}};
    ls_tick tick = ls_sim_instance_tick(instance);
    ls_tick_inputs all = {
        .tick = tick, .slot_count = ls_sim_instance_config(instance)->players, .slots = inputs};
    ls_sim_instance_step(instance, &all);
    if (!ls_aged_state_is_due(&aged, tick + 1)) {
        return;
    }
    ls_state_copy live = {
        .tick = tick + 1, .chain_tick = tick, .chain = tick * 3, .tick_chain = tick * 5};
    ls_aged_state_advance(&aged, &live);
}

/* The state that is given out is that of its tick and no other. */
static void check_ready(void)
{
    if (aged.ready.tick == 0) {
        cr_assert_eq(aged.ready.state_hash, initial);
        return;
    }
    ls_sim_instance *other = NULL;
    ls_text why;
    cr_assert_eq(ls_sim_instance_create(ls_arena_simulation(), ls_sim_instance_config(instance),
                                        ls_allocator_heap(), &other, &why),
                 LS_OK);
    cr_assert_eq(ls_sim_instance_load(other, aged.ready.bytes, ls_sim_instance_save_bytes(other),
                                      aged.ready.tick),
                 LS_OK);
    cr_assert_eq(ls_sim_instance_hash(other), aged.ready.state_hash);
    cr_assert_eq(aged.ready.chain_tick, aged.ready.tick - 1);
    cr_assert_eq(aged.ready.chain, (aged.ready.tick - 1) * UINT64_C(3));
    cr_assert_eq(aged.ready.tick_chain, (aged.ready.tick - 1) * UINT64_C(5));
    ls_sim_instance_destroy(other);
}

static void run(uint32_t age_ticks, uint32_t pause_ticks, ls_tick ticks)
{
    uint32_t renewed = 0;
    ls_tick before = 0;
    open_state(age_ticks, pause_ticks);
    cr_assert_eq(aged.ready.tick_chain, LS_TICK_CHAIN_START);
    ls_tick longest = age_ticks + (age_ticks > pause_ticks ? age_ticks : pause_ticks);
    for (ls_tick tick = 1; tick <= ticks; tick++) {
        step();
        ls_tick age = tick - aged.ready.tick;
        cr_assert(aged.ready.tick == 0 || age >= age_ticks, "tick %u: %u old", tick, age);
        cr_assert_leq(age, longest, "tick %u", tick);
        check_ready();
        renewed += aged.ready.tick != before ? 1 : 0;
        before = aged.ready.tick;
    }
    cr_assert_geq(renewed, ticks / longest - 1);
    close_state();
}

Test(aged_state, the_state_given_out_is_old_enough_and_not_much_older)
{
    run(60, 60, 400);
    run(60, 20, 400);
    run(10, 60, 400);
    run(1, 1, 50);
    run(0, 30, 200);
}

/* ---- a simulation that cannot save ---- */

static uint64_t hash_nothing(const ls_sim_config *config, const void *state)
{
    (void)config;
    (void)state;
    return 1;
}

static void *refuse(void *context, size_t bytes)
{
    (void)context;
    return bytes < 1 << 20 ? calloc(1, bytes) : NULL;
}

static void release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* Copies every ten ticks, ten ticks old, of 100. */
static void run_history(const ls_allocator *allocator)
{
    static ls_simulation unsaved;
    unsaved = *ls_arena_simulation();
    unsaved.fields = NULL;
    unsaved.hash = hash_nothing;
    ls_sim_config config = ls_sim_config_default(&unsaved);
    ls_text why;
    ls_status status =
        ls_sim_instance_create(&unsaved, &config, ls_allocator_heap(), &instance, &why);
    cr_assert_eq(status, LS_OK, "%s", why.bytes);
    ls_tick_history *history = NULL;
    status = ls_tick_history_create(config.players, unsaved.input_bytes_max, allocator, &history);
    cr_assert_eq(status, LS_OK);
    ls_aged_state_config ages = {
        .instance = instance, .history = history, .age_ticks = 10, .pause_min_ticks = 10};
    cr_assert_eq(ls_aged_state_init(&aged, &ages, ls_allocator_heap()), LS_OK);
    uint32_t size = 0;
    for (ls_tick tick = 0; tick < 100; tick++) {
        ls_slot_input slots[LS_PLAYERS_MAX] = {{0}};
        ls_tick_inputs all = {.tick = tick, .slot_count = config.players, .slots = slots};
        ls_tick_history_add(history, &all, 0, tick);
        step();
        cr_assert(aged.ready.tick == 0 || tick + 1 - aged.ready.tick >= 10);
        cr_assert_geq(aged.ready.size, size);
        size = aged.ready.size;
    }
    ls_tick_history_destroy(history);
}

Test(aged_state, a_simulation_that_cannot_save_has_a_history_that_goes_so_far)
{
    run_history(ls_allocator_heap());
    cr_assert_geq(aged.ready.tick, 80);
    cr_assert_gt(aged.ready.size, 0);
    cr_assert_null(aged.ready.bytes);
    cr_assert(aged.has_copies);
    close_state();
}

Test(aged_state, a_history_that_has_ended_gives_no_more)
{
    ls_allocator small = {.allocate = refuse, .release = release};
    run_history(&small);
    cr_assert_not(aged.has_copies);
    cr_assert_eq(aged.ready.tick, 0);
    cr_assert_eq(aged.ready.size, 0);
    cr_assert_not(ls_aged_state_is_due(&aged, 1000));
    close_state();
}

Test(aged_state, state_0_is_there_from_the_start)
{
    open_state(60, 60);
    cr_assert_eq(aged.ready.tick, 0);
    cr_assert_eq(aged.ready.state_hash, initial);
    cr_assert_null(aged.ready.bytes);
    for (ls_tick tick = 1; tick < 60; tick++) {
        cr_assert_not(ls_aged_state_is_due(&aged, tick));
    }
    cr_assert(ls_aged_state_is_due(&aged, 60));
    close_state();
}

/* ---- diff_pool ---- */

enum {
    TICKS = 400, /* more than the states that a window keeps whole */
};

static diagnosed_match match;
static ls_diff_pool pool;

static void open(void)
{
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&match, fault_simulation(), &config);
    diagnosed_match_run(&match, TICKS);
    pool = (ls_diff_pool){0};
    cr_assert_eq(
        ls_diff_pool_init(&pool, match.server.instance, match.server.window, ls_allocator_heap()),
        LS_OK);
}

static void close(void)
{
    ls_diff_pool_deinit(&pool);
    diagnosed_match_close(&match);
}

TestSuite(diff_pool, .init = open, .fini = close);

static ls_status claim_place(ls_tick tick, const ls_rerun_outcome *outcome, ls_diff_place **out)
{
    const ls_diff_subject subject = {tick, LS_NO_PASS};
    return ls_diff_pool_claim(&pool, &subject, outcome, out);
}

static ls_diff_place *claim_at(ls_tick tick)
{
    ls_diff_place *place = NULL;
    cr_assert_eq(claim_place(tick, NULL, &place), LS_OK);
    cr_assert_eq(place->held->inspector.tick, tick);
    return place;
}

Test(diff_pool, there_are_two_places_for_each_player_while_they_are_small)
{
    cr_assert_eq(pool.count, 2 * ls_sim_instance_config(match.server.instance)->players);
    cr_assert_eq(pool.count, 4);
}

Test(diff_pool, places_of_one_tick_share_the_state)
{
    ls_diff_place *first = claim_at(TICKS - 3);
    ls_diff_place *second = claim_at(TICKS - 3);
    cr_expect_neq(first->diff, second->diff);
    cr_expect_eq(first->held, second->held);
    ls_diff_pool_release(first);
    cr_expect_eq(second->held->users, 1);
    first = claim_at(TICKS - 4);
    cr_expect_neq(first->held, second->held);
}

Test(diff_pool, no_more_are_given_than_there_are_until_one_is_released)
{
    ls_diff_place *first = claim_at(TICKS);
    ls_diff_place *next = NULL;
    for (uint32_t i = 1; i < pool.count; i++) {
        claim_at(TICKS - i);
    }
    cr_expect_eq(claim_place(TICKS - 9, NULL, &next), LS_FULL);
    cr_expect_null(next);
    ls_diff_pool_release(first);
    next = claim_at(TICKS - 9);
    cr_expect_eq(next, first);
}

Test(diff_pool, a_state_that_has_left_the_window_comes_from_its_rerun)
{
    ls_tick gone = TICKS - 250;
    ls_diff_place *place = NULL;
    cr_assert_eq(claim_place(gone, NULL, &place), LS_NOT_FOUND);
    ls_rerun_outcome outcome = {.figures = {.tick = gone, .live = 5, .fresh = 5},
                                .state = ls_replay_window_state(match.server.window, TICKS)};
    cr_assert_eq(claim_place(gone + 1, &outcome, &place), LS_NOT_FOUND);
    cr_assert_eq(claim_place(gone, &outcome, &place), LS_OK);
    cr_expect_eq(place->held->inspector.tick, gone);
}

Test(diff_pool, a_state_behind_a_pass_comes_from_the_rerun_and_is_another_than_the_ticks)
{
    ls_diff_place *at_the_end = claim_at(TICKS);
    ls_diff_place *place = NULL;
    const uint8_t *state = ls_replay_window_state(match.server.window, TICKS - 1);
    ls_rerun_outcome outcome = {.figures = {.tick = TICKS}, .pass_state = state};
    const ls_diff_subject subject = {TICKS, 1};
    cr_assert_not_null(state);
    outcome.passes.pass_count = 3;
    cr_assert_eq(
        ls_replay_window_hash(match.server.window, TICKS - 1, &outcome.passes.state_hashes[1]),
        LS_OK);
    cr_expect_eq(ls_diff_pool_claim(&pool, &subject, NULL, &place), LS_NOT_FOUND);
    cr_assert_eq(ls_diff_pool_claim(&pool, &subject, &outcome, &place), LS_OK);
    cr_expect_neq(place->held, at_the_end->held);
    cr_expect_eq(place->held->inspector.pass, 1);
    ls_diff_pool_release(place);
    outcome.passes.state_hashes[1] ^= 1; /* it is not what the re-run told */
    cr_expect_eq(ls_diff_pool_claim(&pool, &subject, &outcome, &place), LS_NOT_FOUND);
}

/* ---- a large state ---- */

#if defined(__linux__)

enum {
    LARGE_BYTES = 17 << 20,
    PAGE_BYTES = 4096,
};

static size_t large_bytes(const ls_sim_config *config)
{
    (void)config;
    return LARGE_BYTES;
}

static uint32_t large_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field all = {"cells", "", LS_FIELD_U8, LARGE_BYTES, 1, 0, 0};
    return ls_fields_copy(&all, 1, out, capacity);
}

static ls_status large_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)config;
    (void)state;
    (void)why;
    return LS_OK;
}

static void large_step(const ls_step *step)
{
    ((uint8_t *)step->state)[step->inputs->tick]++;
}

/* Whole pages of the state that is compared which the system has handed out. */
static size_t resident_pages(void)
{
    static unsigned char is_resident[LARGE_BYTES / PAGE_BYTES];
    uint8_t *state = pool.held[0].inspector.state;
    size_t pages = LARGE_BYTES / PAGE_BYTES - 1, count = 0;
    uint8_t *first = state + (PAGE_BYTES - (uintptr_t)state % PAGE_BYTES) % PAGE_BYTES;
    cr_assert_eq(mincore(first, pages * PAGE_BYTES, is_resident), 0);
    for (size_t page = 0; page < pages; page++) {
        count += is_resident[page] & 1u;
    }
    return count;
}

Test(diff_pool, memory_for_a_large_state_is_taken_when_one_is_compared)
{
    static const ls_pass passes[] = {{"step", large_step}};
    static const ls_simulation large = {.abi = LS_SIMULATION_ABI,
                                        .size = sizeof(ls_simulation),
                                        .version = 1,
                                        .name = "large",
                                        .summary = "a large state",
                                        .default_tick_rate_hz = 60,
                                        .default_players = 2,
                                        .players_max = 2,
                                        .input_bytes_max = 1,
                                        .passes = passes,
                                        .pass_count = 1,
                                        .state_bytes = large_bytes,
                                        .fields = large_fields,
                                        .init = large_init};
    close();
    ls_sim_config config = ls_sim_config_default(&large);
    diagnosed_match_open(&match, &large, &config);
    diagnosed_match_run(&match, 3);
    pool = (ls_diff_pool){0};
    cr_assert_eq(
        ls_diff_pool_init(&pool, match.server.instance, match.server.window, ls_allocator_heap()),
        LS_OK);
    cr_expect_leq(resident_pages(), 1);
    ls_diff_place *place = NULL;
    cr_assert_eq(claim_place(2, NULL, &place), LS_OK);
    cr_expect_eq(resident_pages(), LARGE_BYTES / PAGE_BYTES - 1);
    cr_expect_eq(place->held->inspector.state[1], 1);
    cr_expect_eq(place->held->inspector.state[2], 0);
}

#endif

/* ---- tick_history ---- */

enum {
    SLOTS = 4,
    BYTES_MAX = 1000,
};

static uint8_t bytes[SLOTS][BYTES_MAX];

/* Every input of a tick is of `size` bytes that no other tick has. */
static ls_tick_inputs make_tick(ls_tick tick, uint32_t size, ls_slot_input slots[SLOTS])
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        for (uint32_t i = 0; i < size; i++) {
            bytes[slot][i] = (uint8_t)(tick * 31 + slot * 7 + i * (tick | 1));
        }
        slots[slot] = (ls_slot_input){bytes[slot], size, tick == 0 ? LS_EVENT_JOINED : 0};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = SLOTS, .slots = slots};
}

static void destroy_history(void *history)
{
    ls_tick_history_destroy(history);
}

static ls_tick_history *create(void)
{
    ls_tick_history *history = NULL;
    cr_assert_eq(ls_tick_history_create(SLOTS, BYTES_MAX, ls_allocator_heap(), &history), LS_OK);
    return keep_until_end(history, destroy_history);
}

static uint64_t add_ticks(ls_tick_history *history, ls_tick first, ls_tick end, uint32_t size,
                          uint64_t chain)
{
    for (ls_tick tick = first; tick < end; tick++) {
        ls_slot_input slots[SLOTS];
        ls_tick_inputs inputs = make_tick(tick, size, slots);
        chain = ls_tick_chain_next(chain, &inputs);
        ls_tick_history_add(history, &inputs, tick + 1, chain);
    }
    return chain;
}

/* Reads the first `size` bytes back: `count` ticks from 0 on, with this chain behind them. */
static void check_start(const ls_tick_history *history, uint32_t size, ls_tick count,
                        uint64_t expected_chain)
{
    uint8_t *all = malloc(size);
    uint64_t chain = LS_TICK_CHAIN_START;
    ls_tick next = 0;
    ls_tick_history_write(history, all, size);
    for (uint32_t at = 0; at < size;) {
        static ls_tick_block_reader reader;
        uint32_t block = ls_load_u32(all + at);
        cr_assert_leq(block, size - at - 4);
        cr_assert_eq(ls_tick_block_open(&reader, all + at + 4, block, SLOTS, BYTES_MAX), LS_OK);
        ls_slot_input slots[LS_PLAYERS_MAX];
        ls_tick_inputs inputs;
        uint64_t state_hash = 0;
        while (ls_tick_block_next(&reader, slots, &inputs, &state_hash) == LS_OK) {
            cr_assert_eq(inputs.tick, next);
            cr_assert_eq(state_hash, next + 1);
            chain = ls_tick_chain_next(chain, &inputs);
            next++;
        }
        cr_assert_eq(reader.head.chain, chain);
        at += 4 + block;
    }
    cr_assert_eq(next, count);
    cr_assert_eq(chain, expected_chain);
    free(all);
}

static void check(ls_tick_history *history, ls_tick count, uint64_t expected_chain)
{
    check_start(history, ls_tick_history_flush(history), count, expected_chain);
}

TestSuite(tick_history, .fini = destroy_kept);

Test(tick_history, every_tick_comes_back_in_order)
{
    ls_tick_history *history = create();
    uint64_t chain = add_ticks(history, 0, 5000, 3, LS_TICK_CHAIN_START);
    check(history, 5000, chain);
}

Test(tick_history, a_history_goes_on_after_it_was_read)
{
    ls_tick_history *history = create();
    uint64_t chain = add_ticks(history, 0, 10, 3, LS_TICK_CHAIN_START);
    check(history, 10, chain);
    check(history, 10, chain);
    chain = add_ticks(history, 10, 25, 3, chain);
    check(history, 25, chain);
}

Test(tick_history, large_ticks_fill_many_blocks_and_pieces)
{
    ls_tick_history *history = create();
    uint64_t chain = add_ticks(history, 0, 1000, BYTES_MAX, LS_TICK_CHAIN_START);
    cr_assert_gt(ls_tick_history_flush(history), 2u << 20);
    check(history, 1000, chain);
}

Test(tick_history, without_ticks_it_is_empty)
{
    ls_tick_history *history = create();
    cr_assert_eq(ls_tick_history_flush(history), 0);
    ls_tick_history_destroy(NULL);
}

/* ---- when memory is out ---- */

typedef struct few_pieces {
    uint32_t left;
} few_pieces;

static void *allocate_few(void *user, size_t size)
{
    few_pieces *few = user;
    if (few->left == 0) {
        return NULL;
    }
    few->left--;
    return calloc(1, size);
}

static void release_few(void *user, void *memory)
{
    (void)user;
    free(memory);
}

Test(tick_history, without_memory_for_all_of_it_there_is_none_of_it)
{
    few_pieces few = {.left = 2}; /* itself and one piece */
    ls_allocator allocator = {allocate_few, release_few, &few, NULL};
    ls_tick_history *history = NULL;
    cr_assert_eq(ls_tick_history_create(SLOTS, BYTES_MAX, &allocator, &history), LS_OK);
    uint64_t chain = add_ticks(history, 0, 200, BYTES_MAX, LS_TICK_CHAIN_START);
    cr_assert_gt(ls_tick_history_flush(history), 0);
    add_ticks(history, 200, 1000, BYTES_MAX, chain);
    cr_assert_eq(ls_tick_history_flush(history), 0);
    few.left = 100; /* too late */
    add_ticks(history, 1000, 1001, BYTES_MAX, chain);
    cr_assert_eq(ls_tick_history_flush(history), 0);
    ls_tick_history_destroy(history);
}

Test(tick_history, flushed_bytes_stay_what_they_were)
{
    ls_tick_history *history = create();
    uint64_t early = add_ticks(history, 0, 500, 20, LS_TICK_CHAIN_START);
    uint32_t size = ls_tick_history_flush(history);
    uint64_t late = add_ticks(history, 500, 5000, 20, early);
    check(history, 5000, late);
    check_start(history, size, 500, early);
}

/* ---- tick_search ---- */

enum {
    AGREED = 60,
    BAD = 90,
};

/* The sides hold all states from `held` on, and differ from `first` on. */
static uint32_t search_states(ls_tick_search *search, ls_tick first, ls_tick held, bool can_run)
{
    uint32_t asked = 0;
    ls_tick tick = 0;
    *search = (ls_tick_search){0};
    ls_tick_search_begin(search, AGREED, BAD);
    while ((tick = ls_tick_search_state(search)) != 0) {
        ls_tick_search_receive_state(search, tick < held    ? LS_SEARCHED_GONE
                                             : tick < first ? LS_SEARCHED_SAME
                                                            : LS_SEARCHED_DIFFERS);
        asked++;
    }
    if (ls_tick_search_is_held_up(search)) {
        ls_tick_search_go_on(search, can_run);
    }
    return asked;
}

Test(tick_search, the_first_state_is_found_among_those_that_are_held)
{
    ls_tick_search search;
    for (ls_tick first = AGREED + 1; first <= BAD; first++) {
        cr_expect_leq(search_states(&search, first, 0, false), 5);
        cr_expect(ls_tick_search_is_over(&search));
        cr_expect_eq(ls_tick_search_found(&search), first);
    }
}

Test(tick_search, a_state_that_is_gone_ends_it_where_re_runs_do_not_help)
{
    ls_tick_search search;
    search_states(&search, 65, 80, false);
    cr_expect(ls_tick_search_is_over(&search));
    cr_expect_eq(ls_tick_search_found(&search), 0);
    cr_expect_eq(search.same, AGREED);
    cr_expect_eq(search.differs, BAD);
    search_states(&search, 70, 70, false);
    cr_expect_eq(search.same, AGREED);
    cr_expect_eq(search.differs, 75, "what was found out before stays");
}

Test(tick_search, a_state_that_is_gone_is_asked_of_re_runs)
{
    ls_tick_search search;
    ls_rerun_share nowhere = {0};
    ls_tick tick = 0;
    search_states(&search, 70, 70, true);
    cr_expect_not(ls_tick_search_is_over(&search));
    cr_expect_not(ls_tick_search_next(&search, &nowhere, &tick), "there is no host");
    cr_expect(ls_tick_search_is_over(&search));
    cr_expect_eq(search.differs, 75);
}
