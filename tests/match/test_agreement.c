/* Clean matches: whatever the network, the frame rates and the clocks do, every machine steps on
 * the same inputs and reaches the same states. */
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units.h"
#include "lockstep/tests/match/match_test.h"

static void play(const virtual_setup *setup)
{
    virtual_match *run = checked_match_create(setup);
    play_out(run);
}

/* ---- players ---- */

Test(agreement, arena_from_1_to_16_players)
{
    static const uint32_t players[] = {1, 2, 4, 16};
    for (size_t i = 0; i < sizeof players / sizeof players[0]; i++) {
        virtual_setup setup = virtual_setup_default(ls_arena_simulation(), players[i], 240);
        play(&setup);
    }
}

Test(agreement, units_from_1_to_8_players)
{
    static const uint32_t players[] = {1, 3, 8};
    for (size_t i = 0; i < sizeof players / sizeof players[0]; i++) {
        virtual_setup setup = virtual_setup_default(ls_units_simulation(), players[i], 200);
        set_param(&setup, "units=200");
        play(&setup);
    }
}

Test(agreement, thirty_two_players)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 32, 300);
    setup.link = (ls_link_config){.delay_ns = 20 * MS, .jitter_ns = 5 * MS, .loss_ppm = 20000};
    play(&setup);
}

/* ---- frame rates and tick rates ---- */

static uint64_t final_hash_at_frame_rate(uint32_t frame_hz)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, 120);
    setup.match.sim.players = 3;
    setup.match.late_rule = LS_LATE_WAIT; /* so that each input is the same in every run */
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.frame_hz = frame_hz;
    add_clients(run, 3, &client);
    play_and_check(run);
    uint64_t state_hash = ls_match_hash(run->match);
    virtual_match_destroy(run);
    return state_hash;
}

Test(agreement, frame_rate_changes_no_state)
{
    uint64_t state_hash = final_hash_at_frame_rate(60);
    cr_assert_eq(final_hash_at_frame_rate(20), state_hash);
    cr_assert_eq(final_hash_at_frame_rate(240), state_hash);
}

static void add_clients_of_mixed_frame_rates(virtual_match *run)
{
    static const uint32_t rates[] = {20, 30, 60, 144, 240};
    for (uint32_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        client.frame_hz = rates[i];
        client.frame_jitter_ns = LS_NS_PER_SECOND / rates[i] / 4;
        client.session.keeps_previous_state = true;
        virtual_match_add_client(run, &client);
    }
}

static void play_at_tick_rate(uint32_t tick_rate_hz, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(ls_arena_simulation(), 0, ticks);
    setup.match.sim.players = 5;
    setup.match.sim.tick_rate_hz = tick_rate_hz;
    setup.link = (ls_link_config){.delay_ns = 15 * MS, .jitter_ns = 2 * MS, .loss_ppm = 10000};
    set_param(&setup, "bodies=20");
    virtual_match *run = checked_match_create(&setup);
    add_clients_of_mixed_frame_rates(run);
    play_and_check(run);
    for (uint32_t slot = 0; slot < 5; slot++) {
        uint64_t on_time = slot_of(run, slot).inputs_on_time;
        cr_assert_gt(on_time, ticks / 2, "slot %u: only %lu of %u inputs were on time", slot,
                     (unsigned long)on_time, ticks);
    }
    virtual_match_destroy(run);
}

Test(agreement, every_tick_rate)
{
    play_at_tick_rate(1, 15);
    play_at_tick_rate(20, 200);
    play_at_tick_rate(60, 600);
    play_at_tick_rate(128, 1000);
    play_at_tick_rate(1000, 4000);
}

Test(agreement, a_server_whose_loop_turns_at_its_own_pace)
{
    virtual_setup setup = virtual_setup_default(ls_arena_simulation(), 3, 300);
    virtual_match *run = checked_match_create(&setup);
    run->server_loop_ns = 5 * MS;
    play_out(run);
}

Test(agreement, a_server_that_is_called_once_a_tick_loses_no_time)
{
    static const uint32_t tick_rates[] = {1, 2, 20};
    for (size_t i = 0; i < sizeof tick_rates / sizeof tick_rates[0]; i++) {
        virtual_setup setup = virtual_setup_default(test_simulation(), 2, 0);
        setup.match.sim.tick_rate_hz = tick_rates[i];
        virtual_match *run = checked_match_create(&setup);
        run->server_loop_ns = SECOND / tick_rates[i];
        virtual_match_run_to_tick(run, 1);
        virtual_match_run(run, 20 * SECOND);
        cr_assert_geq(ls_match_tick(run->match), 20 * tick_rates[i]);
        close_run(run);
    }
}

/* ---- networks ---- */

typedef struct impairments {
    const char *name;
    ls_link_config link;
    uint32_t substituted_percent; /* at most so many of the inputs may have been missing */
} impairments;

static void play_on(const impairments *kind)
{
    virtual_setup setup = virtual_setup_default(ls_arena_simulation(), 4, 600);
    setup.link = kind->link;
    set_param(&setup, "bodies=40");
    for (setup.seed = 1; setup.seed <= 3; setup.seed++) {
        virtual_match *run = checked_match_create(&setup);
        play_and_check(run);
        for (uint32_t slot = 0; slot < 4; slot++) {
            uint64_t substituted = slot_of(run, slot).inputs_substituted;
            cr_assert_leq(substituted * 100, 600 * kind->substituted_percent,
                          "%s: %lu inputs of slot %u substituted", kind->name,
                          (unsigned long)substituted, slot);
        }
        virtual_match_destroy(run);
    }
}

Test(agreement, every_delay_jitter_and_loss_duplicates_and_reordering)
{
    static const impairments kinds[] = {
        {"none", {.delay_ns = 0}, 1},
        {"1 ms", {.delay_ns = 1 * MS}, 1},
        {"33 ms", {.delay_ns = 33 * MS}, 1},
        {"150 ms", {.delay_ns = 150 * MS}, 5},
        {"300 ms", {.delay_ns = 300 * MS}, 10},
        {"5 +10 ms", {.delay_ns = 5 * MS, .jitter_ns = 10 * MS}, 5},
        {"100 +50 ms", {.delay_ns = 100 * MS, .jitter_ns = 50 * MS}, 5},
        {"20 +200 ms", {.delay_ns = 20 * MS, .jitter_ns = 200 * MS}, 20},
        {"5 %", {.delay_ns = 30 * MS, .loss_ppm = 50000}, 5},
        {"20 %", {.delay_ns = 30 * MS, .loss_ppm = 200000}, 10},
        {"50 %", {.delay_ns = 30 * MS, .loss_ppm = 500000}, 25},
        {"all twice", {.delay_ns = 30 * MS, .duplicate_ppm = 1000000}, 5},
        {"twice and out of order",
         {.delay_ns = 5 * MS, .jitter_ns = 80 * MS, .duplicate_ppm = 500000},
         20},
        {"everything",
         {.delay_ns = 60 * MS, .jitter_ns = 60 * MS, .loss_ppm = 200000, .duplicate_ppm = 200000},
         25},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        play_on(&kinds[i]);
    }
}

Test(agreement, each_way_of_its_own)
{
    virtual_setup setup = virtual_setup_default(ls_arena_simulation(), 0, 600);
    setup.match.sim.players = 2;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 2; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        ls_link_config *slow = i == 0 ? &client.up : &client.down;
        *slow = (ls_link_config){.delay_ns = 200 * MS, .jitter_ns = 20 * MS, .loss_ppm = 300000};
        virtual_match_add_client(run, &client);
    }
    play_out(run);
}

Test(agreement, with_resends_as_late_as_those_of_enet)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 3, 600);
    setup.link = (ls_link_config){.delay_ns = 30 * MS, .loss_ppm = 200000};
    setup.resend_ns = 500 * MS;
    virtual_match *run = checked_match_create(&setup);
    play_and_check(run);
    virtual_match_destroy(run);
}

/* ---- what a run is worth ---- */

static uint64_t digest_of_run(uint64_t seed)
{
    virtual_setup setup = virtual_setup_default(ls_arena_simulation(), 3, 300);
    setup.seed = seed;
    setup.link = (ls_link_config){
        .delay_ns = 20 * MS, .jitter_ns = 30 * MS, .loss_ppm = 200000, .duplicate_ppm = 100000};
    virtual_match *run = match_at(&setup, 100);
    virtual_client_cut(run->clients[2]);
    virtual_match_run_to_end(run);
    uint64_t digest = virtual_match_digest(run);
    virtual_match_destroy(run);
    return digest;
}

Test(agreement, the_same_seed_gives_the_same_run)
{
    uint64_t digest = digest_of_run(5);
    cr_assert_eq(digest_of_run(5), digest);
    cr_assert_neq(digest_of_run(6), digest);
}

/* The checks of this suite see what they look for: a client whose ticks were altered on the way
 * steps on other inputs, a client whose state was altered has another state. */
Test(agreement, the_checks_see_other_inputs_and_other_states)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 3, 600);
    virtual_match *run = match_at(&setup, 50);
    run->clients[1]->flip.tick = 100;
    client_check_of(run->clients[2])->is_fed_wrong = true;
    ls_link_config noisy = {.delay_ns = 10 * MS, .corrupt_ppm = 20000};
    ls_link_config clean = {.delay_ns = 10 * MS};
    ls_memory_client_set_links(run->clients[2]->transport, &clean, &noisy);
    virtual_match_run_to_end(run);
    cr_assert(client_check_of(run->clients[1])->has_state_difference);
    cr_assert_eq(client_check_of(run->clients[1])->state_difference_tick, 100);
    cr_assert_not(client_check_of(run->clients[1])->has_input_difference);
    cr_assert(client_check_of(run->clients[2])->has_input_difference);
    cr_assert(client_check_of(run->clients[2])->has_state_difference);
    cr_assert_not(client_check_of(run->clients[0])->has_state_difference);
    check_sound(run);
    client_check_of(run->clients[1])->hashed_difference_tick = 99;
    cr_assert_not(match_check_is_sound(check_of(run)));
    virtual_match_destroy(run);
}

Test(agreement, the_checks_see_inputs_that_nobody_made)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 0);
    virtual_match *run = match_at(&setup, 50);
    cr_assert(match_check_is_sound(check_of(run)));
    virtual_client *client = run->clients[0];
    client_check_of(client)->made[report_of(client).next_input - 1] ^= 2;
    virtual_match_run_to_tick(run, 60);
    cr_assert_not(match_check_is_sound(check_of(run)));
    virtual_match_destroy(run);
}

Test(agreement, the_checks_see_ticks_that_are_closed_late)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 0);
    virtual_match *run = match_at(&setup, 50);
    run->is_server_paused = true; /* and no test has announced it */
    virtual_match_run(run, 20 * MS);
    run->is_server_paused = false;
    virtual_match_run_to_tick(run, 60);
    cr_assert_not(match_check_is_sound(check_of(run)));
    virtual_match_destroy(run);
}
