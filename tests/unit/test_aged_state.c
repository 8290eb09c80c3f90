#include "lockstep/server/match/aged_state.h"

#include "lockstep/common/simulation/tick_chain.h"
#include "lockstep/common/simulations/arena/arena.h"

#include <criterion/criterion.h>
#include <stdlib.h>

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
