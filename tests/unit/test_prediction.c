/* Guesses of ticks, and bots. */
#include "lockstep/client/bots.h"
#include "lockstep/client/session/prediction.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

/* ==== prediction ==== */

enum {
    SLOTS = 3,
    OWN_SLOT = 1,
    TICKS_MAX = 2000,
};

/* A prediction, what it is fed and what it does. */
typedef struct stage {
    ls_sim_instance *instance;
    ls_sim_instance *truth; /* steps what is closed, and nothing else */
    ls_input_buffer *closed;
    ls_input_buffer *own;
    ls_prediction *prediction;
    ls_tick closed_end;
    uint32_t steps;
    uint32_t settled;
    uint32_t hashed; /* settled states that had a state hash */
    uint32_t interval;
} stage;

static stage here;

static void destroy_buffer(void *buffer)
{
    ls_input_buffer_destroy(buffer);
}

static void destroy_prediction(void *prediction)
{
    ls_prediction_destroy(prediction);
}

static ls_input_buffer *make_buffer(uint32_t slots)
{
    ls_input_buffer_config config = {
        .slots = slots, .input_bytes_max = COUNTER_INPUT_BYTES_MAX, .window_ticks = 2048};
    ls_input_buffer *buffer = NULL;
    cr_assert_eq(ls_input_buffer_create(&config, ls_allocator_heap(), &buffer), LS_OK);
    return keep_until_end(buffer, destroy_buffer);
}

static void on_step(void *user, const ls_tick_inputs *inputs)
{
    cr_assert_eq(user, &here);
    here.steps++;
    ls_sim_instance_step(here.instance, inputs);
}

/* The state hash of every settled state is that of the closed ticks. */
static void on_settle(void *user, ls_tick tick, uint64_t state_hash)
{
    cr_assert_eq(user, &here);
    cr_assert_eq(tick, here.settled + 1);
    here.settled = tick;
    ls_slot_input slots[LS_PLAYERS_MAX];
    cr_assert_eq(ls_input_buffer_tick(here.closed, tick - 1, slots), LS_OK);
    ls_sim_instance_step(here.truth, &(ls_tick_inputs){tick - 1, SLOTS, slots});
    if (tick % here.interval != 0) {
        cr_assert_eq(state_hash, 0);
        return;
    }
    here.hashed++;
    cr_assert_eq(state_hash, ls_sim_instance_hash(here.truth), "state %u", tick);
}

static ls_prediction_config config_with(uint32_t ticks, uint32_t interval)
{
    return (ls_prediction_config){.instance = here.instance,
                                  .closed = here.closed,
                                  .own = here.own,
                                  .slot = OWN_SLOT,
                                  .ticks = ticks,
                                  .hash_interval_ticks = interval,
                                  .host = {on_step, on_settle, &here}};
}

static void open_on(const ls_simulation *simulation, uint32_t ticks, uint32_t interval)
{
    here = (stage){.interval = interval};
    ls_sim_config sim = ls_sim_config_default(simulation);
    sim.players = SLOTS;
    here.instance = keep_instance(simulation, &sim);
    here.truth = keep_instance(simulation, &sim);
    here.closed = make_buffer(SLOTS);
    here.own = make_buffer(1);
    ls_prediction_config config = config_with(ticks, interval);
    cr_assert_eq(ls_prediction_create(&config, ls_allocator_heap(), &here.prediction), LS_OK);
    keep_until_end(here.prediction, destroy_prediction);
}

static void open_with(uint32_t ticks, uint32_t interval)
{
    open_on(counter_simulation(), ticks, interval);
}

TestSuite(prediction, .fini = destroy_kept);

static void make_own(ls_tick tick, uint8_t byte)
{
    cr_assert_eq(ls_input_buffer_put(here.own, tick, 0, &byte, 1, 0), LS_OK);
}

/* Closes the next tick: this byte of the own slot, and those of the other two; 0 for no input. */
static void close_tick(uint8_t own, uint8_t first, uint8_t last, uint32_t events)
{
    const uint8_t bytes[SLOTS] = {first, own, last};
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        cr_assert_eq(ls_input_buffer_put(here.closed, here.closed_end, slot, &bytes[slot],
                                         bytes[slot] != 0, slot == 0 ? events : 0),
                     LS_OK);
    }
    here.closed_end++;
}

static void advance_to(ls_tick head)
{
    cr_assert_eq(ls_prediction_advance(here.prediction, here.closed_end, head), LS_OK);
    cr_assert_eq(ls_prediction_settled_tick(here.prediction), here.settled);
}

static ls_tick live(void)
{
    return ls_sim_instance_tick(here.instance);
}

static uint64_t live_total(void)
{
    return ((const counter_state *)ls_sim_instance_view(here.instance))->total;
}

static ls_prediction_figures figures(void)
{
    return ls_prediction_figures_of(here.prediction);
}

/* ---- guessing right ---- */

Test(prediction, a_right_guess_costs_no_step)
{
    open_with(8, 1);
    for (ls_tick tick = 0; tick < 200; tick++) {
        make_own(tick, (uint8_t)(1 + tick));
    }
    close_tick(1, 7, 9, LS_EVENT_JOINED);
    advance_to(6);
    for (ls_tick tick = 1; tick < 200; tick++) {
        close_tick((uint8_t)(1 + tick), 7, 9, 0);
        advance_to(tick + 6 < 200 ? tick + 6 : 200);
    }
    cr_assert_eq(here.settled, 200);
    cr_assert_eq(here.steps, 200);
    cr_assert_eq(here.hashed, 200);
    cr_assert_eq(figures().rollbacks, 0);
    cr_assert_eq(figures().rollback_depth_p99, 0);
    cr_assert_eq(figures().rollback_depth_max, 0);
}

Test(prediction, ones_own_input_is_stepped_as_soon_as_it_is_made)
{
    open_with(8, 1);
    close_tick(0, 2, 0, 0);
    advance_to(1);
    cr_assert_eq(live_total(), 2);
    make_own(1, 100);
    advance_to(2);
    cr_assert_eq(live_total(), 2 + 100 + 2, "and the other's is repeated");
    make_own(2, 50);
    advance_to(3);
    cr_assert_eq(live_total(), 104 + 50 + 2);
    cr_assert_eq(here.settled, 1);
}

Test(prediction, nothing_is_guessed_before_a_tick_is_closed)
{
    open_with(8, 1);
    make_own(0, 1);
    advance_to(5);
    cr_assert_eq(live(), 0);
    cr_assert_eq(here.steps, 0);
}

Test(prediction, a_prediction_goes_as_far_as_it_may_and_is_asked_to)
{
    open_with(3, 1);
    close_tick(0, 0, 0, 0);
    advance_to(2);
    cr_assert_eq(live(), 2);
    advance_to(4);
    cr_assert_eq(live(), 4);
    advance_to(5);
    cr_assert_eq(live(), 4, "three ticks beyond the settled state");
    close_tick(0, 0, 0, 0);
    advance_to(100);
    cr_assert_eq(live(), 5);
    close_tick(0, 0, 0, 0);
    advance_to(4);
    cr_assert_eq(live(), 4, "back again");
    advance_to(0);
    cr_assert_eq(live(), 3, "but not before the settled state");
    cr_assert_eq(figures().rollbacks, 0);
}

/* ---- guessing wrong ---- */

Test(prediction, a_wrong_guess_is_thrown_away_with_all_that_followed)
{
    open_with(8, 1);
    close_tick(0, 5, 0, 0);
    advance_to(7);
    cr_assert_eq(here.steps, 7);
    cr_assert_eq(live_total(), 7 * 5);
    close_tick(0, 5, 0, 0);
    advance_to(7);
    cr_assert_eq(here.steps, 7);
    close_tick(0, 6, 0, 0); /* tick 2: five guesses were out */
    advance_to(8);
    cr_assert_eq(figures().rollbacks, 1);
    cr_assert_eq(figures().rollback_ticks, 5);
    cr_assert_eq(figures().rollback_depth_max, 5);
    cr_assert_eq(figures().rollback_depth_p99, 5);
    cr_assert_eq(here.steps, 7 + 6);
    cr_assert_eq(live(), 8);
    cr_assert_eq(live_total(), 5 + 5 + 6 * 6);
}

Test(prediction, several_closed_ticks_at_once_are_one_rollback)
{
    open_with(8, 1);
    close_tick(0, 5, 0, 0);
    advance_to(9);
    close_tick(0, 5, 0, 0);
    close_tick(0, 6, 0, 0);
    close_tick(0, 7, 0, 0);
    close_tick(0, 7, 0, 0);
    advance_to(9);
    cr_assert_eq(figures().rollbacks, 1);
    cr_assert_eq(figures().rollback_ticks, 7);
    cr_assert_eq(here.steps, 9 + 7);
    cr_assert_eq(live_total(), 5 + 5 + 6 + 7 * 6);
}

Test(prediction, depths_have_a_percentile)
{
    open_with(4, 1);
    close_tick(0, 1, 0, 0);
    for (uint32_t i = 0; i < 200; i++) {
        advance_to(here.closed_end + (i == 100 ? 4 : i % 2 ? 1 : 2));
        close_tick(0, (uint8_t)(2 + i % 2), 0, 0);
    }
    advance_to(here.closed_end);
    cr_assert_eq(figures().rollbacks, 200);
    cr_assert_eq(figures().rollback_depth_p99, 2);
    cr_assert_eq(figures().rollback_depth_max, 4);
    cr_assert_eq(figures().rollback_ticks, 100 * 1 + 99 * 2 + 4);
}

Test(prediction, an_own_input_that_the_server_replaced_is_a_wrong_guess)
{
    open_with(8, 1);
    close_tick(3, 0, 0, 0);
    make_own(1, 4);
    make_own(2, 4);
    advance_to(3);
    close_tick(3, 0, 0, 0); /* it came too late and was repeated */
    advance_to(3);
    cr_assert_eq(figures().rollbacks, 1);
    cr_assert_eq(live_total(), 3 + 3 + 4);
}

/* Ticks that were closed before this player could make an input for them. */
Test(prediction, an_own_input_that_was_never_made_is_guessed_like_the_others)
{
    open_with(8, 1);
    close_tick(3, 0, 0, 0);
    advance_to(3);
    cr_assert_eq(live_total(), 3 * 3);
    close_tick(3, 0, 0, 0);
    close_tick(3, 0, 0, 0);
    advance_to(3);
    cr_assert_eq(figures().rollbacks, 0);
}

Test(prediction, an_own_input_that_is_gone_counts_as_a_wrong_guess)
{
    open_with(8, 1);
    close_tick(3, 0, 0, 0);
    make_own(1, 4);
    advance_to(2);
    ls_input_buffer_forget_before(here.own, 2);
    close_tick(4, 0, 0, 0);
    advance_to(2);
    cr_assert_eq(figures().rollbacks, 1);
    cr_assert_eq(live_total(), 3 + 4);
}

Test(prediction, an_event_was_not_foreseen)
{
    open_with(8, 1);
    close_tick(0, 1, 0, LS_EVENT_JOINED);
    advance_to(4);
    close_tick(0, 1, 0, LS_EVENT_LEFT);
    advance_to(4);
    cr_assert_eq(figures().rollbacks, 1);
    const counter_state *state = ls_sim_instance_view(here.instance);
    cr_assert_eq(state->joins, 1, "guesses repeat inputs, not events");
    cr_assert_eq(state->leaves, 1);
}

/* ---- habits ---- */

/* An order is played once; after a few of them, none is expected to be repeated. */
Test(prediction, orders_are_not_repeated)
{
    open_with(8, 1);
    close_tick(0, 0, 0, 0);
    for (uint32_t i = 0; i < 20; i++) {
        advance_to(here.closed_end + 4);
        close_tick(0, i % 5 == 0 ? 9 : 0, 0, 0);
    }
    uint64_t before = figures().rollbacks;
    for (uint32_t i = 0; i < 100; i++) {
        advance_to(here.closed_end + 4);
        close_tick(0, i % 5 == 0 ? 9 : 0, 0, 0);
    }
    cr_assert_eq(figures().rollbacks - before, 20, "one for each order");
}

Test(prediction, a_pad_that_is_held_is_repeated)
{
    open_with(8, 1);
    close_tick(0, 0, 0, 0);
    for (uint32_t i = 0; i < 100; i++) {
        advance_to(here.closed_end + 4);
        close_tick(0, i / 10 % 2 == 0 ? 9 : 0, 0, 0);
    }
    cr_assert_eq(figures().rollbacks, 10, "one for each press and each release");
}

/* ---- the settled state ---- */

Test(prediction, guesses_can_be_dropped)
{
    open_with(8, 1);
    close_tick(0, 4, 0, 0);
    advance_to(6);
    cr_assert_eq(ls_prediction_drop_guesses(here.prediction), LS_OK);
    cr_assert_eq(live(), 1);
    cr_assert_eq(ls_sim_instance_hash(here.instance), ls_sim_instance_hash(here.truth));
    cr_assert_eq(ls_prediction_drop_guesses(here.prediction), LS_OK);
    advance_to(6);
    cr_assert_eq(live_total(), 6 * 4);
}

/* As after a snapshot: nothing is known of the ticks before it. */
Test(prediction, a_prediction_begins_anew_where_the_state_is)
{
    open_with(8, 1);
    for (uint32_t i = 0; i < 20; i++) {
        close_tick(1, 2, 3, 0);
        advance_to(here.closed_end + 4);
    }
    cr_assert_eq(ls_prediction_drop_guesses(here.prediction), LS_OK);
    ls_input_buffer_restart(here.closed, here.closed_end);
    ls_prediction_restart(here.prediction, 2);
    cr_assert_eq(ls_prediction_settled_tick(here.prediction), 20);
    advance_to(30);
    cr_assert_eq(live(), 20, "nobody knows who takes part");
    uint64_t before = live_total();
    make_own(21, 9);
    close_tick(1, 2, 3, 0);
    advance_to(22);
    cr_assert_eq(live(), 22);
    cr_assert_eq(live_total(), before + 6 + 1 + 2 + 9, "another slot is its own now");
    close_tick(1, 2, 9, 0);
    advance_to(23);
    cr_assert_eq(here.settled, 22);
}

Test(prediction, a_long_gap_is_caught_up_in_several_calls_without_a_guess)
{
    open_with(8, 1);
    for (uint32_t i = 0; i < 150; i++) {
        close_tick(0, (uint8_t)(1 + i % 7), 0, 0);
    }
    advance_to(160);
    cr_assert_eq(here.settled, LS_PREDICTION_CLOSED_STEPS_MAX);
    cr_assert_eq(live(), here.settled);
    advance_to(160);
    cr_assert_eq(live(), 2 * LS_PREDICTION_CLOSED_STEPS_MAX);
    advance_to(160);
    cr_assert_eq(here.settled, 150);
    cr_assert_eq(live(), 158);
}

/* Inputs are closed at random moments: every state hash is that of a run that never guessed
 * (on_settle). */
static void play_at_random(uint32_t ticks, uint32_t interval, uint64_t seed)
{
    open_with(ticks, interval);
    ls_rng rng = ls_rng_make(seed, 1);
    ls_tick made = 0;
    uint8_t others[2] = {0};
    while (here.closed_end < TICKS_MAX) {
        uint32_t closed = ls_rng_below(&rng, 4);
        for (uint32_t i = 0; i < closed; i++) {
            bool is_late = ls_rng_below(&rng, 10) == 0;
            uint8_t own = is_late ? 0 : (uint8_t)(1 + here.closed_end % 50);
            for (uint32_t other = 0; other < 2; other++) {
                bool is_change = ls_rng_below(&rng, 8) == 0;
                others[other] = is_change ? (uint8_t)ls_rng_below(&rng, 4) : others[other];
            }
            uint32_t events = ls_rng_below(&rng, 50) == 0 ? LS_EVENT_JOINED : 0;
            close_tick(own, others[0], others[1], events);
        }
        for (; made < here.closed_end + ls_rng_below(&rng, 2 * ticks + 1); made++) {
            make_own(made, (uint8_t)(1 + made % 50));
        }
        advance_to(made);
        cr_assert_leq(live() - here.settled, ticks);
        cr_assert_geq(live(), here.settled);
    }
    ls_prediction_figures all = figures();
    cr_assert_gt(all.rollbacks, 0);
    cr_assert_leq(all.rollback_depth_max, ticks);
    cr_assert_eq(here.steps, live() + all.rollback_ticks, "no step without a reason");
}

Test(prediction, every_settled_state_is_that_of_the_closed_ticks)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        play_at_random(1, 1, seed);
        play_at_random(8, 1, seed);
        play_at_random(8, 7, seed);
        play_at_random(LS_PREDICT_TICKS_MAX, 3, seed);
    }
}

/* ---- what it may cost, and what it cannot do ---- */

Test(prediction, every_failed_allocation_is_survived)
{
    open_with(8, 1);
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_prediction *prediction = NULL;
        ls_prediction_config config = config_with(8, 1);
        refused.status = ls_prediction_create(&config, &refused.counting.allocator, &prediction);
        cr_assert_eq(prediction != NULL, refused.status == LS_OK);
        ls_prediction_destroy(prediction);
    }
}

Test(prediction, more_ticks_than_it_can_hold_are_a_mistake, .signal = SIGABRT)
{
    open_with(LS_PREDICT_TICKS_MAX + 1, 1);
}

/* ---- an engine of somebody else's ---- */

static bool can_load;
static size_t grown_bytes;

static uint64_t engine_hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    return 1 + ((const counter_state *)state)->total;
}

static size_t engine_save(const ls_sim_config *config, const void *state, uint8_t *bytes,
                          size_t capacity)
{
    (void)config;
    size_t size = sizeof(counter_state) + grown_bytes;
    if (size <= capacity) {
        memcpy(bytes, state, sizeof(counter_state));
    }
    return size;
}

static ls_status engine_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                             size_t size)
{
    (void)config;
    (void)size;
    memcpy(state, bytes, can_load ? sizeof(counter_state) : 0);
    return can_load ? LS_OK : LS_PLUGIN;
}

static void open_engine(void)
{
    can_load = true;
    grown_bytes = 0;
    static ls_simulation simulation;
    simulation = *counter_simulation();
    simulation.fields = NULL;
    simulation.hash = engine_hash;
    simulation.save = engine_save;
    simulation.load = engine_load;
    open_on(&simulation, 8, 1);
}

Test(prediction, a_state_grown_too_large_to_save_is_not_guessed_from)
{
    open_engine();
    close_tick(0, 1, 0, 0);
    advance_to(4);
    cr_assert_eq(live(), 4);
    grown_bytes = 100000;
    advance_to(6);
    cr_assert_eq(live(), 4);
    for (uint32_t i = 0; i < 6; i++) {
        close_tick(0, 2, 0, 0);
        advance_to(20);
    }
    cr_assert_eq(live(), 7, "closed ticks are played all the same");
    grown_bytes = 0;
    advance_to(20);
    cr_assert_eq(live(), 15);
}

Test(prediction, an_engine_that_cannot_load_says_so)
{
    open_engine();
    close_tick(0, 1, 0, 0);
    advance_to(4);
    can_load = false;
    close_tick(0, 2, 0, 0);
    cr_assert_eq(ls_prediction_advance(here.prediction, here.closed_end, 5), LS_PLUGIN);
    cr_assert_eq(ls_prediction_drop_guesses(here.prediction), LS_PLUGIN);
}

/* ==== bots ==== */

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
