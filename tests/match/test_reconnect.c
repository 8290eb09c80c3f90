#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/tests/lab/virtual/sealed_network.h"
#include "lockstep/tests/match/match_test.h"

#include <arpa/inet.h>
#include <stdio.h>

/* ---- roaming ---- */

/* Roaming: players whose address changes in mid-match, over the transport of the programs. Nothing
 * is lost, and closed ticks come again within a round trip and two ticks. */

enum {
    PLAYERS = 4,
    WARM_TICKS = 180,
    MOVES = 12,
};

static const uint64_t GLANCE_NS = MS / 4;

/* Runs the match for so long; returns the longest time that no closed tick came to the client,
 * counted from *came_ns on, when the last one had come. */
static uint64_t longest_gap(virtual_match *run, const virtual_client *client, uint64_t length_ns,
                            uint64_t *came_ns)
{
    uint64_t longest_ns = 0;
    uint64_t end_ns = run->now_ns + length_ns;
    ls_tick confirmed = report_of(client).confirmed;
    while (run->now_ns < end_ns) {
        virtual_match_run(run, GLANCE_NS);
        ls_tick now = report_of(client).confirmed;
        if (now != confirmed) {
            confirmed = now;
            longest_ns = LS_MAX(longest_ns, run->now_ns - *came_ns);
            *came_ns = run->now_ns;
        }
    }
    return longest_ns;
}

typedef void move_client(virtual_network *network, ls_transport *client);

/* Runs until the server sends to where the client is; returns how long that took. */
static uint64_t reach_ns(virtual_match *run, const virtual_client *client)
{
    uint64_t start_ns = run->now_ns;
    while (!sealed_network_is_reached(run->network, client->transport)) {
        virtual_match_run(run, GLANCE_NS);
        cr_assert_lt(run->now_ns - start_ns, 10 * SECOND, "the server does not follow");
    }
    return run->now_ns - start_ns;
}

/* Moves at another moment between two ticks each time. */
static void check_moves(uint64_t rtt_ns)
{
    virtual_setup setup = virtual_setup_default(test_small_simulation(), PLAYERS, 0);
    setup.network = virtual_network_of_datagrams;
    setup.link = (ls_link_config){.delay_ns = rtt_ns / 2};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    const virtual_client *client = run->clients[1];
    uint64_t late = substituted(run);
    uint64_t came_ns = run->now_ns;
    for (uint32_t i = 0; i < MOVES; i++) {
        longest_gap(run, client, SECOND + i * DT_NS / MOVES, &came_ns);
        sealed_network_move(run->network, client->transport);
        uint64_t gap_ns = longest_gap(run, client, SECOND, &came_ns);
        cr_assert_leq(gap_ns, rtt_ns + 2 * DT_NS, "round trip %u ms, move %u: %u ms",
                      (unsigned)(rtt_ns / MS), i, (unsigned)(gap_ns / MS));
    }
    cr_assert_eq(substituted(run), late);
    cr_assert_eq(client->connections, 1, "it has come back instead");
    close_run(run);
}

Test(roaming, a_player_misses_closed_ticks_for_a_round_trip_and_two_ticks)
{
    static const uint64_t round_trips_ns[] = {20 * MS, 60 * MS, 100 * MS, 200 * MS};
    for (size_t i = 0; i < sizeof round_trips_ns / sizeof *round_trips_ns; i++) {
        check_moves(round_trips_ns[i]);
    }
}

/* Several moves with a network that loses so much; the server follows each within `limit_ns`. */
static void check_following(move_client *move, uint32_t loss_ppm, uint64_t limit_ns)
{
    virtual_setup setup = virtual_setup_default(test_small_simulation(), PLAYERS, 0);
    setup.network = virtual_network_of_datagrams;
    setup.link = (ls_link_config){.delay_ns = 25 * MS, .loss_ppm = loss_ppm};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    const virtual_client *client = run->clients[1];
    for (uint32_t i = 0; i < MOVES; i++) {
        virtual_match_run(run, SECOND + i * DT_NS / MOVES);
        move(run->network, client->transport);
        uint64_t took_ns = reach_ns(run, client);
        cr_assert_leq(took_ns, limit_ns, "move %u: %u ms", i, (unsigned)(took_ns / MS));
    }
    cr_assert_eq(client->connections, 1, "it has come back instead");
    check_sound(run);
    close_run(run);
}

/* The client notices after 100 ms; its first packet is answered with the challenge. */
Test(roaming, a_player_whose_machine_changes_networks_is_followed_in_two_round_trips)
{
    check_following(sealed_network_switch, 0, 100 * MS + 2 * 50 * MS + 2 * DT_NS);
    check_following(sealed_network_switch, 100000, SECOND);
}

Test(roaming, a_player_behind_a_router_that_changes_ports_is_followed_after_a_second)
{
    check_following(sealed_network_move, 0, SECOND + 3 * 50 * MS + 4 * DT_NS);
    check_following(sealed_network_move, 100000, 3 * SECOND);
}

static void switch_and_move(virtual_network *network, ls_transport *client)
{
    static uint32_t calls;
    (calls++ % 2 == 0 ? sealed_network_switch : sealed_network_move)(network, client);
}

Test(roaming, a_player_is_followed_whichever_way_it_moves_next)
{
    check_following(switch_and_move, 20000, 3 * SECOND);
}

/* Also when no packet is lost, so that only the copies differ from a match without him. */
static void check_copies(uint32_t loss_ppm)
{
    virtual_setup setup = virtual_setup_default(test_small_simulation(), PLAYERS, 0);
    setup.network = virtual_network_of_datagrams;
    setup.link = (ls_link_config){.delay_ns = 20 * MS, .loss_ppm = loss_ppm};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    const virtual_client *client = run->clients[1];
    const ls_endpoint copier = ls_endpoint_from_ipv4(htonl(UINT32_C(0xc6336442)), 666);
    sealed_network_copy(run->network, client->transport, &copier);
    uint64_t late = substituted(run);
    uint64_t came_ns = run->now_ns;
    for (uint32_t i = 0; i < 20 * (uint32_t)(SECOND / (10 * MS)); i++) {
        uint64_t gap_ns = longest_gap(run, client, 10 * MS, &came_ns);
        cr_assert(sealed_network_is_reached(run->network, client->transport), "after %u ms",
                  i * 10);
        cr_assert(loss_ppm > 0 || gap_ns <= 2 * DT_NS, "%u ms", (unsigned)(gap_ns / MS));
    }
    sealed_network_copies copied = sealed_network_copied(run->network);
    cr_assert(copied.copies > 1000 && copied.challenges > 50, "%u copies, %u challenges",
              (unsigned)copied.copies, (unsigned)copied.challenges);
    cr_assert(loss_ppm > 0 || substituted(run) == late);
    cr_assert_eq(client->connections, 1, "it has come back instead");
    close_run(run);
}

Test(roaming, a_host_whose_copies_are_faster_does_not_become_the_players_address)
{
    check_copies(0);
    check_copies(50000);
}

static void check_moves_in_a_row(move_client *move)
{
    virtual_setup setup = virtual_setup_default(test_small_simulation(), PLAYERS, 1200);
    setup.network = virtual_network_of_datagrams;
    setup.link = (ls_link_config){.delay_ns = 50 * MS, .loss_ppm = 50000};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    for (uint32_t i = 0; i < 20; i++) {
        virtual_match_run(run, 70 * MS);
        move(run->network, run->clients[0]->transport);
    }
    play_and_check(run);
    cr_assert_eq(run->clients[0]->connections, 1, "it has come back instead");
    close_run(run);
}

Test(roaming, a_player_that_moves_again_before_the_first_move_is_proven_plays_on)
{
    check_moves_in_a_row(sealed_network_move);
    check_moves_in_a_row(sealed_network_switch);
    check_moves_in_a_row(switch_and_move);
}

/* A player comes late, over a path that takes packets of at most so many bytes, headers counted.
 * Its state is large, so that packets are as long as they get. */
static bool is_let_in_over(uint32_t mtu)
{
    virtual_setup setup = virtual_setup_default(ls_arena_simulation(), PLAYERS, 0);
    setup.match.sim.params[0] = 2000; /* bodies */
    setup.match.sim.players = PLAYERS + 1;
    setup.match.start_players = PLAYERS;
    setup.network = virtual_network_of_datagrams;
    setup.link = (ls_link_config){.delay_ns = 10 * MS};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    sealed_network_set_mtu(run->network, mtu);
    virtual_client_setup late = virtual_client_setup_default(run);
    virtual_client *client = virtual_match_add_client(run, &late);
    bool is_in = virtual_client_run_to_state(client, LS_SESSION_PLAYING, 5 * SECOND);
    const virtual_event *joining = virtual_match_find(run, LS_MATCH_PLAYER_JOINING);
    cr_expect(!is_in || (joining && strstr(joining->event.text.bytes, "with a snapshot")));
    ls_match_stop(run->match, virtual_match_server_ns(run));
    virtual_match_run(run, SECOND);
    close_run(run);
    return is_in;
}

Test(roaming, a_player_comes_late_over_every_path_that_takes_1228_bytes)
{
    cr_expect(is_let_in_over(1280));
    cr_expect(is_let_in_over(1228));
    cr_expect_not(is_let_in_over(1227), "the path was not that narrow");
}

/* ---- reconnect ---- */

/* Players who lose their links and come back. */

enum {
    RECONNECT_PLAYERS = 3,
};

static const ls_link_config far = {.delay_ns = 50 * MS, .jitter_ns = 4 * MS, .loss_ppm = 10000};

static virtual_match *run;

static void start(const ls_match_config *config, const ls_session_config *session)
{
    run = open_match(config, 11);
    for (uint32_t i = 0; i < config->sim.players; i++) {
        add_client_session(run, session, &far);
    }
    virtual_match_run(run, 5 * SECOND);
    cr_assert_gt(ls_match_tick(run->match), 100);
}

static ls_match_config match_of_three(void)
{
    ls_match_config config = ls_match_config_default(ls_builtin_simulation_named("arena"));
    config.sim.players = RECONNECT_PLAYERS;
    return config;
}

static ls_session_config player(void)
{
    ls_session_config config = ls_session_config_default();
    config.reconnect_ms = 60000;
    return config;
}

static void start_usual(void)
{
    ls_match_config config = match_of_three();
    ls_session_config session = player();
    start(&config, &session);
}

static void cut_all_links(bool is_cut)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        cut_link(run->clients[i], is_cut);
    }
}

static void check_all_play(void)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        check_plays(run->clients[i]);
    }
}

/* ---- how long nothing passes ---- */

static void lose_for(uint64_t ns)
{
    virtual_client *client = run->clients[1];
    cut_link(client, true);
    virtual_match_run(run, ns);
    cut_link(client, false);
    uint64_t healed_ns = run->now_ns;
    cr_assert(virtual_client_run_to_state(client, LS_SESSION_PLAYING, 15 * SECOND));
    uint64_t took_ns = run->now_ns - healed_ns;
    virtual_match_run(run, 3 * SECOND);
    fprintf(stderr, "away for %4.1f s: back %.2f s after the link was, by %s, %u connections\n",
            (double)ns / 1e9, (double)took_ns / 1e9,
            virtual_client_count(client, LS_SESSION_EVENT_JOINING) == 0 ? "waiting"
            : newest_join(client).source == LS_JOIN_HELD                ? "the ticks that it lacked"
                                                                        : "a snapshot",
            client->connections);
    check_all_play();
}

static void lose_and_return(uint64_t ns, uint32_t rejoins, ls_join_source source)
{
    start_usual();
    const virtual_client *client = run->clients[1];
    ls_tick tick = report_of(client).tick;
    lose_for(ns);
    ls_session_report report = report_of(client);
    cr_assert_eq(report.rejoins, rejoins);
    cr_assert_eq(virtual_client_count(client, LS_SESSION_EVENT_JOINING), rejoins);
    cr_assert_eq(report.slot, 1, "its own seat");
    if (rejoins > 0) {
        cr_assert_eq(newest_join(client).source, source);
    }
    if (rejoins > 0 && source == LS_JOIN_HELD) {
        cr_assert_eq(report.steps, report.tick, "every tick was stepped once");
        cr_assert_geq(newest_join(client).tick, tick, "with only the ticks that it lacked");
    }
    ls_match_slot slot = ls_match_slot_of(run->match, 1);
    cr_assert_eq(slot.rejoins, rejoins);
    cr_assert_not(slot.is_desynced);
    close_match(run);
}

Test(reconnect, half_a_second_of_nothing_is_no_lost_link)
{
    lose_and_return(SECOND / 2, 0, LS_JOIN_HELD);
}

Test(reconnect, after_three_and_ten_seconds_it_comes_back_with_what_it_has)
{
    lose_and_return(3 * SECOND, 1, LS_JOIN_HELD);
    lose_and_return(10 * SECOND, 1, LS_JOIN_HELD);
}

Test(reconnect, after_25_seconds_it_is_sent_a_snapshot)
{
    lose_and_return(25 * SECOND, 1, LS_JOIN_SNAPSHOT);
}

Test(reconnect, a_client_that_predicts_comes_back_as_well)
{
    ls_match_config config = match_of_three();
    ls_session_config session = player();
    session.predict_ticks = 12;
    start(&config, &session);
    lose_for(6 * SECOND);
    ls_session_report report = report_of(run->clients[1]);
    cr_assert_eq(report.rejoins, 1);
    cr_assert_geq(report.stalled_ticks, 300);
    cr_assert_leq(report.stalled_ticks, 450);
    close_match(run);
}

/* The others are not held up by somebody who is away, but for the limit of the rule. */
Test(reconnect, under_the_rule_wait_the_others_play_on)
{
    ls_match_config config = match_of_three();
    config.late_rule = LS_LATE_WAIT;
    ls_session_config session = player();
    start(&config, &session);
    ls_tick before = ls_match_tick(run->match);
    lose_for(8 * SECOND);
    cr_assert_eq(report_of(run->clients[1]).rejoins, 1);
    cr_assert_geq(ls_match_tick(run->match) - before, 5 * 60);
    close_match(run);
}

/* Without a player no tick is closed, and no input that was made is lost. */
Test(reconnect, a_match_of_one_stands_still_until_that_one_is_back)
{
    ls_match_config config = match_of_three();
    config.sim.players = 1;
    ls_session_config session = player();
    start(&config, &session);
    virtual_client *client = run->clients[0];
    cut_link(client, true);
    virtual_match_run(run, 13 * SECOND);
    ls_tick stopped = ls_match_tick(run->match);
    virtual_match_run(run, SECOND);
    cr_assert_eq(ls_match_tick(run->match), stopped);
    cut_link(client, false);
    cr_assert(virtual_client_run_to_state(client, LS_SESSION_PLAYING, 15 * SECOND));
    virtual_match_run(run, 3 * SECOND);
    cr_assert_gt(ls_match_tick(run->match), stopped + 100);
    check_all_play();
    close_match(run);
}

Test(reconnect, links_that_are_lost_again_and_again_are_survived)
{
    start_usual();
    ls_rng rng = ls_rng_make(9, 9);
    for (uint32_t i = 0; i < 12; i++) {
        virtual_client *client = run->clients[ls_rng_below(&rng, RECONNECT_PLAYERS)];
        cut_link(client, true);
        virtual_match_run(run, (500 + ls_rng_below(&rng, 5000)) * MS);
        cut_link(client, false);
        virtual_match_run(run, ls_rng_below(&rng, 3000) * MS);
    }
    virtual_match_run(run, 15 * SECOND);
    check_all_play();
    uint32_t rejoins = 0;
    for (uint32_t i = 0; i < RECONNECT_PLAYERS; i++) {
        rejoins += report_of(run->clients[i]).rejoins;
    }
    cr_assert_geq(rejoins, 4);
    close_match(run);
}

Test(reconnect, all_who_lose_their_links_at_once_come_back)
{
    start_usual();
    cut_all_links(true);
    virtual_match_run(run, 12 * SECOND);
    cut_all_links(false);
    virtual_match_run(run, 15 * SECOND);
    check_all_play();
    close_match(run);
}

/* ---- giving up ---- */

Test(reconnect, a_client_away_for_longer_than_it_tries_ends)
{
    ls_match_config config = match_of_three();
    ls_session_config session = player();
    session.reconnect_ms = 5000;
    start(&config, &session);
    cut_link(run->clients[2], true);
    cr_assert(virtual_client_run_to_state(run->clients[2], LS_SESSION_OVER, 8 * SECOND));
    cr_assert_eq(report_of(run->clients[2]).status, LS_TIMED_OUT);
    close_match(run);
}

Test(reconnect, a_client_away_for_longer_than_its_seat_is_kept_is_told)
{
    ls_match_config config = match_of_three();
    config.keep_seat_ms = 3000;
    config.timeout_ms = 5000;
    ls_session_config session = player();
    start(&config, &session);
    virtual_client *client = run->clients[2];
    cut_link(client, true);
    virtual_match_run(run, 12 * SECOND);
    cut_link(client, false);
    virtual_match_run(run, 10 * SECOND);
    ls_session_report report = report_of(client);
    bool is_told = report.state == LS_SESSION_OVER && report.status == LS_NOT_FOUND;
    bool has_returned = report.state == LS_SESSION_PLAYING; /* the seat was still free */
    cr_assert(is_told || has_returned, "state %d, %s", (int)report.state,
              ls_status_name(report.status));
    close_match(run);
}

/* ---- watching ---- */

Test(reconnect, a_spectator_comes_late_and_comes_back)
{
    ls_match_config config = match_of_three();
    config.spectators_max = 4;
    ls_session_config session = player();
    start(&config, &session);
    session.is_spectator = true;
    virtual_client *spectator = add_client_session(run, &session, &far);
    cr_assert(virtual_client_run_to_state(spectator, LS_SESSION_PLAYING, 10 * SECOND));
    virtual_match_run(run, 5 * SECOND);
    ls_session_report report = report_of(spectator);
    cr_assert_geq(report.tick + 120, ls_match_tick(run->match), "tick %u of %u", report.tick,
                  ls_match_tick(run->match));
    cr_assert_leq(report.tick + 60, ls_match_tick(run->match), "it sees the past");
    uint64_t stalled = report.stalled_ticks;
    ls_tick stepped = client_check_of(spectator)->tick;
    virtual_match_run(run, 5 * SECOND);
    cr_assert_leq(report_of(spectator).stalled_ticks - stalled, 30);
    cr_assert_geq(client_check_of(spectator)->tick - stepped, 250);

    cut_link(spectator, true);
    virtual_match_run(run, 20 * SECOND);
    cut_link(spectator, false);
    cr_assert(virtual_client_run_to_state(spectator, LS_SESSION_PLAYING, 15 * SECOND));
    virtual_match_run(run, 3 * SECOND);
    report = report_of(spectator);
    cr_assert_eq(report.rejoins, 1);
    cr_assert_geq(report.tick + 150, ls_match_tick(run->match));
    cr_assert_eq(ls_match_spectating_of(run->match).desynced, 0);
    close_match(run);
}

Test(reconnect, the_end_reaches_a_client_that_was_away)
{
    ls_match_config config = match_of_three();
    config.ticks = 900;
    ls_session_config session = player();
    start(&config, &session);
    cut_link(run->clients[1], true);
    virtual_match_run(run, 6 * SECOND);
    cut_link(run->clients[1], false);
    virtual_match_run_to_end(run);
    for (uint32_t i = 0; i < RECONNECT_PLAYERS; i++) {
        cr_assert_eq(report_of(run->clients[i]).status, LS_OK, "client %u: %s", i,
                     ls_status_name(report_of(run->clients[i]).status));
        cr_assert_eq(report_of(run->clients[i]).tick, 900);
    }
    close_match(run);
}

/* ---- the end ---- */

/* Everybody's link is cut over the last tick. */
static void lose_the_end(uint64_t ns)
{
    ls_match_config config = match_of_three();
    config.ticks = 360;
    ls_session_config session = player();
    start(&config, &session);
    cut_all_links(true);
    virtual_match_run(run, ns);
    cut_all_links(false);
    virtual_match_run(run, 8 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_OVER);
}

Test(reconnect, a_client_back_for_the_end_is_sent_what_it_lacks_of_it)
{
    lose_the_end(2500 * MS);
    for (uint32_t i = 0; i < run->client_count; i++) {
        ls_session_report report = report_of(run->clients[i]);
        cr_assert_eq(report.state, LS_SESSION_OVER);
        cr_assert_eq(report.status, LS_OK, "%s", ls_status_name(report.status));
        cr_assert_eq(report.tick, 360u);
        cr_assert(ls_match_slot_of(run->match, i).has_finished);
        cr_assert_eq(ls_match_slot_of(run->match, i).finished.state_hash,
                     ls_match_hash(run->match));
    }
    close_match(run);
}

Test(reconnect, the_end_is_waited_for_five_seconds_and_no_longer)
{
    lose_the_end(7 * SECOND);
    for (uint32_t i = 0; i < run->client_count; i++) {
        ls_session_report report = report_of(run->clients[i]);
        cr_assert_neq(report.status, LS_OK);
        cr_assert_not(ls_match_slot_of(run->match, i).has_finished);
    }
    close_match(run);
}

/* ---- a process that crashed ---- */

Test(reconnect, a_client_process_that_is_started_again_gets_its_seat_back_at_once)
{
    start_usual();
    virtual_client *crashed = run->clients[1];
    virtual_client *again = start_again(crashed, run->setup.match.simulation);
    cr_assert(virtual_client_run_to_state(again, LS_SESSION_PLAYING, 2 * SECOND));
    cr_assert_eq(report_of(again).slot, report_of(crashed).slot);
    virtual_match_run(run, SECOND);
    check_plays(again);
    cr_assert_eq(seat_of(again).rejoins, 1);
    virtual_match_destroy(run);
}

/* A client process of another build begins with the seat, is refused with this status, and the seat
 * is still there for one of the right build. */
static void refuse_other_build(const ls_simulation *other, ls_status status)
{
    start_usual();
    virtual_client *crashed = run->clients[1];
    virtual_client *refused = start_again(crashed, other);
    cr_assert(virtual_client_run_to_state(refused, LS_SESSION_OVER, 2 * SECOND));
    cr_assert_eq(report_of(refused).status, status, "%s",
                 ls_status_name(report_of(refused).status));
    /* Its secret is the seat's newest one if it took the seat at all. */
    bool is_newer = virtual_client_count(refused, LS_SESSION_EVENT_SEATED) > 0;
    virtual_match_run(run, 5 * SECOND);
    virtual_client *again = start_again(is_newer ? refused : crashed, run->setup.match.simulation);
    cr_assert(virtual_client_run_to_state(again, LS_SESSION_PLAYING, 2 * SECOND));
    cr_expect_eq(report_of(again).slot, report_of(crashed).slot);
    virtual_match_run(run, SECOND);
    check_plays(again);
    virtual_match_destroy(run);
}

static ls_status init_otherwise(const ls_sim_config *config, void *state, ls_text *why)
{
    ls_status status = ls_builtin_simulation_named("arena")->init(config, state, why);
    ((uint8_t *)state)[0] ^= 1;
    return status;
}

static uint64_t digest_of_other_content(const ls_sim_config *config)
{
    (void)config;
    return 7;
}

Test(reconnect, seat_is_kept_for_a_client_whose_build_was_refused)
{
    const ls_simulation *right = ls_builtin_simulation_named("arena");
    ls_simulation others[] = {*right, *right, *right};
    others[0].version++;
    others[1].content_digest = digest_of_other_content;
    others[2].init = init_otherwise;
    refuse_other_build(&others[0], LS_SIMULATION_VERSION_MISMATCH);
    refuse_other_build(&others[1], LS_CONTENT_MISMATCH);
    refuse_other_build(&others[2], LS_INITIAL_STATE_MISMATCH);
}

/* A match with three seats that begins with two players; returns the second one. */
static virtual_client *open_for_two(const ls_session_config *session)
{
    ls_match_config config = match_of_three();
    config.start_players = RECONNECT_PLAYERS - 1;
    run = open_match(&config, 11);
    add_client_session(run, session, &far);
    return add_client_session(run, session, &far);
}

/* START was on its way when the link was lost: the server plays with this player, who does not know
 * that. */
Test(reconnect, a_player_that_start_did_not_reach_comes_back_to_its_seat)
{
    ls_session_config session = player();
    virtual_client *client = open_for_two(&session);
    cr_assert(virtual_client_run_to_state(client, LS_SESSION_SEATED, SECOND));
    ls_link_config no_way = {.is_cut = true};
    virtual_client_set_ways(client, &far, &no_way);
    cr_assert(virtual_client_run_to_state(client, LS_SESSION_RECONNECTING, 30 * SECOND));
    cr_assert(virtual_match_find(run, LS_MATCH_STARTED));
    cut_link(client, false);
    cr_assert(virtual_client_run_to_state(client, LS_SESSION_PLAYING, 15 * SECOND));
    cr_assert_eq(report_of(client).slot, 1, "its own seat, not the one that is free");
    close_match(run);
}

Test(reconnect, a_client_that_remembers_a_seat_of_another_match_comes_as_a_newcomer)
{
    ls_session_config session = player();
    open_for_two(&session);
    virtual_match_run(run, 3 * SECOND);
    session.seat.match_id = ls_match_config_of(run->match)->match_id + 1;
    virtual_client *other = add_client_session(run, &session, &far);
    cr_assert(virtual_client_run_to_state(other, LS_SESSION_PLAYING, 2 * SECOND));
    cr_assert_eq(seat_of(other).rejoins, 0);
    check_all_play();
    close_match(run);
}
