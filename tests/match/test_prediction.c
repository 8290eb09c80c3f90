/* Clients that play ahead of the server: whatever they guess, every state that they call theirs is
 * the server's, their own input shows at once, and what they cannot guess is played again. */
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/counting_allocator.h"

enum {
    PREDICT_TICKS = 12,
    SEEDS = 3,
};

static virtual_setup setup_with(const ls_simulation *simulation, uint32_t players, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(simulation, players, ticks);
    setup.predict_ticks = PREDICT_TICKS;
    setup.link.delay_ns = 50 * MS;
    return setup;
}

/* It did guess, and some of its guesses were wrong. */
static void check_predicted(const virtual_client *client)
{
    ls_session_report report = report_of(client);
    cr_assert(report.has_prediction);
    cr_assert_gt(report.rollbacks, 0);
    cr_assert_leq(report.rollback_depth_max, LS_PREDICT_TICKS_MAX);
    cr_assert_leq(report.rollback_depth_p99, report.rollback_depth_max);
    cr_assert_geq(report.rollback_ticks, report.rollbacks);
    cr_assert_geq(report.steps, report.tick + report.rollback_ticks);
    cr_assert_eq(report.shown_tick, report.tick, "nothing is guessed beyond the end");
}

static void play(virtual_setup *setup)
{
    for (setup->seed = 1; setup->seed <= SEEDS; setup->seed++) {
        virtual_match *run = checked_match_create(setup);
        play_and_check(run);
        cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 0);
        for (uint32_t i = 0; i < run->client_count; i++) {
            check_predicted(run->clients[i]);
        }
        virtual_match_destroy(run);
    }
}

/* ---- agreement ---- */

Test(prediction, arena_under_loss)
{
    virtual_setup setup = setup_with(ls_arena_simulation(), 4, 600);
    setup.link.loss_ppm = 50000;
    play(&setup);
}

Test(prediction, test_simulation_under_loss)
{
    virtual_setup setup = setup_with(test_simulation(), 4, 1500); /* longer than any window */
    setup.link.loss_ppm = 50000;
    play(&setup);
}

Test(prediction, units_with_their_orders)
{
    virtual_setup setup = setup_with(ls_units_simulation(), 3, 200);
    set_param(&setup, "units=200");
    play(&setup);
}

Test(prediction, any_impairments)
{
    virtual_setup setup = setup_with(ls_arena_simulation(), 3, 400);
    setup.link = (ls_link_config){
        .delay_ns = 40 * MS, .jitter_ns = 80 * MS, .loss_ppm = 200000, .duplicate_ppm = 200000};
    play(&setup);
}

Test(prediction, hashes_of_every_seventh_state)
{
    virtual_setup setup = setup_with(test_simulation(), 4, 400);
    setup.match.hash_interval_ticks = 7;
    play(&setup);
}

Test(prediction, the_rule_wait)
{
    virtual_setup setup = setup_with(test_simulation(), 3, 400);
    setup.match.late_rule = LS_LATE_WAIT;
    setup.link.loss_ppm = 100000;
    play(&setup);
}

Test(prediction, any_depth)
{
    static const uint32_t depths[] = {1, 2, 31, LS_PREDICT_TICKS_MAX};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        virtual_setup setup = setup_with(test_simulation(), 3, 200);
        setup.predict_ticks = depths[i];
        setup.link = (ls_link_config){.delay_ns = 150 * MS, .loss_ppm = 50000};
        play(&setup);
    }
}

Test(prediction, beside_clients_without_it)
{
    virtual_setup setup = setup_with(ls_arena_simulation(), 0, 600);
    setup.match.sim.players = 4;
    setup.link.loss_ppm = 20000;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 4; i++) {
        static const uint32_t frame_rates[] = {60, 144, 20, 240};
        virtual_client_setup client = virtual_client_setup_default(run);
        client.session.predict_ticks = i % 2 == 0 ? 8 : 0;
        client.frame_hz = frame_rates[i];
        client.session.keeps_previous_state = true;
        virtual_match_add_client(run, &client);
    }
    play_and_check(run);
    check_predicted(run->clients[0]);
    check_predicted(run->clients[2]);
    cr_assert_not(report_of(run->clients[1]).has_prediction);
    cr_assert_eq(report_of(run->clients[1]).steps, 600);
    virtual_match_destroy(run);
}

/* The rule wait closes every input as it was made, and bots of the test simulation do not look at
 * the state: what is closed is the same with and without. */
static uint64_t final_hash(uint32_t predict_ticks)
{
    virtual_setup setup = setup_with(test_simulation(), 3, 300);
    setup.match.late_rule = LS_LATE_WAIT;
    setup.predict_ticks = predict_ticks;
    virtual_match *run = checked_match_create(&setup);
    play_and_check(run);
    uint64_t state_hash = ls_match_hash(run->match);
    virtual_match_destroy(run);
    return state_hash;
}

Test(prediction, changes_no_state)
{
    uint64_t state_hash = final_hash(0);
    cr_assert_eq(final_hash(1), state_hash);
    cr_assert_eq(final_hash(PREDICT_TICKS), state_hash);
}

/* ---- what it is for ---- */

Test(prediction, ones_own_input_shows_at_once)
{
    virtual_setup setup = setup_with(test_simulation(), 2, 0);
    virtual_match *run = match_at(&setup, 120);
    for (uint32_t frame = 0; frame < 60; frame++) {
        virtual_match_run(run, SECOND / 60);
        ls_session_report report = report_of(run->clients[0]);
        cr_assert_eq(report.shown_tick, report.next_input);
        cr_assert_geq(report.shown_tick, report.tick + 6, "a round trip is six ticks");
    }
    cr_assert_eq(report_of(run->clients[0]).stalled_ticks, 0);
    virtual_match_destroy(run);
}

Test(prediction, goes_as_far_as_it_may)
{
    virtual_setup setup = setup_with(test_simulation(), 2, 0);
    setup.predict_ticks = 2;
    virtual_match *run = match_at(&setup, 120);
    for (uint32_t frame = 0; frame < 60; frame++) {
        virtual_match_run(run, SECOND / 60);
        ls_session_report report = report_of(run->clients[0]);
        cr_assert_eq(report.shown_tick, report.tick + 2);
    }
    virtual_match_destroy(run);
}

Test(prediction, a_tick_that_cannot_be_guessed_any_more_is_a_stall)
{
    virtual_setup setup = setup_with(test_simulation(), 2, 0);
    virtual_match *run = match_at(&setup, 120);
    ls_link_config usual = setup.link;
    ls_link_config cut = {.is_cut = true};
    ls_memory_client_set_links(run->clients[0]->transport, &usual, &cut);
    virtual_match_run(run, SECOND / 2); /* 30 ticks, and a guess had already been made for some */
    ls_session_report report = report_of(run->clients[0]);
    cr_assert_eq(report.shown_tick, report.tick + PREDICT_TICKS);
    cr_assert_geq(report.stalled_ticks, 30 - PREDICT_TICKS);
    cr_assert_leq(report.stalled_ticks, 30);
    virtual_match_destroy(run);
}

Test(prediction, more_guesses_are_suggested_where_they_do_not_cover_the_way)
{
    virtual_setup setup = setup_with(test_simulation(), 2, 0);
    virtual_match *run = match_at(&setup, 300);
    cr_expect_eq(report_of(run->clients[0]).suggested_predict_ticks, 0, "they cover 100 ms");
    virtual_match_destroy(run);
    setup.predict_ticks = 5;
    run = match_at(&setup, 300);
    uint32_t suggested = report_of(run->clients[0]).suggested_predict_ticks;
    cr_expect(suggested >= 7 && suggested <= PREDICT_TICKS, "%u", suggested);
    virtual_match_destroy(run);
    setup.predict_ticks = suggested;
    run = match_at(&setup, 300);
    cr_expect_eq(report_of(run->clients[0]).suggested_predict_ticks, 0);
    virtual_match_destroy(run);
}

/* No input changes: there is nothing to guess wrong after the joins. */
Test(prediction, a_player_that_holds_still_is_guessed_right)
{
    virtual_setup setup = setup_with(test_simulation(), 4, 300);
    set_param(&setup, "bytes=0");
    virtual_match *run = checked_match_create(&setup);
    play_and_check(run);
    for (uint32_t i = 0; i < 4; i++) {
        ls_session_report report = report_of(run->clients[i]);
        cr_assert_eq(report.rollbacks, 0);
        cr_assert_lt(report.steps, 300 + 2 * PREDICT_TICKS, "but for what lay beyond the end");
    }
    virtual_match_destroy(run);
}

/* ---- what comes otherwise than guessed ---- */

/* This player's link stands still for a while: the server repeats its input, and it plays the
 * ticks again as they were closed. */
Test(prediction, an_own_input_that_came_too_late_is_taken_back)
{
    virtual_setup setup = setup_with(test_simulation(), 2, 400);
    virtual_match *run = match_at(&setup, 150);
    ls_link_config slow = {.delay_ns = 120 * MS};
    ls_link_config usual = setup.link;
    ls_memory_client_set_links(run->clients[0]->transport, &slow, &usual);
    play_and_check(run);
    cr_assert_gt(seat_of(run->clients[0]).inputs_substituted, 0);
    check_predicted(run->clients[0]);
    virtual_match_destroy(run);
}

Test(prediction, a_player_who_leaves_was_not_foreseen)
{
    virtual_setup setup = setup_with(test_simulation(), 3, 300);
    set_param(&setup, "bytes=0");
    virtual_match *run = match_at(&setup, 100);
    virtual_client_leave(run->clients[2]);
    virtual_match_run_to_end(run);
    check_sound(run);
    for (uint32_t i = 0; i < 2; i++) {
        check_played_to_the_end(run, run->clients[i]);
        cr_assert_eq(report_of(run->clients[i]).rollbacks, 1);
    }
    ls_session_report left = report_of(run->clients[2]);
    cr_assert_eq(left.shown_tick, left.tick, "what it only guessed is dropped when it leaves");
    virtual_match_destroy(run);
}

static void leave_as_planned(uint32_t frame_hz)
{
    virtual_setup setup = setup_with(test_simulation(), 0, 300);
    setup.match.sim.players = 2;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 2; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        client.frame_hz = frame_hz;
        client.session.ticks = i == 0 ? 100 : 0;
        virtual_match_add_client(run, &client);
    }
    virtual_match_run_to_end(run);
    check_sound(run);
    ls_session_report left = report_of(run->clients[0]);
    cr_assert_eq(left.status, LS_OK);
    cr_assert_eq(left.tick, 100);
    cr_assert_eq(left.shown_tick, 100);
    check_played_to_the_end(run, run->clients[1]);
    virtual_match_destroy(run);
}

Test(prediction, a_player_who_leaves_as_planned_leaves_a_settled_state)
{
    leave_as_planned(60);
    leave_as_planned(7); /* many ticks a frame: the planned one is passed in the midst of one */
}

/* A frozen machine comes back: it takes what was closed meanwhile without a guess, then goes on. */
Test(prediction, a_machine_that_stood_still_catches_up)
{
    virtual_setup setup = setup_with(ls_arena_simulation(), 2, 700);
    virtual_match *run = match_at(&setup, 100);
    run->clients[0]->is_paused = true;
    virtual_match_run(run, 5 * SECOND);
    run->clients[0]->is_paused = false;
    virtual_match_run(run, SECOND);
    ls_session_report report = report_of(run->clients[0]);
    cr_assert_eq(report.shown_tick, report.next_input);
    cr_assert_geq(report.tick + 10, ls_match_tick(run->match));
    play_out(run);
}

/* ---- desyncs ---- */

static void flip_and_check(uint32_t interval, ls_tick tick)
{
    virtual_setup setup = setup_with(test_simulation(), 3, 250);
    setup.match.hash_interval_ticks = interval;
    setup.match.on_desync = LS_ON_DESYNC_REPORT;
    setup.link.loss_ppm = 50000;
    virtual_match *run = checked_match_create(&setup);
    flip_bit(run->clients[1], tick, 20);
    virtual_match_run_to_end(run);
    check_sound(run);
    ls_tick due = (tick + interval - 1) / interval * interval;
    due = due < 250 ? due : 250;
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 1);
    cr_assert_eq(client_check_of(run->clients[1])->state_difference_tick, tick);
    cr_assert_eq(seat_of(run->clients[1]).desync_tick, due);
    virtual_match_destroy(run);
}

Test(prediction, hides_no_desync)
{
    static const ls_tick ticks[] = {1, 2, 100, 101, 249, 250};
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
        flip_and_check(1, ticks[i]);
        flip_and_check(7, ticks[i]);
    }
}

/* ---- simulations that hash by callback ---- */

/* The test simulation, as if it wrapped a foreign engine. */
static uint64_t engine_hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    return ls_hash_bytes(state, sizeof(test_simulation_state), 0);
}

static size_t engine_save(const ls_sim_config *config, const void *state, uint8_t *bytes,
                          size_t capacity)
{
    (void)config;
    if (capacity >= sizeof(test_simulation_state)) {
        memcpy(bytes, state, sizeof(test_simulation_state));
    }
    return sizeof(test_simulation_state);
}

static ls_status engine_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                             size_t size)
{
    (void)config;
    memcpy(state, bytes, size);
    return LS_OK;
}

static ls_status refuse_to_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                                size_t size)
{
    (void)config;
    (void)state;
    (void)bytes;
    (void)size;
    return LS_PLUGIN;
}

static ls_simulation engine_simulation(void)
{
    ls_simulation simulation = *test_simulation();
    simulation.fields = NULL;
    simulation.hash = engine_hash;
    simulation.save = engine_save;
    simulation.load = engine_load;
    return simulation;
}

Test(prediction, an_engine_that_saves_is_predicted)
{
    ls_simulation simulation = engine_simulation();
    virtual_setup setup = setup_with(&simulation, 2, 200);
    virtual_match *run = checked_match_create(&setup);
    play_and_check(run);
    check_predicted(run->clients[0]);
    cr_assert_eq(virtual_client_count(run->clients[0], LS_SESSION_EVENT_UNPREDICTED), 0);
    virtual_match_destroy(run);
}

Test(prediction, an_engine_that_cannot_save_plays_without)
{
    ls_simulation simulation = engine_simulation();
    simulation.save = NULL;
    simulation.load = NULL;
    virtual_setup setup = setup_with(&simulation, 2, 200);
    virtual_match *run = checked_match_create(&setup);
    play_and_check(run);
    cr_assert_eq(virtual_client_count(run->clients[0], LS_SESSION_EVENT_UNPREDICTED), 1);
    cr_assert_not(report_of(run->clients[0]).has_prediction);
    cr_assert_eq(report_of(run->clients[0]).steps, 200);
    virtual_match_destroy(run);
}

Test(prediction, an_engine_that_cannot_load_what_it_saved_ends_its_own_session_only)
{
    ls_simulation good = engine_simulation();
    ls_simulation bad = engine_simulation();
    bad.load = refuse_to_load;
    virtual_setup setup = setup_with(&good, 0, 200);
    setup.match.sim.players = 2;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 2; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        client.simulation = i == 0 ? &bad : &good;
        virtual_match_add_client(run, &client);
    }
    virtual_match_run_to_end(run);
    check_sound(run);
    cr_assert_eq(report_of(run->clients[0]).status, LS_PLUGIN);
    check_played_to_the_end(run, run->clients[1]);
    virtual_match_destroy(run);
}

/* ---- what it may cost ---- */

Test(prediction, allocates_nothing_once_the_match_runs)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    virtual_setup setup = setup_with(ls_arena_simulation(), 4, 300);
    setup.link.loss_ppm = 50000;
    setup.allocator = &counting.allocator;
    virtual_match *run = match_at(&setup, 1);
    uint64_t allocations = counting.allocations;
    uint64_t calls = heap_calls();
    play_and_check(run);
    cr_assert_eq(counting.allocations, allocations);
    cr_assert_eq(heap_calls(), calls);
    check_predicted(run->clients[0]);
    virtual_match_destroy(run);
    cr_assert_eq(counting.live_blocks, 0);
}

Test(prediction, units_of_the_largest_size)
{
    virtual_setup setup = setup_with(ls_units_simulation(), 2, 20);
    set_param(&setup, "units=20000");
    setup.link.delay_ns = 20 * MS;
    virtual_match *run = checked_match_create(&setup);
    play_and_check(run);
    cr_assert_gt(report_of(run->clients[0]).steps, 20);
    virtual_match_destroy(run);
}
