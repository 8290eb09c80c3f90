#define _DEFAULT_SOURCE /* mincore */
#include "lockstep/common/simulation/tick_chain.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/server/investigation/diff_pool.h"
#include "lockstep/server/match/aged_state.h"
#include "lockstep/tests/support/diagnosed_match.h"

#include <criterion/criterion.h>
#include <stdlib.h>
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
