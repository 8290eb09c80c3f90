#include "lockstep/client/bots.h"

#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

enum {
    TICKS = 300
};

/* One tick in which `slot` plays these bytes; everybody joins at tick 0. */
static void step(ls_sim_instance *instance, uint32_t slot, const uint8_t *bytes, uint32_t size)
{
    ls_slot_input slots[LS_PLAYERS_MAX] = {{0}};
    uint32_t players = ls_sim_instance_config(instance)->players;
    ls_tick tick = ls_sim_instance_tick(instance);
    for (uint32_t i = 0; i < players; i++) {
        slots[i].events = tick == 0 ? LS_EVENT_JOINED : 0;
    }
    slots[slot].bytes = bytes;
    slots[slot].size = size;
    ls_tick_inputs inputs = {.tick = tick, .slot_count = players, .slots = slots};
    ls_sim_instance_step(instance, &inputs);
}

/* The state hash after TICKS in which a bot played, and how many bytes it sent. */
static uint64_t play(const ls_simulation *simulation, uint64_t seed, uint32_t *sent)
{
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    ls_sim_instance *instance = keep_instance(simulation, NULL);
    ls_bot bot = ls_bot_make(seed);
    *sent = 0;
    for (int i = 0; i < TICKS; i++) {
        memset(bytes, 0xcc, sizeof bytes);
        uint32_t size = ls_bot_input(&bot, instance, 0, bytes);
        cr_assert_leq(size, simulation->input_bytes_max);
        cr_assert_eq(bytes[simulation->input_bytes_max], 0xcc);
        step(instance, 0, bytes, size);
        *sent += size;
    }
    return ls_sim_instance_hash(instance);
}

TestSuite(bots, .fini = destroy_kept);

Test(bots, the_same_seed_plays_the_same_and_another_one_does_not)
{
    const ls_simulation *const simulations[] = {counter_simulation(), ls_arena_simulation(),
                                                ls_units_simulation()};
    for (size_t i = 0; i < 3; i++) {
        uint32_t sent = 0;
        uint64_t state_hash = play(simulations[i], 7, &sent);
        cr_assert_gt(sent, 0, "%s: a bot that does nothing", simulations[i]->name);
        cr_assert_eq(play(simulations[i], 7, &sent), state_hash);
        cr_assert_neq(play(simulations[i], 8, &sent), state_hash);
    }
}

Test(bots, without_a_bot_of_its_own_a_simulation_gets_random_bytes_that_are_held)
{
    uint8_t bytes[COUNTER_INPUT_BYTES_MAX];
    uint8_t before[COUNTER_INPUT_BYTES_MAX];
    uint32_t size_before = 0;
    uint32_t changes = 0;
    bool has_size[COUNTER_INPUT_BYTES_MAX + 1] = {false};
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_bot bot = ls_bot_make(3);
    for (int i = 0; i < 4000; i++) {
        uint32_t size = ls_bot_input(&bot, instance, 0, bytes);
        cr_assert_leq(size, COUNTER_INPUT_BYTES_MAX);
        changes += size != size_before || memcmp(bytes, before, size) != 0;
        has_size[size] = true;
        size_before = size;
        memcpy(before, bytes, size);
    }
    cr_assert(changes > 350 && changes < 650, "%u changes in 4,000 ticks", changes);
    for (uint32_t size = 0; size <= COUNTER_INPUT_BYTES_MAX; size++) {
        cr_assert(has_size[size], "size %u never came", size);
    }
}

/* ---- delayed bots ---- */

Test(bots, a_delayed_bot_answers_each_state_so_many_ticks_later)
{
    static ls_delayed_bot delayed;
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    uint8_t expected[LS_INPUT_BYTES_MAX];
    uint32_t size = 99;
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_bot bot = ls_bot_make(5);
    ls_delayed_bot_init(&delayed, 5, 4);
    for (ls_tick tick = 0; tick <= 4; tick++) {
        cr_assert(ls_delayed_bot_input(&delayed, tick, bytes, &size));
        cr_assert_eq(size, 0, "there is nothing yet to answer");
    }
    for (ls_tick tick = 1; tick < 1000; tick++) {
        cr_assert_not(ls_delayed_bot_input(&delayed, tick + 4, bytes, &size));
        cr_assert_eq(size, 0);
        step(instance, 0, NULL, 0);
        uint32_t expected_size = ls_bot_input(&bot, instance, 0, expected);
        ls_delayed_bot_observe(&delayed, instance, 0);
        cr_assert(ls_delayed_bot_input(&delayed, tick + 4, bytes, &size));
        cr_assert_eq(size, expected_size);
        cr_assert_arr_eq(bytes, expected, size);
    }
}

Test(bots, a_delayed_bot_remembers_as_long_as_it_says)
{
    static ls_delayed_bot delayed;
    static uint8_t made[1000][LS_INPUT_BYTES_MAX];
    static uint32_t sizes[1000];
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    uint32_t size = 0;
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_delayed_bot_init(&delayed, 5, LS_BOT_DELAY_TICKS_MAX - 1);
    for (ls_tick tick = 1; tick < 500; tick++) {
        ls_tick answered = tick + LS_BOT_DELAY_TICKS_MAX - 1;
        step(instance, 0, NULL, 0);
        ls_delayed_bot_observe(&delayed, instance, 0);
        cr_assert(ls_delayed_bot_input(&delayed, answered, made[answered], &sizes[answered]));
    }
    ls_tick newest = 499 + LS_BOT_DELAY_TICKS_MAX - 1;
    for (ls_tick tick = newest - LS_BOT_DELAY_TICKS_MAX + 1; tick <= newest; tick++) {
        cr_assert(ls_delayed_bot_input(&delayed, tick, bytes, &size));
        cr_assert_eq(size, sizes[tick]);
        cr_assert_arr_eq(bytes, made[tick], size);
    }
    cr_assert_not(ls_delayed_bot_input(&delayed, newest - LS_BOT_DELAY_TICKS_MAX, bytes, &size));
}

/* With prediction a state is shown that was only guessed, and then the one that it really was. */
Test(bots, a_delayed_bot_answers_a_repeated_step_anew)
{
    static ls_delayed_bot delayed;
    static ls_delayed_bot straight;
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    uint8_t expected[LS_INPUT_BYTES_MAX];
    uint32_t size = 0;
    uint32_t expected_size = 1;
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    ls_sim_instance *astray = keep_instance(counter_simulation(), NULL);
    ls_delayed_bot_init(&delayed, 5, 20);
    ls_delayed_bot_init(&straight, 5, 20);
    for (ls_tick tick = 1; tick < 600; tick++) {
        step(instance, 0, NULL, 0);
        ls_delayed_bot_observe(&straight, instance, 0);
        ls_delayed_bot_observe(&delayed, instance, 0);
        uint8_t saved[4096];
        cr_assert_leq(ls_sim_instance_save_bytes(instance), sizeof saved);
        cr_assert_eq(ls_sim_instance_save(instance, saved), LS_OK);
        cr_assert_eq(
            ls_sim_instance_load(astray, saved, ls_sim_instance_save_bytes(instance), tick), LS_OK);
        for (uint32_t i = 0; i < tick % 7; i++) {
            step(astray, 0, NULL, 0);
            ls_delayed_bot_observe(&delayed, astray, 0);
        }
        cr_assert(ls_delayed_bot_input(&straight, tick + 20, expected, &expected_size));
        cr_assert(ls_delayed_bot_input(&delayed, tick + 20, bytes, &size));
        cr_assert_eq(size, expected_size);
        cr_assert_arr_eq(bytes, expected, size);
    }
}

Test(bots, a_bot_without_delay_is_no_delayed_bot, .signal = SIGABRT)
{
    static ls_delayed_bot delayed;
    ls_delayed_bot_init(&delayed, 5, 0);
}

Test(bots, crew_plays_as_its_bots_do_alone)
{
    static ls_bot_crew crew;
    ls_sim_instance *instance = keep_instance(ls_arena_simulation(), NULL);
    ls_bot_crew_init(&crew, 7);
    ls_bot alone = ls_bot_make(8);
    for (ls_tick tick = 0; tick < 100; tick++) {
        uint8_t bytes[LS_INPUT_BYTES_MAX];
        uint32_t size = ls_bot_input(&alone, instance, 1, bytes);
        ls_tick_inputs inputs = ls_bot_crew_inputs(&crew, instance);
        cr_assert_eq(inputs.slot_count, ls_sim_instance_config(instance)->players);
        cr_assert_eq(inputs.slots[1].size, size);
        cr_assert_eq(memcmp(inputs.slots[1].bytes, bytes, size), 0);
        cr_assert_eq(inputs.slots[1].events, tick == 0 ? LS_EVENT_JOINED : 0u);
        ls_sim_instance_step(instance, &inputs);
    }
}
