#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/match/match_test.h"

/* ---- agreement ---- */

/* Clean matches: whatever the network, the frame rates and the clocks do, every machine steps on
 * the same inputs and reaches the same states. */

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

/* ---- desync ---- */

/* One flipped bit: the match names exactly that slot, exactly the first state that differs and both
 * state hashes, and nobody else is harmed. That no clean match is ever called different, and that
 * no difference goes unreported, is an invariant of every run (virtual_check.c). */

static virtual_setup setup_with(uint32_t interval, ls_on_desync policy, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 3, ticks);
    setup.match.hash_interval_ticks = interval;
    setup.match.on_desync = policy;
    return setup;
}

static void check_notice(const ls_desync_notice *notice, uint32_t slot, ls_tick tick)
{
    cr_assert_eq(notice->slot, slot);
    cr_assert_eq(notice->tick, tick);
    cr_assert_neq(notice->server_hash, notice->client_hash);
}

/* Everybody was told once of the desync of `bad` at `tick`, with the same state hashes. */
static void check_reported(const virtual_match *run, const virtual_client *bad, ls_tick tick)
{
    uint32_t slot = report_of(bad).slot;
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 1);
    const ls_match_event *event = &virtual_match_find(run, LS_MATCH_DESYNC)->event;
    cr_assert_eq(event->slot, slot);
    cr_assert_eq(event->tick, tick);
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        cr_assert_eq(virtual_client_count(client, LS_SESSION_EVENT_DESYNC), 1);
        const ls_desync_notice *notice =
            &virtual_client_find(client, LS_SESSION_EVENT_DESYNC)->event.desync;
        check_notice(notice, slot, tick);
        cr_assert_eq(notice->server_hash, event->server_hash);
        cr_assert_eq(notice->client_hash, event->client_hash);
        cr_assert_eq(report_of(client).is_desynced, client == bad);
    }
    cr_assert_eq(slot_of(run, slot).desync_server_hash, event->server_hash);
    cr_assert_eq(slot_of(run, slot).desync_client_hash, event->client_hash);
}

static ls_tick due_at(ls_tick tick, uint32_t interval, ls_tick last)
{
    ls_tick due = (tick + interval - 1) / interval * interval;
    return due < last ? due : last;
}

/* ---- the first bad tick ---- */

static void flip_and_check(const virtual_setup *setup, ls_tick tick)
{
    virtual_client *bad = play_flipped(setup, tick, 20);
    virtual_match *run = bad->run;
    cr_assert(virtual_match_is_over(run));
    check_sound(run);
    cr_assert(client_check_of(bad)->has_state_difference);
    check_reported(run, bad, due_at(tick, setup->match.hash_interval_ticks, setup->match.ticks));
    check_others_played(run, bad);
    cr_assert_eq(report_of(bad).tick, setup->match.ticks, "it is reported and plays on");
    virtual_match_destroy(run);
}

Test(desync, a_flipped_bit_is_found_at_its_tick)
{
    static const uint32_t intervals[] = {1, 7, 64};
    static const ls_tick ticks[] = {1, 2, 7, 63, 64, 65, 150, 191, 192};
    for (size_t i = 0; i < sizeof intervals / sizeof intervals[0]; i++) {
        for (size_t j = 0; j < sizeof ticks / sizeof ticks[0]; j++) {
            virtual_setup setup = setup_with(intervals[i], LS_ON_DESYNC_REPORT, 250);
            flip_and_check(&setup, ticks[j]);
        }
    }
}

Test(desync, loss_hides_nothing)
{
    static const uint32_t intervals[] = {1, 7, 64};
    for (uint32_t i = 0; i < 15; i++) {
        virtual_setup setup = setup_with(intervals[i % 3], LS_ON_DESYNC_REPORT, 300);
        setup.seed = i + 1;
        setup.link = (ls_link_config){
            .delay_ns = 40 * MS, .jitter_ns = 20 * MS, .loss_ppm = 200000, .duplicate_ppm = 100000};
        flip_and_check(&setup, 30 + 17 * i);
    }
}

Test(desync, the_very_last_step_counts)
{
    static const uint32_t intervals[] = {1, 7, 64};
    for (size_t i = 0; i < sizeof intervals / sizeof intervals[0]; i++) {
        virtual_setup setup = setup_with(intervals[i], LS_ON_DESYNC_REPORT, 100);
        flip_and_check(&setup, 100);
        flip_and_check(&setup, 99);
    }
}

/* A difference that arose while nothing could be compared is found at its tick all the same: 240
 * state hashes travel in several messages. */
Test(desync, a_difference_that_arose_in_a_partition_is_found)
{
    for (ls_tick tick = 130; tick <= 330; tick += 50) {
        virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 600);
        virtual_match *run = checked_match_create(&setup);
        virtual_client *bad = run->clients[1];
        flip_bit(bad, tick, 20);
        virtual_match_run_to_tick(run, 100);
        ls_link_config cut = {.is_cut = true};
        ls_link_config clean = setup.link;
        ls_memory_client_set_links(bad->transport, &cut, &clean);
        virtual_match_run_to_tick(run, 340);
        cr_assert_null(virtual_match_find(run, LS_MATCH_DESYNC));
        virtual_client_set_links(bad, &clean);
        virtual_match_run_to_end(run);
        check_sound(run);
        check_reported(run, bad, tick);
        cr_assert(seat_of(bad).has_finished);
        virtual_match_destroy(run);
    }
}

Test(desync, it_is_told_within_a_round_trip_of_the_tick)
{
    virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 0);
    setup.link.delay_ns = 50 * MS;
    virtual_match *run = checked_match_create(&setup);
    flip_bit(run->clients[1], 200, 20);
    virtual_match_run_to_tick(run, 230);
    const virtual_event *event = virtual_match_find(run, LS_MATCH_DESYNC);
    cr_assert_not_null(event);
    /* Tick 199 down, the chain up, the question down, the answer up; two frames and a tick. */
    uint64_t after_ns = event->at_ns - check_of(run)->ticks[199].closed_ns;
    cr_assert_leq(after_ns, 4 * 50 * MS + 3 * SECOND / 60 + 5 * MS, "%lu ms",
                  (unsigned long)(after_ns / MS));
    virtual_match_destroy(run);
}

/* ---- several ---- */

Test(desync, two_clients_at_different_ticks_are_two_reports)
{
    virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 300);
    virtual_match *run = checked_match_create(&setup);
    flip_bit(run->clients[0], 120, 20);
    flip_bit(run->clients[2], 77, 5);
    virtual_match_run_to_end(run);
    check_sound(run);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 2);
    cr_assert_eq(seat_of(run->clients[0]).desync_tick, 120);
    cr_assert_eq(seat_of(run->clients[2]).desync_tick, 77);
    check_played_to_the_end(run, run->clients[1]);
    cr_assert_eq(report_of(run->clients[1]).desyncs, 2);
    virtual_match_destroy(run);
}

Test(desync, all_clients_at_once_are_as_many_reports)
{
    virtual_setup setup = setup_with(7, LS_ON_DESYNC_REPORT, 200);
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 3; i++) {
        flip_bit(run->clients[i], 100, 20 + i);
    }
    virtual_match_run_to_end(run);
    check_sound(run);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 3);
    virtual_match_destroy(run);
}

/* ---- what is done about it ---- */

Test(desync, the_policy_drop_drops_it_and_no_other)
{
    virtual_setup setup = setup_with(1, LS_ON_DESYNC_DROP, 300);
    virtual_client *bad = play_flipped(&setup, 100, 20);
    virtual_match *run = bad->run;
    uint32_t slot = report_of(bad).slot;
    check_reported(run, bad, 100);
    cr_assert_eq(report_of(bad).status, LS_DESYNCED);
    cr_assert_eq(slot_of(run, slot).left_status, LS_DESYNCED);
    const virtual_event *left = virtual_match_find_slot(run, LS_MATCH_PLAYER_LEFT, slot);
    cr_assert_eq(check_of(run)->ticks[left->event.tick].events[slot], LS_EVENT_LEFT);
    cr_assert_leq(left->event.tick, 150, "dropped once its cause is known");
    check_others_played(run, bad);
    close_run(run);
}

Test(desync, the_policy_drop_works_at_the_end_too)
{
    virtual_setup setup = setup_with(1, LS_ON_DESYNC_DROP, 100);
    virtual_client *bad = play_flipped(&setup, 100, 20);
    virtual_match *run = bad->run;
    cr_assert_eq(report_of(bad).status, LS_DESYNCED);
    check_reported(run, bad, 100);
    check_played_to_the_end(run, run->clients[0]);
    close_run(run);
}

Test(desync, the_policy_stop_ends_the_match_for_all)
{
    virtual_setup setup = setup_with(1, LS_ON_DESYNC_STOP, 0);
    virtual_match *run = checked_match_create(&setup);
    virtual_client *bad = run->clients[1];
    flip_bit(bad, 100, 20);
    virtual_match_run(run, 10 * SECOND);
    cr_assert(virtual_match_is_over(run));
    cr_assert_leq(ls_match_tick(run->match), 106);
    check_reported(run, bad, 100);
    check_others_played(run, bad);
    cr_assert_eq(report_of(bad).tick, ls_match_tick(run->match));
    close_run(run);
}

/* ---- a network that alters bits ---- */

/* However a client's packets were altered, it ends well, or everybody knows that it did not: it
 * never holds another final state than the server without a word. The others notice nothing. */
static void play_altered(uint64_t seed, bool is_up, uint32_t corrupt_ppm)
{
    virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 600);
    setup.seed = seed;
    virtual_match *run = match_at(&setup, 30);
    virtual_client *altered = run->clients[1];
    client_check_of(altered)->is_fed_wrong = true;
    ls_link_config clean = setup.link;
    ls_link_config noisy = clean;
    noisy.corrupt_ppm = corrupt_ppm;
    ls_memory_client_set_links(altered->transport, is_up ? &noisy : &clean,
                               is_up ? &clean : &noisy);
    virtual_match_run_to_end(run);
    cr_assert(virtual_match_is_over(run));
    cr_assert_gt(run->network->operations->counts(run->network).corrupted, 0);
    check_sound(run);
    ls_match_slot slot = seat_of(altered);
    cr_assert(slot.has_finished || slot.is_desynced || slot.left_status != LS_OK);
    check_others_played(run, altered);
    for (uint32_t i = 0; i < 3; i += 2) {
        cr_assert_eq(seat_of(run->clients[i]).inputs_substituted, 0);
    }
    virtual_match_destroy(run);
}

Test(desync, altered_packets_are_never_silent)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        play_altered(seed, false, 15000);
        play_altered(seed, true, 15000);
        play_altered(seed, false, 200000);
        play_altered(seed, true, 200000);
    }
}

/* An altered chain is not a state that differs. */
Test(desync, an_altered_chain_alone_costs_nobody_the_match)
{
    uint32_t finished = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 300);
        setup.seed = seed;
        virtual_match *run = checked_match_create(&setup);
        client_check_of(run->clients[1])->is_fed_wrong = true;
        ls_link_config clean = setup.link;
        ls_link_config noisy = clean;
        noisy.corrupt_ppm = 10000;
        ls_memory_client_set_links(run->clients[1]->transport, &noisy, &clean);
        virtual_match_run_to_end(run);
        check_sound(run);
        ls_match_slot slot = seat_of(run->clients[1]);
        cr_assert_not(slot.is_desynced);
        cr_assert_neq(slot.left_status, LS_MISBEHAVED);
        finished += slot.has_finished;
        virtual_match_destroy(run);
    }
    cr_assert_geq(finished, 15, "only %u of 20 ended well", finished);
}
