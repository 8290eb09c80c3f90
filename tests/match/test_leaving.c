/* Coming and going: the step is told once of each player that joins, and of each that leaves, in
 * whichever way; the match goes on with the rest and ends when nobody is left, when it is stopped,
 * or after its last tick, and everybody who is there then has the same final state. */
#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

static virtual_match *start(uint32_t players, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), players, ticks);
    setup.match.timeout_ms = 2000;
    setup.match.keep_seat_ms = 0;
    return checked_match_create(&setup);
}

static const test_simulation_slot *counts_of(const virtual_match *run, uint32_t slot)
{
    const test_simulation_state *state = ls_sim_instance_view(ls_match_instance(run->match));
    return &state->slots[slot];
}

/* ---- joining ---- */

Test(leaving, everybody_joins_once_in_tick_0)
{
    virtual_match *run = start(5, 120);
    play_and_check(run);
    for (uint32_t slot = 0; slot < 5; slot++) {
        cr_assert_eq(check_of(run)->ticks[0].events[slot], LS_EVENT_JOINED);
        cr_assert_eq(counts_of(run, slot)->joins, 1);
        cr_assert_eq(counts_of(run, slot)->leaves, 0);
        for (ls_tick tick = 1; tick < check_of(run)->tick_count; tick++) {
            cr_assert_eq(check_of(run)->ticks[tick].events[slot], 0);
        }
    }
    virtual_match_destroy(run);
}

Test(leaving, the_match_starts_when_the_last_seat_is_taken)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 60);
    setup.match.sim.players = 3;
    virtual_match *run = checked_match_create(&setup);
    virtual_match_run(run, 30 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_PLAYER_LEFT, LS_PLAYERS_MAX), 0);
    add_clients(run, 1, NULL);
    play_and_check(run);
    const virtual_event *started = virtual_match_find(run, LS_MATCH_STARTED);
    uint64_t start_delay_ns = setup.match.start_delay_ms * MS;
    cr_assert_leq(check_of(run)->ticks[0].closed_ns - (started->at_ns + start_delay_ns + DT_NS), 1);
    virtual_match_destroy(run);
}

Test(leaving, a_seat_left_in_the_lobby_is_taken_by_the_next)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 60);
    setup.match.sim.players = 3;
    virtual_match *run = checked_match_create(&setup);
    virtual_match_run(run, SECOND);
    virtual_client *gone = run->clients[0];
    uint32_t slot = report_of(gone).slot;
    virtual_client_leave(gone);
    virtual_match_run(run, SECOND);
    cr_assert(gone->is_over);
    cr_assert_eq(slot_of(run, slot).peer, 0);
    cr_assert_eq(virtual_match_find_slot(run, LS_MATCH_PLAYER_LEFT, slot)->event.status,
                 LS_DISCONNECTED);
    add_clients(run, 2, NULL);
    virtual_match_run_to_end(run);
    cr_assert_eq(check_of(run)->by_slot[slot]->core, run->clients[2]);
    for (uint32_t i = 1; i < 4; i++) {
        check_played_to_the_end(run, run->clients[i]);
    }
    close_run(run);
}

/* The shortest timeout that may be set is one that honest clients keep, in the lobby too. */
Test(leaving, no_honest_client_is_taken_for_silent)
{
    static const uint32_t tick_rates[] = {1, 5, 60};
    for (size_t i = 0; i < sizeof tick_rates / sizeof tick_rates[0]; i++) {
        virtual_setup setup = virtual_setup_default(test_simulation(), 2, 5 * tick_rates[i]);
        setup.match.sim.players = 3;
        setup.match.sim.tick_rate_hz = tick_rates[i];
        setup.match.timeout_ms = 100;
        virtual_match *run = checked_match_create(&setup);
        virtual_match_run(run, 3 * SECOND);
        add_clients(run, 1, NULL);
        play_out(run);
    }
}

/* ---- leaving ---- */

/* `slot` was left by tick `at` or soon after: LEFT once, in the tick that the event names, nothing
 * of it afterwards, and the others play on to the end. */
static void check_left(virtual_match *run, uint32_t slot, ls_status status)
{
    cr_assert_eq(virtual_match_count(run, LS_MATCH_PLAYER_LEFT, slot), 1);
    const virtual_event *left = virtual_match_find_slot(run, LS_MATCH_PLAYER_LEFT, slot);
    cr_assert_eq(left->event.status, status);
    cr_assert_neq(left->event.text.bytes[0], 0);
    for (ls_tick tick = 1; tick < check_of(run)->tick_count; tick++) {
        uint32_t expected = tick == left->event.tick ? LS_EVENT_LEFT : 0;
        cr_assert_eq(check_of(run)->ticks[tick].events[slot], expected);
    }
    cr_assert_eq(counts_of(run, slot)->leaves, 1);
    ls_match_slot report = slot_of(run, slot);
    cr_assert_eq(report.left_status, status);
    cr_assert_not(report.is_playing);
    cr_assert_not(report.has_finished);
    cr_assert_eq(report.inputs_on_time + report.inputs_substituted, left->event.tick);
}

/* Ends the run. */
static void check_rest(virtual_match *run, const virtual_client *gone)
{
    cr_assert_eq(ls_match_tick(run->match), run->setup.match.ticks);
    check_others_played(run, gone);
    close_run(run);
}

/* A match of four, of which the second client is about to leave. */
static virtual_client *start_with_leaver(uint32_t ticks)
{
    virtual_match *run = start(4, ticks);
    virtual_match_run_to_tick(run, 100);
    return run->clients[1];
}

Test(leaving, a_player_that_says_goodbye_has_left)
{
    virtual_client *gone = start_with_leaver(300);
    virtual_match *run = gone->run;
    virtual_client_leave(gone);
    virtual_match_run_to_end(run);
    check_left(run, report_of(gone).slot, LS_DISCONNECTED);
    cr_assert_leq(virtual_match_find(run, LS_MATCH_PLAYER_LEFT)->event.tick, 102);
    cr_assert_eq(report_of(gone).status, LS_OK);
    check_rest(run, gone);
}

Test(leaving, a_player_whose_connection_breaks_has_left)
{
    virtual_client *gone = start_with_leaver(300);
    virtual_client_hang_up(gone);
    virtual_match_run_to_end(gone->run);
    check_left(gone->run, report_of(gone).slot, LS_DISCONNECTED);
    check_rest(gone->run, gone);
}

Test(leaving, a_player_that_vanishes_has_left_after_the_timeout)
{
    virtual_client *gone = start_with_leaver(600);
    virtual_match *run = gone->run;
    uint64_t cut_ns = run->now_ns;
    virtual_client_cut(gone);
    virtual_match_run_to_end(run);
    check_left(run, report_of(gone).slot, LS_TIMED_OUT);
    uint64_t after_ns = virtual_match_find(run, LS_MATCH_PLAYER_LEFT)->at_ns - cut_ns;
    cr_assert_geq(after_ns, 2000 * MS);
    cr_assert_leq(after_ns, 2000 * MS + 20 * MS);
    cr_assert_eq(report_of(gone).status, LS_TIMED_OUT, "it knows as well");
    check_rest(run, gone);
}

static uint64_t packets_to(const virtual_client *client, ls_peer_id peer)
{
    return ls_transport_traffic_of(client->run->network->server, peer).packets_sent;
}

Test(leaving, a_player_that_nothing_is_heard_of_is_sent_ten_packets_a_second)
{
    virtual_client *gone = start_with_leaver(600);
    virtual_match *run = gone->run;
    ls_peer_id peer = slot_of(run, report_of(gone).slot).peer;
    ls_link_config link = run->setup.link;
    virtual_client_cut(gone);
    virtual_match_run(run, 600 * MS);
    uint64_t before = packets_to(gone, peer);
    virtual_match_run(run, 1000 * MS);
    uint64_t sent = packets_to(gone, peer) - before;
    cr_expect(sent >= 8 && sent <= 11, "%u packets", (unsigned)sent);
    virtual_client_set_links(gone, &link);
    virtual_match_run(run, 100 * MS);
    uint32_t behind = ls_match_tick(run->match) - report_of(gone).confirmed;
    cr_expect_leq(behind, 8, "still %u ticks behind when its link is back", behind);
    play_out(run);
}

Test(leaving, a_partition_shorter_than_the_timeout_is_made_up_for)
{
    virtual_match *run = start(4, 600);
    ls_link_config link = run->setup.link;
    virtual_match_run_to_tick(run, 100);
    virtual_client_cut(run->clients[2]);
    virtual_match_run(run, 1800 * MS);
    virtual_client_set_links(run->clients[2], &link);
    virtual_match_run(run, 500 * MS);
    uint32_t behind = ls_match_tick(run->match) - report_of(run->clients[2]).tick;
    cr_assert_leq(behind, 8, "still %u ticks behind after half a second", behind);
    play_out(run);
}

Test(leaving, a_partition_longer_than_the_window_is_not)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 3, 4000);
    setup.match.sim.tick_rate_hz = 1000;
    setup.match.keep_seat_ms = 0;
    virtual_match *run = checked_match_create(&setup);
    ls_link_config link = setup.link;
    virtual_match_run_to_tick(run, 500);
    virtual_client *gone = run->clients[0];
    virtual_client_cut(gone);
    virtual_match_run(run, 1500 * MS);
    virtual_client_set_links(gone, &link);
    virtual_match_run_to_end(run);
    check_left(run, report_of(gone).slot, LS_FELL_BEHIND);
    cr_assert_eq(report_of(gone).status, LS_FELL_BEHIND);
    check_rest(run, gone);
}

Test(leaving, several_leave_at_once_and_one_after_the_other)
{
    virtual_match *run = start(8, 400);
    virtual_match_run_to_tick(run, 100);
    for (uint32_t i = 0; i < 3; i++) {
        virtual_client_leave(run->clients[i]);
    }
    virtual_match_run_to_tick(run, 200);
    virtual_client_leave(run->clients[3]);
    virtual_match_run_to_end(run);
    for (uint32_t i = 0; i < 4; i++) {
        check_left(run, report_of(run->clients[i]).slot, LS_DISCONNECTED);
    }
    for (uint32_t i = 4; i < 8; i++) {
        check_played_to_the_end(run, run->clients[i]);
    }
    close_run(run);
}

/* Players who stay for so many ticks have played exactly those. */
static void play_for(uint32_t frame_hz, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 1, 400);
    setup.match.sim.players = 2;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup pending = virtual_client_setup_default(run);
    pending.frame_hz = frame_hz;
    pending.session.ticks = ticks;
    virtual_client *brief = virtual_match_add_client(run, &pending);
    virtual_match_run_to_end(run);
    check_left(run, report_of(brief).slot, LS_DISCONNECTED);
    cr_assert_eq(report_of(brief).status, LS_OK);
    cr_assert_eq(report_of(brief).tick, ticks, "%u frames a second: %u ticks instead of %u",
                 frame_hz, report_of(brief).tick, ticks);
    check_rest(run, brief);
}

Test(leaving, a_client_stays_for_as_many_ticks_as_it_was_told_to)
{
    static const uint32_t frame_rates[] = {20, 60, 240};
    for (size_t i = 0; i < sizeof frame_rates / sizeof frame_rates[0]; i++) {
        play_for(frame_rates[i], 1);
        play_for(frame_rates[i], 100);
        play_for(frame_rates[i], 101);
    }
}

/* ---- the end ---- */

Test(leaving, the_match_ends_when_all_have_left)
{
    virtual_match *run = start(3, 0);
    virtual_match_run_to_tick(run, 100);
    for (uint32_t i = 0; i < 3; i++) {
        virtual_client_leave(run->clients[i]);
    }
    virtual_match_run(run, SECOND);
    cr_assert(virtual_match_is_over(run));
    cr_assert_leq(ls_match_tick(run->match), 103);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_ENDED, LS_PLAYERS_MAX), 1);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_FINISHED, LS_PLAYERS_MAX), 1);
    close_run(run);
}

Test(leaving, the_match_ends_when_all_have_vanished)
{
    virtual_match *run = start(3, 0);
    virtual_match_run_to_tick(run, 100);
    for (uint32_t i = 0; i < 3; i++) {
        virtual_client_cut(run->clients[i]);
    }
    virtual_match_run(run, 3 * SECOND);
    cr_assert(virtual_match_is_over(run));
    close_run(run);
}

static void stop_and_check(virtual_match *run)
{
    ls_match_stop(run->match, virtual_match_server_ns(run));
    ls_tick final_tick = ls_match_tick(run->match);
    virtual_match_run(run, 6 * SECOND);
    check_complete(run);
    cr_assert_eq(ls_match_tick(run->match), final_tick, "nothing is closed after the stop");
    for (uint32_t i = 0; i < run->client_count; i++) {
        ls_session_report report = report_of(run->clients[i]);
        cr_assert(report.has_end);
        cr_assert_eq(report.end.final_tick, final_tick);
        cr_assert_eq(report.end.final_hash, ls_match_hash(run->match));
    }
}

Test(leaving, a_stopped_match_ends_in_the_same_state_for_all)
{
    static const ls_link_config links[] = {
        {.delay_ns = 10 * MS},
        {.delay_ns = 250 * MS, .jitter_ns = 50 * MS},
        {.delay_ns = 30 * MS, .loss_ppm = 300000, .duplicate_ppm = 100000},
    };
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        virtual_match *run = start(4, 0);
        virtual_match_set_links(run, &links[i]);
        virtual_match_run_to_tick(run, 137);
        stop_and_check(run);
        virtual_match_destroy(run);
    }
}

Test(leaving, a_match_stopped_before_its_first_tick_is_complete_too)
{
    virtual_match *run = start(2, 0);
    while (!virtual_match_find(run, LS_MATCH_STARTED)) {
        virtual_match_run(run, MS);
    }
    stop_and_check(run);
    cr_assert_eq(ls_match_tick(run->match), 0);
    virtual_match_destroy(run);
}

Test(leaving, a_lobby_that_is_stopped_sends_everybody_home)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 60);
    setup.match.sim.players = 3;
    virtual_match *run = checked_match_create(&setup);
    raw_peer *pending = raw_peer_create(run);
    virtual_match_run(run, SECOND);
    ls_match_stop(run->match, virtual_match_server_ns(run));
    virtual_match_run(run, SECOND);
    cr_assert(virtual_match_is_over(run));
    cr_assert_eq(report_of(run->clients[0]).status, LS_ALREADY_OVER);
    cr_assert_eq(report_of(run->clients[1]).status, LS_ALREADY_OVER);
    cr_assert(pending->is_closed, "who has not said HELLO is told as well");
    cr_assert_eq(pending->refusal.negated_status, (uint32_t)-LS_ALREADY_OVER);
    raw_peer_destroy(pending);
    virtual_match_destroy(run);
}

/* A client that has finished is finished, even when the server's last word is lost. */
Test(leaving, a_finished_client_needs_no_last_word)
{
    virtual_match *run = start(2, 120);
    virtual_client *finished = run->clients[0];
    while (report_of(finished).state != LS_SESSION_FINISHED) {
        virtual_match_run(run, MS);
    }
    virtual_match_run(run, 15 * MS); /* FINISHED arrives */
    virtual_client_cut(finished);
    virtual_match_run(run, 10 * SECOND);
    check_complete(run);
    virtual_match_destroy(run);
}

/* A client that cannot keep up with the end is told so, and the match does not wait for ever. */
Test(leaving, a_client_that_does_not_reach_the_end_is_dropped_five_seconds_later)
{
    virtual_match *run = start(2, 120);
    run->setup.match.timeout_ms = 2000;
    virtual_match_run_to_tick(run, 110);
    virtual_client *frozen = run->clients[0];
    frozen->is_paused = true;
    virtual_match_run(run, 8 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_OVER);
    cr_assert_eq(seat_of(frozen).left_status, LS_TIMED_OUT);
    check_played_to_the_end(run, run->clients[1]);
    close_run(run);
}

Test(leaving, a_client_that_comes_after_the_end_is_told_so)
{
    virtual_match *run = start(2, 60);
    play_and_check(run);
    virtual_client_setup setup = virtual_client_setup_default(run);
    virtual_client *late = virtual_match_add_client(run, &setup);
    virtual_match_run(run, SECOND);
    cr_assert(late->is_over);
    cr_assert_eq(report_of(late).status, LS_ALREADY_OVER);
    virtual_match_destroy(run);
}

Test(leaving, leaving_before_the_connection_stands_is_no_mistake)
{
    virtual_match *run = start(2, 60);
    virtual_client_setup setup = virtual_client_setup_default(run);
    setup.up.delay_ns = 500 * MS;
    setup.down.delay_ns = 500 * MS;
    virtual_client *brief = virtual_match_add_client(run, &setup);
    virtual_client_leave(brief);
    virtual_match_run_to_end(run);
    cr_assert_eq(report_of(brief).status, LS_OK);
    check_played_to_the_end(run, run->clients[0]);
    check_played_to_the_end(run, run->clients[1]);
    virtual_match_destroy(run);
}

/* That the match asks to be called again at once is noted as a fault. */
Test(leaving, a_match_that_waits_for_who_is_lost_stands_still_until_it_is_back)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 1, 600);
    setup.match.late_rule = LS_LATE_WAIT;
    setup.match.wait_limit_ms = 5000;
    virtual_match *run = match_at(&setup, 60);
    virtual_client_vanish(run->clients[0]);
    virtual_match_run(run, SECOND / 2);
    cr_assert(virtual_match_find(run, LS_MATCH_STALLED));
    virtual_client_set_links(run->clients[0], &setup.link);
    virtual_client_hang_up(run->clients[0]);
    virtual_match_run(run, SECOND / 2);
    cr_assert(virtual_match_find(run, LS_MATCH_PLAYER_LOST));
    virtual_match_run(run, SECOND);
    close_run(run);
}

/* ---- sent away ---- */

Test(leaving, a_player_that_is_kicked_reads_why_and_the_match_goes_on)
{
    virtual_match *run = start(3, 120);
    virtual_match_run_to_tick(run, 40);
    uint32_t slot = ls_session_report_of(run->clients[1]->session).slot;
    cr_assert_eq(ls_match_kick(run->match, slot, "no chatting", virtual_match_server_ns(run)),
                 LS_OK);
    cr_assert_eq(ls_match_kick(run->match, slot, "twice", virtual_match_server_ns(run)),
                 LS_NOT_FOUND);
    virtual_match_run_to_end(run);
    ls_session_report kicked = ls_session_report_of(run->clients[1]->session);
    cr_assert_eq(kicked.state, LS_SESSION_OVER);
    cr_assert_eq(kicked.status, LS_KICKED);
    const virtual_event *left = virtual_match_find_slot(run, LS_MATCH_PLAYER_LEFT, slot);
    cr_assert_eq(left->event.status, LS_KICKED);
    cr_assert_str_eq(left->event.text.bytes, "no chatting");
    cr_assert_eq(counts_of(run, slot)->leaves, 1, "the step was told");
    cr_assert_eq(ls_match_tick(run->match), 120);
    check_played_to_the_end(run, run->clients[0]);
    check_played_to_the_end(run, run->clients[2]);
    virtual_match_destroy(run);
}
