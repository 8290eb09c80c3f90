/* The pace of a match: when ticks close, and how often packets leave. */
#include "lockstep/protocol/wire/link_meter.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/match/match_test.h"

/* ==== pacing ==== */

/* When clients make their inputs: early enough to be on time, late enough to be felt at once; and
 * how soon they find that moment again after a network, a clock or a machine has changed. */

/* Long enough for START and the first inputs to arrive on every link here. */
#define START_DELAY_MS 1000

static virtual_match *start(uint32_t players, uint64_t delay_ns)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), players, 0);
    setup.match.start_delay_ms = START_DELAY_MS;
    setup.link.delay_ns = delay_ns;
    return checked_match_create(&setup);
}

/* On a perfect link every input comes between the margin and, above that, two frames early: one
 * because inputs are made in frames, one by which it does not pay to move. */
static void check_leads(const virtual_match *run, uint64_t at_most_ns)
{
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        int64_t slack_ns = slot_of(run, slot).slack_ns;
        cr_assert_gt(slack_ns, 0, "slot %u is %ld ns late", slot, (long)-slack_ns);
        cr_assert_leq(slack_ns, (int64_t)at_most_ns, "slot %u is %ld ns early", slot,
                      (long)slack_ns);
    }
}

/* ---- latency ---- */

typedef struct latency_case {
    uint32_t tick_rate_hz;
    uint32_t frame_hz;
    uint64_t delay_ns;
    bool is_in_frames; /* inputs are made in frames alone */
} latency_case;

/* Made when it is due an input waits for nothing but the margin; in frames, for the frame. */
static void check_latency(const latency_case *one)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, 10 * one->tick_rate_hz);
    setup.match.sim.players = 3;
    setup.match.sim.tick_rate_hz = one->tick_rate_hz;
    setup.match.start_delay_ms = START_DELAY_MS;
    setup.link.delay_ns = one->delay_ns;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.frame_hz = one->frame_hz;
    client.session.makes_inputs_between_frames = !one->is_in_frames;
    add_clients(run, 3, &client);
    play_and_check(run);
    uint64_t bound_ns = 2 * one->delay_ns + 3 * MS;
    bound_ns += one->is_in_frames ? SECOND / one->tick_rate_hz + SECOND / one->frame_hz : 0;
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t p50_ns = report_of(run->clients[i]).confirm_latency_p50_ns;
        cr_assert_leq(p50_ns, bound_ns, "%u Hz, %u fps, %lu ms away: p50 is %lu us, bound %lu",
                      one->tick_rate_hz, one->frame_hz, (unsigned long)(one->delay_ns / MS),
                      (unsigned long)(p50_ns / 1000), (unsigned long)(bound_ns / 1000));
        cr_assert_geq(p50_ns, 2 * one->delay_ns);
    }
    cr_assert_eq(substituted(run), 0, "%u Hz, %u fps, %lu ms away: %lu inputs missing",
                 one->tick_rate_hz, one->frame_hz, (unsigned long)(one->delay_ns / MS),
                 (unsigned long)substituted(run));
    virtual_match_destroy(run);
}

static void check_latencies(bool is_in_frames)
{
    static const uint32_t tick_rates[] = {20, 60, 128};
    static const uint32_t frame_rates[] = {30, 60, 144, 240};
    static const uint64_t delays_ms[] = {0, 10, 33, 150};
    for (uint32_t i = 0; i < 3 * 4 * 4; i++) {
        latency_case one = {.tick_rate_hz = tick_rates[i / 16],
                            .frame_hz = frame_rates[i / 4 % 4],
                            .delay_ns = delays_ms[i % 4] * MS,
                            .is_in_frames = is_in_frames};
        check_latency(&one);
    }
}

Test(pacing, an_input_is_confirmed_within_the_way_and_three_milliseconds)
{
    check_latencies(false);
}

Test(pacing, an_input_made_in_a_frame_is_confirmed_within_the_way_a_tick_and_a_frame)
{
    check_latencies(true);
}

Test(pacing, on_perfect_links_no_input_is_ever_missing)
{
    static const uint64_t delays_ms[] = {0, 1, 10, 33, 150, 300};
    for (size_t i = 0; i < sizeof delays_ms / sizeof delays_ms[0]; i++) {
        virtual_match *run = start(4, delays_ms[i] * MS);
        virtual_match_run_to_tick(run, 1200);
        cr_assert_eq(substituted(run), 0, "%lu ms away: %lu substituted",
                     (unsigned long)delays_ms[i], (unsigned long)substituted(run));
        check_leads(run, 2 * MS + 2 * DT_NS);
        close_run(run);
    }
}

Test(pacing, input_delay_makes_inputs_that_much_earlier)
{
    static const uint32_t delays[] = {1, 6, 30, LS_INPUT_DELAY_TICKS_MAX};
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        virtual_setup setup = virtual_setup_default(test_simulation(), 2, 900);
        setup.match.input_delay_ticks = delays[i];
        virtual_match *run = match_at(&setup, 600);
        int64_t least_ns = (int64_t)(delays[i] * DT_NS);
        cr_assert_geq(slot_of(run, 0).slack_ns, least_ns);
        check_leads(run, (uint64_t)least_ns + 2 * MS + 2 * DT_NS);
        play_out(run);
    }
}

/* From tick `first` to the newest, no input is missing, made twice or more than 6 % of a tick off
 * the pace; returns the newest. */
static ls_tick check_spacing(const virtual_client *client, ls_tick first)
{
    ls_tick end = report_of(client).next_input;
    cr_assert_gt(end, first + 1);
    for (ls_tick tick = first + 1; tick < end; tick++) {
        cr_assert_neq(client_check_of(client)->made_at[tick], 0, "input %u is missing", tick);
        uint64_t apart_ns =
            client_check_of(client)->made_at[tick] - client_check_of(client)->made_at[tick - 1];
        cr_assert_geq(apart_ns, DT_NS - DT_NS * 6 / 100, "input %u: %lu us", tick,
                      (unsigned long)(apart_ns / 1000));
        cr_assert_leq(apart_ns, DT_NS + DT_NS * 6 / 100, "input %u: %lu us", tick,
                      (unsigned long)(apart_ns / 1000));
    }
    return end - 1;
}

/* The server can say slacks of up to half a second. */
static void change_delays(ls_late_rule rule)
{
    static const uint32_t delays[] = {6, 1, 28, 0};
    virtual_setup setup = virtual_setup_default(test_simulation(), 3, 0);
    setup.match.late_rule = rule;
    setup.match.start_delay_ms = START_DELAY_MS;
    setup.link.delay_ns = 33 * MS;
    virtual_match *run = checked_match_create(&setup);
    virtual_client *client = run->clients[1];
    virtual_match_run_to_tick(run, 300);
    ls_tick checked = report_of(client).next_input - 1;
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        ls_session_set_input_delay(client->session, delays[i]);
        virtual_match_run(run, 10 * SECOND);
        checked = check_spacing(client, checked);
        int64_t slack_ns = seat_of(client).slack_ns;
        int64_t least_ns = (int64_t)(delays[i] * DT_NS);
        cr_assert_geq(slack_ns, least_ns + (int64_t)MS, "delay %u: %ld us", delays[i],
                      (long)slack_ns / 1000);
        cr_assert_leq(slack_ns, least_ns + 3 * (int64_t)MS, "delay %u: %ld us", delays[i],
                      (long)slack_ns / 1000);
    }
    cr_assert_eq(substituted(run), 0);
    close_run(run);
}

Test(pacing, input_delay_changes_without_a_hitch)
{
    change_delays(LS_LATE_REPEAT);
}

Test(pacing, input_delay_changes_without_a_hitch_under_the_rule_wait)
{
    change_delays(LS_LATE_WAIT);
}

/* As the server may send it at any time. */
static void send_input_delay(const virtual_client *client, uint32_t ticks)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_message message = {.kind = LS_MESSAGE_INPUT_DELAY, .body.input_delay_ticks = ticks};
    size_t size = ls_message_write(&message, bytes);
    ls_session_receive(client->session, LS_CHANNEL_RELIABLE, bytes, size,
                       virtual_client_ns(client));
}

Test(pacing, input_delay_is_changed_by_the_server_too)
{
    virtual_match *run = start(2, 33 * MS);
    virtual_client *client = run->clients[0];
    virtual_match_run_to_tick(run, 300);
    ls_tick made = report_of(client).next_input - 1;
    send_input_delay(client, 5);
    virtual_match_run(run, 3 * SECOND);
    cr_assert_eq(report_of(client).input_delay_ticks, 5);
    cr_assert_eq(report_of(run->clients[1]).input_delay_ticks, 0);
    check_spacing(client, made);
    int64_t slack_ns = seat_of(client).slack_ns;
    cr_assert_geq(slack_ns, (int64_t)(5 * DT_NS + MS));
    cr_assert_leq(slack_ns, (int64_t)(5 * DT_NS + 3 * MS));
    close_run(run);
}

/* ---- round trips ---- */

/* As both sides measure it, within a quarter of a millisecond of hold and what a frame rounds. */
static void check_round_trips(const virtual_match *run, uint64_t rtt_ns)
{
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        uint64_t by_server_ns = slot_of(run, slot).rtt_ns;
        uint64_t by_client_ns = report_of(check_of(run)->by_slot[slot]->core).rtt_ns;
        cr_assert_geq(by_server_ns, rtt_ns - MS, "slot %u: %lu us", slot,
                      (unsigned long)(by_server_ns / 1000));
        cr_assert_leq(by_server_ns, rtt_ns + 2 * MS, "slot %u: %lu us", slot,
                      (unsigned long)(by_server_ns / 1000));
        cr_assert_geq(by_client_ns, rtt_ns - MS, "slot %u: %lu us", slot,
                      (unsigned long)(by_client_ns / 1000));
        cr_assert_leq(by_client_ns, rtt_ns + 2 * MS, "slot %u: %lu us", slot,
                      (unsigned long)(by_client_ns / 1000));
    }
}

Test(pacing, both_sides_measure_the_round_trip_and_follow_it)
{
    virtual_match *run = start(3, 10 * MS);
    virtual_match_run_to_tick(run, 120);
    check_round_trips(run, 20 * MS);
    ls_link_config slow = {.delay_ns = 120 * MS};
    virtual_match_set_links(run, &slow);
    virtual_match_run_to_tick(run, 300);
    check_round_trips(run, 240 * MS);
    ls_link_config fast = {.delay_ns = 40 * MS};
    virtual_match_set_links(run, &fast);
    virtual_match_run_to_tick(run, 480);
    check_round_trips(run, 80 * MS);
    close_run(run);
}

/* ---- networks that change ---- */

Test(pacing, a_slower_network_costs_a_round_trip_of_inputs_and_no_more)
{
    virtual_match *run = start(4, 1 * MS);
    virtual_match_run_to_tick(run, 300);
    cr_assert_eq(substituted(run), 0);
    ls_link_config slow = {.delay_ns = 200 * MS};
    virtual_match_set_links(run, &slow);
    virtual_match_run_to_tick(run, 360);
    uint64_t lost = substituted(run);
    /* Inputs on their way and those made until the events is back: 400 ms. */
    cr_assert_leq(lost, 4 * (400 * MS / DT_NS + 15), "%lu inputs lost", (unsigned long)lost);
    cr_assert_gt(lost, 0);
    virtual_match_run_to_tick(run, 600);
    cr_assert_eq(substituted(run), lost);
    check_leads(run, 2 * MS + 2 * DT_NS);
    close_run(run);
}

Test(pacing, a_faster_network_is_used_within_two_seconds)
{
    virtual_match *run = start(4, 200 * MS);
    virtual_match_run_to_tick(run, 300);
    ls_link_config fast = {.delay_ns = 10 * MS};
    virtual_match_set_links(run, &fast);
    virtual_match_run_to_tick(run, 420);
    check_leads(run, 2 * MS + 3 * DT_NS);
    virtual_match_run_to_tick(run, 600);
    check_leads(run, 2 * MS + 2 * DT_NS);
    cr_assert_eq(substituted(run), 0);
    close_run(run);
}

Test(pacing, at_a_thousand_ticks_a_second_too)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 3, 0);
    setup.match.sim.tick_rate_hz = 1000;
    setup.match.sim.params[TEST_PARAM_BYTES] = 0;
    virtual_match *run = match_at(&setup, 1000);
    cr_assert_eq(substituted(run), 0);
    ls_link_config link = {.delay_ns = 50 * MS};
    virtual_match_set_links(run, &link);
    virtual_match_run_to_tick(run, 2000);
    uint64_t lost = substituted(run);
    check_leads(run, 2 * MS + 2 * DT_NS);
    link.delay_ns = 10 * MS;
    virtual_match_set_links(run, &link);
    virtual_match_run_to_tick(run, 5000);
    check_leads(run, 2 * MS + 2 * DT_NS);
    cr_assert_eq(substituted(run), lost);
    close_run(run);
}

Test(pacing, lossy_links_keep_a_lead_that_covers_what_is_sent_again)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 4, 0);
    setup.link = (ls_link_config){.delay_ns = 30 * MS, .jitter_ns = 5 * MS, .loss_ppm = 200000};
    virtual_match *run = match_at(&setup, 300);
    uint64_t before = substituted(run);
    virtual_match_run_to_tick(run, 1500);
    uint64_t lost = substituted(run) - before;
    cr_assert_leq(lost, 4 * 1200 / 50, "%lu of 4800 inputs missing", (unsigned long)lost);
    close_run(run);
}

/* ---- clocks ---- */

Test(pacing, clocks_that_run_fast_and_slow_miss_no_tick)
{
    static const int32_t drifts_ppm[] = {-500, 0, 500};
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, 60 * 60);
    setup.match.sim.players = 3;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 3; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        client.drift_ppm = drifts_ppm[i];
        virtual_match_add_client(run, &client);
    }
    play_and_check(run);
    cr_assert_eq(substituted(run), 0);
    for (uint32_t i = 0; i < 3; i++) {
        ls_session_report report = report_of(run->clients[i]);
        cr_assert_leq(report.stalled_ticks, 5, "client %u stalled for %lu ticks", i,
                      (unsigned long)report.stalled_ticks);
        cr_assert_leq(report.confirm_latency_max_ns, 20 * MS + 3 * DT_NS);
    }
    virtual_match_destroy(run);
}

/* ---- machines that stand still ---- */

Test(pacing, a_client_that_draws_nothing_for_a_second_is_back_within_one)
{
    virtual_match *run = start(3, 20 * MS);
    virtual_match_run_to_tick(run, 200);
    virtual_client *frozen = run->clients[1];
    uint32_t slot = report_of(frozen).slot;
    frozen->is_paused = true;
    virtual_match_run_to_tick(run, 260);
    frozen->is_paused = false;
    virtual_match_run_to_tick(run, 320);
    ls_match_slot back = slot_of(run, slot);
    cr_assert_geq(back.inputs_substituted, 50);
    cr_assert_leq(back.inputs_substituted, 65);
    cr_assert_leq(ls_match_tick(run->match) - report_of(frozen).tick, 6);
    check_leads(run, 2 * MS + 3 * DT_NS);
    virtual_match_run_to_tick(run, 600);
    cr_assert_eq(slot_of(run, slot).inputs_substituted, back.inputs_substituted);
    cr_assert_eq(substituted(run), back.inputs_substituted, "others lost inputs as well");
    check_leads(run, 2 * MS + 2 * DT_NS);
    close_run(run);
}

Test(pacing, one_long_frame_does_not_make_later_inputs_earlier)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, 0);
    setup.match.sim.players = 2;
    setup.match.start_delay_ms = START_DELAY_MS;
    setup.link.delay_ns = 20 * MS;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.session.makes_inputs_between_frames = false; /* or nothing stands still */
    add_clients(run, 2, &client);
    virtual_match_run_to_tick(run, 200);
    run->clients[0]->next_frame_ns += 300 * MS;
    virtual_match_run_to_tick(run, 250);
    uint64_t lost = substituted(run);
    cr_assert_geq(lost, 10);
    check_leads(run, 2 * MS + 3 * DT_NS);
    virtual_match_run_to_tick(run, 400);
    cr_assert_eq(substituted(run), lost);
    close_run(run);
}

Test(pacing, a_server_that_stood_still_is_followed_within_five_seconds)
{
    virtual_match *run = start(4, 20 * MS);
    virtual_match_run_to_tick(run, 300);
    virtual_match_suspend_server(run, 3 * SECOND);
    cr_assert_eq(ls_match_tick(run->match), 300);
    virtual_match_run(run, 5 * SECOND);
    cr_assert_geq(ls_match_tick(run->match), 300 + 5 * 60);
    check_leads(run, 2 * MS + 10 * DT_NS);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_PLAYER_LEFT, LS_PLAYERS_MAX), 0);
    cr_assert_eq(substituted(run), 0);
    virtual_match_run(run, 2 * SECOND);
    check_leads(run, 2 * MS + 2 * DT_NS);
    close_run(run);
}

/* Packets leave between two turns: several ticks in one would be as long a silence. */
Test(pacing, a_server_that_does_not_keep_pace_closes_one_tick_a_turn)
{
    virtual_match *run = start(2, 0);
    virtual_match_run(run, 3 * SECOND);
    uint64_t dt_ns = SECOND / 60;
    uint64_t now_ns = virtual_match_server_ns(run) + dt_ns;
    for (uint32_t turn = 0; turn < 40; turn++) {
        ls_tick before = ls_match_tick(run->match);
        cr_assert_leq(ls_match_next_ns(run->match), now_ns + 1, "there is always one due");
        ls_match_advance(run->match, now_ns);
        uint32_t closed = ls_match_tick(run->match) - before;
        cr_assert_eq(closed, 1, "turn %u closes %u ticks", turn, closed);
        now_ns += 3 * dt_ns * closed;
    }
    ls_tick before = ls_match_tick(run->match);
    for (uint32_t turn = 0; ls_match_next_ns(run->match) <= now_ns + 1; turn++) {
        cr_assert_lt(turn, 100);
        ls_match_advance(run->match, now_ns++);
    }
    cr_assert_gt(ls_match_tick(run->match), before + 5, "it catches up once it can");
    cr_assert_leq(ls_match_tick(run->match), before + 16,
                  "with no more than a quarter of a second");
    virtual_match_destroy(run);
}

/* Ticks that came late are shown late, but not for the rest of the match. */
Test(pacing, the_shown_tick_catches_up_with_the_known_ones)
{
    virtual_match *run = start(2, 20 * MS);
    virtual_match_run_to_tick(run, 200);
    ls_link_config clean = {.delay_ns = 20 * MS};
    ls_link_config cut = {.is_cut = true};
    ls_memory_client_set_links(run->clients[0]->transport, &clean, &cut);
    virtual_match_run(run, 200 * MS);
    ls_memory_client_set_links(run->clients[0]->transport, &clean, &clean);
    virtual_match_run(run, 200 * MS);
    ls_session_report behind = report_of(run->clients[0]);
    cr_assert_geq(behind.confirmed - behind.tick, 6);
    virtual_match_run(run, 8 * SECOND);
    ls_session_report after = report_of(run->clients[0]);
    cr_assert_leq(after.confirmed - after.tick, 3);
    close_run(run);
}

/* ==== send_rate ==== */

/* How many packets go each way: as configured, and with `auto` twice as many in just the direction
 * that loses many. The same match is played at any rate. */

enum {
    PLAYERS = 3,
    TICK_RATE_HZ = 60,
    SECONDS = 10,
};

/* Packets of one client in one second of the match, each way. */
typedef struct rates {
    double up;
    double down;
} rates;

static ls_transport_traffic traffic_of(const virtual_client *client)
{
    uint32_t slot = report_of(client).slot;
    return ls_transport_traffic_of(client->run->network->server, slot_of(client->run, slot).peer);
}

/* As the server counts them: `up` are those that arrived. */
static rates measure(virtual_client *client)
{
    ls_transport_traffic before = traffic_of(client);
    virtual_match_run(client->run, SECONDS * SECOND);
    ls_transport_traffic after = traffic_of(client);
    return (rates){.up = (double)(after.packets_received - before.packets_received) / SECONDS,
                   .down = (double)(after.packets_sent - before.packets_sent) / SECONDS};
}

static virtual_match *start_at_rate(ls_send_rate send_rate, uint64_t delay_ns)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.send_rate = send_rate;
    setup.match.sim.tick_rate_hz = TICK_RATE_HZ;
    setup.link.delay_ns = delay_ns;
    virtual_match *run = match_at(&setup, 120);
    return run;
}

static void check_rate(ls_send_rate send_rate, uint64_t delay_ns, double packets)
{
    virtual_match *run = start_at_rate(send_rate, delay_ns);
    rates seen = measure(run->clients[1]);
    cr_assert(seen.down >= packets - 1 && seen.down <= packets + 1, "%f down", seen.down);
    cr_assert(seen.up >= packets - 1 && seen.up <= packets + 1, "%f up", seen.up);
    close_run(run);
}

Test(send_rate, half_sends_one_packet_for_two_ticks)
{
    check_rate(LS_SEND_HALF, 30 * MS, TICK_RATE_HZ / 2.0);
}

Test(send_rate, tick_sends_one_packet_a_tick)
{
    check_rate(LS_SEND_TICK, 30 * MS, TICK_RATE_HZ);
}

Test(send_rate, double_sends_two_packets_a_tick)
{
    check_rate(LS_SEND_DOUBLE, 30 * MS, 2.0 * TICK_RATE_HZ);
}

Test(send_rate, auto_sends_one_packet_a_tick_while_nothing_is_lost)
{
    check_rate(LS_SEND_AUTO, 30 * MS, TICK_RATE_HZ);
}

Test(send_rate, a_spectator_sends_two_packets_a_second)
{
    enum {
        DOWN = TICK_RATE_HZ / 6
    };
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.sim.tick_rate_hz = TICK_RATE_HZ;
    setup.match.spectators_max = 1;
    setup.link.delay_ns = 30 * MS;
    virtual_match *run = match_at(&setup, 120);
    virtual_client_setup spectator = virtual_client_setup_default(run);
    spectator.session.is_spectator = true;
    virtual_client *client = virtual_match_add_client(run, &spectator);
    virtual_match_run(run, 5 * SECOND);
    cr_assert_eq(report_of(client).state, LS_SESSION_PLAYING);
    ls_peer_id peer = PLAYERS + 1;
    ls_transport_traffic before = ls_transport_traffic_of(run->network->server, peer);
    virtual_match_run(run, SECONDS * SECOND);
    ls_transport_traffic after = ls_transport_traffic_of(run->network->server, peer);
    uint64_t up = after.packets_received - before.packets_received;
    uint64_t down = after.packets_sent - before.packets_sent;
    cr_assert(up >= 2 * SECONDS - 1 && up <= 2 * SECONDS + 1, "%lu up", (unsigned long)up);
    cr_assert(down >= DOWN * SECONDS - 1 && down <= DOWN * SECONDS + 1, "%lu down",
              (unsigned long)down);
    close_run(run);
}

/* Bytes of one client in a second, each way. */
static rates measure_bytes(uint64_t delay_ns)
{
    virtual_match *run = start_at_rate(LS_SEND_AUTO, delay_ns);
    virtual_match_run(run, 4 * SECOND); /* until both directions are known to lose nothing */
    ls_transport_traffic before = traffic_of(run->clients[1]);
    virtual_match_run(run, SECONDS * SECOND);
    ls_transport_traffic after = traffic_of(run->clients[1]);
    close_run(run);
    return (rates){.up = (double)(after.bytes_received - before.bytes_received) / SECONDS,
                   .down = (double)(after.bytes_sent - before.bytes_sent) / SECONDS};
}

Test(send_rate, a_longer_round_trip_costs_no_bytes_while_nothing_is_lost)
{
    rates near = measure_bytes(30 * MS);
    rates far = measure_bytes(300 * MS);
    cr_assert_leq(far.up, near.up * 1.05, "%f and %f up", near.up, far.up);
    cr_assert_leq(far.down, near.down * 1.05, "%f and %f down", near.down, far.down);
}

/* More packets in a row than carry a tick. */
Test(send_rate, what_is_lost_in_a_burst_comes_after_a_round_trip)
{
    enum {
        DELAY_MS = 100
    };
    virtual_match *run = start_at_rate(LS_SEND_AUTO, DELAY_MS * MS);
    virtual_match_run(run, 4 * SECOND);
    virtual_client *client = run->clients[1];
    const ls_link_config clean = {.delay_ns = DELAY_MS * MS};
    const ls_link_config cut = {.delay_ns = DELAY_MS * MS, .loss_ppm = 1000000};
    ls_memory_client_set_links(client->transport, &cut, &cut);
    virtual_match_run(run, 100 * MS);
    ls_memory_client_set_links(client->transport, &clean, &clean);
    ls_tick closed = ls_match_tick(run->match);
    virtual_match_run(run, (2 * DELAY_MS + DELAY_MS + 50) * MS);
    cr_assert_geq(report_of(client).confirmed, closed);
    close_run(run);
}

/* At 5 ticks a second an answer is there before the half of a tick has passed. */
Test(send_rate, double_sends_nothing_twice_that_is_acknowledged)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.send_rate = LS_SEND_DOUBLE;
    setup.match.sim.tick_rate_hz = 5;
    virtual_match *run = match_at(&setup, 20);
    rates seen = measure(run->clients[1]);
    /* There is the heartbeat of 100 ms. */
    cr_assert_leq(seen.down, 11);
    virtual_match_destroy(run);
}

static void check_auto(const ls_link_config *up, const ls_link_config *down, rates expected)
{
    virtual_match *run = start_at_rate(LS_SEND_AUTO, 30 * MS);
    virtual_client *lossy = run->clients[1];
    ls_memory_client_set_links(lossy->transport, up, down);
    virtual_match_run(run, 8 * SECOND); /* until two windows of packets have been measured */
    rates seen = measure(lossy);
    cr_assert_float_eq(seen.up, expected.up, expected.up / 20, "%f up", seen.up);
    cr_assert_float_eq(seen.down, expected.down, expected.down / 20, "%f down", seen.down);
    virtual_client_set_links(lossy, &run->setup.link);
    virtual_match_run(run, 20 * SECOND);
    seen = measure(lossy);
    cr_assert_float_eq(seen.up, TICK_RATE_HZ, 1, "%f up after it", seen.up);
    cr_assert_float_eq(seen.down, TICK_RATE_HZ, 1, "%f down after it", seen.down);
    rates other = measure(run->clients[0]);
    cr_assert_float_eq(other.up, TICK_RATE_HZ, 1);
    cr_assert_float_eq(other.down, TICK_RATE_HZ, 1);
    close_run(run);
}

Test(send_rate, auto_doubles_the_direction_that_loses_many_and_no_other)
{
    ls_link_config clean = {.delay_ns = 30 * MS};
    ls_link_config lossy = {.delay_ns = 30 * MS, .loss_ppm = 100000};
    check_auto(&clean, &lossy, (rates){.up = TICK_RATE_HZ, .down = 2 * TICK_RATE_HZ});
    check_auto(&lossy, &clean, (rates){.up = 0.9 * 2 * TICK_RATE_HZ, .down = TICK_RATE_HZ});
}

/* Mean of all clients, when each way of each of them loses so much; `closed`: ticks of that time.
 */
static rates measure_all_losing(uint32_t loss_ppm, ls_tick *closed)
{
    virtual_match *run = start_at_rate(LS_SEND_AUTO, 50 * MS);
    const ls_link_config lossy = {.delay_ns = 50 * MS, .loss_ppm = loss_ppm};
    rates sum = {0, 0};
    for (uint32_t i = 0; i < PLAYERS; i++) {
        virtual_client_set_links(run->clients[i], &lossy);
    }
    virtual_match_run(run, 12 * SECOND); /* until the loss is reported, and the lead is known */
    ls_tick first = ls_match_tick(run->match);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        rates seen = measure(run->clients[i]);
        sum.up += seen.up / PLAYERS;
        sum.down += seen.down / PLAYERS;
    }
    *closed = (ls_match_tick(run->match) - first) / PLAYERS;
    close_run(run);
    return sum;
}

/* The tick comes a tick later with the next packet. In a match of so few one in six is sent twice.
 */
Test(send_rate, auto_sends_few_ticks_twice_where_some_packets_are_lost)
{
    ls_tick closed = 0;
    rates seen = measure_all_losing(50000, &closed);
    cr_assert_float_eq(seen.down, TICK_RATE_HZ + TICK_RATE_HZ / LS_SEND_SOME_TICKS, 3, "%f down",
                       seen.down);
    cr_assert_float_eq(closed, SECONDS * TICK_RATE_HZ, 1);
}

Test(send_rate, auto_sends_all_ticks_twice_where_packets_in_a_row_are_lost)
{
    ls_tick closed = 0;
    rates seen = measure_all_losing(150000, &closed);
    cr_assert_float_eq(seen.down, 2 * TICK_RATE_HZ, 2, "%f down", seen.down);
    cr_assert_float_eq(closed, SECONDS * TICK_RATE_HZ, 1);
}

/* A match of clients whose inputs are delayed, by which packets may wait. */
static virtual_match *start_saving(uint32_t input_delay_ticks)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.send_rate = LS_SEND_SAVING;
    setup.match.sim.tick_rate_hz = TICK_RATE_HZ;
    setup.match.input_delay_ticks = input_delay_ticks;
    setup.link.delay_ns = 30 * MS;
    virtual_match *run = match_at(&setup, 120);
    virtual_match_run(run, 4 * SECOND); /* until both directions are known to lose nothing */
    return run;
}

static void check_saving(uint32_t input_delay_ticks, double packets)
{
    virtual_match *run = start_saving(input_delay_ticks);
    uint64_t before = substituted(run);
    rates seen = measure(run->clients[1]);
    cr_assert_float_eq(seen.up, packets, 1, "%f up", seen.up);
    cr_assert_float_eq(seen.down, packets, 1, "%f down", seen.down);
    cr_assert_eq(substituted(run), before);
    close_run(run);
}

Test(send_rate, saving_sends_one_packet_for_the_ticks_that_inputs_are_delayed)
{
    check_saving(0, TICK_RATE_HZ);
    check_saving(1, TICK_RATE_HZ / 2.0);
    check_saving(3, TICK_RATE_HZ / 4.0);
    check_saving(20, TICK_RATE_HZ / 4.0); /* 67 ms */
}

Test(send_rate, saving_is_auto_while_packets_are_lost)
{
    virtual_match *run = start_saving(3);
    const ls_link_config lossy = {.delay_ns = 30 * MS, .loss_ppm = 20000};
    virtual_client_set_links(run->clients[1], &lossy);
    virtual_match_run(run, 20 * SECOND);
    rates seen = measure(run->clients[1]);
    cr_assert_geq(seen.up, 0.9 * TICK_RATE_HZ, "%f up", seen.up);
    cr_assert_geq(seen.down, 0.9 * TICK_RATE_HZ, "%f down", seen.down);
    virtual_client_set_links(run->clients[1], &run->setup.link);
    virtual_match_run(run, 20 * SECOND);
    seen = measure(run->clients[1]);
    cr_assert_float_eq(seen.up, TICK_RATE_HZ / 4.0, 1, "%f up after it", seen.up);
    cr_assert_float_eq(seen.down, TICK_RATE_HZ / 4.0, 1, "%f down after it", seen.down);
    close_run(run);
}

/* The way up becomes longer than the inputs are early. */
Test(send_rate, saving_ends_with_the_first_late_input)
{
    virtual_match *run = start_saving(3);
    const ls_link_config slow = {.delay_ns = 150 * MS};
    ls_memory_client_set_links(run->clients[1]->transport, &slow, &run->setup.link);
    virtual_match_run(run, 250 * MS); /* until they are missing, a way down, and the next input */
    ls_transport_traffic before = traffic_of(run->clients[1]);
    virtual_match_run(run, 500 * MS);
    ls_transport_traffic after = traffic_of(run->clients[1]);
    cr_assert_geq(after.packets_sent - before.packets_sent, TICK_RATE_HZ / 2 - 1);
    cr_assert_geq(after.packets_received - before.packets_received, TICK_RATE_HZ / 2 - 8);
    close_run(run);
}

/* Packets that arrive up, or leave down, in half a second, a round trip after the next packet
 * behind the first lost one has come. */
static rates measure_after_loss(const ls_link_config *up, const ls_link_config *down)
{
    enum {
        DELAY_MS = 30,
        PACKET_MS = 67,
    };
    virtual_match *run = start_saving(3);
    virtual_client *client = run->clients[1];
    ls_memory_client_set_links(client->transport, up, down);
    virtual_match_run(run, PACKET_MS * MS);
    virtual_client_set_links(client, &run->setup.link);
    virtual_match_run(run, (PACKET_MS + 2 * DELAY_MS + 17) * MS);
    ls_transport_traffic before = traffic_of(client);
    virtual_match_run(run, 500 * MS);
    ls_transport_traffic after = traffic_of(client);
    close_run(run);
    return (rates){.up = (double)(after.packets_received - before.packets_received),
                   .down = (double)(after.packets_sent - before.packets_sent)};
}

Test(send_rate, saving_ends_a_round_trip_after_the_first_lost_packet)
{
    const ls_link_config clean = {.delay_ns = 30 * MS};
    const ls_link_config cut = {.delay_ns = 30 * MS, .loss_ppm = 1000000};
    rates seen = measure_after_loss(&cut, &clean);
    cr_expect_geq(seen.up, TICK_RATE_HZ / 2 - 1, "%f up", seen.up);
    seen = measure_after_loss(&clean, &cut);
    cr_expect_geq(seen.down, TICK_RATE_HZ / 2 - 1, "%f down", seen.down);
}

/* Bots that press nothing, whose packets are lost on the way up: how many arrive. */
static double measure_unchanged(ls_late_rule rule, uint64_t *substituted)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.late_rule = rule;
    setup.match.sim.tick_rate_hz = TICK_RATE_HZ;
    setup.match.sim.params[TEST_PARAM_BYTES] = 0;
    setup.link.delay_ns = 30 * MS;
    virtual_match *run = match_at(&setup, 120);
    const ls_link_config clean = {.delay_ns = 30 * MS};
    const ls_link_config lossy = {.delay_ns = 30 * MS, .loss_ppm = 100000};
    ls_memory_client_set_links(run->clients[1]->transport, &lossy, &clean);
    virtual_match_run(run, 12 * SECOND); /* until the loss is reported, and the lead is known */
    rates seen = measure(run->clients[1]);
    ls_memory_client_set_links(run->clients[1]->transport, &clean, &clean);
    virtual_match_run(run, 1 * SECOND);
    *substituted = slot_of(run, report_of(run->clients[1]).slot).inputs_substituted;
    close_run(run);
    return seen.up;
}

Test(send_rate, auto_sends_once_what_is_replaced_with_itself)
{
    uint64_t substituted = 0;
    double up = measure_unchanged(LS_LATE_REPEAT, &substituted);
    cr_assert_float_eq(up, 0.9 * TICK_RATE_HZ, 3, "%f up", up);
    cr_assert_eq(substituted, 0);
}

Test(send_rate, auto_sends_all_twice_where_the_match_would_wait)
{
    uint64_t substituted = 0;
    double up = measure_unchanged(LS_LATE_WAIT, &substituted);
    cr_assert_float_eq(up, 0.9 * 2 * TICK_RATE_HZ, 6, "%f up", up);
}

Test(send_rate, every_rate_plays_the_same_match_on_any_network)
{
    static const ls_link_config links[] = {
        {.delay_ns = 0},
        {.delay_ns = 40 * MS, .jitter_ns = 30 * MS, .loss_ppm = 200000, .duplicate_ppm = 100000},
    };
    for (uint32_t i = 0; i < 2 * LS_SEND_RATE_COUNT * 2; i++) {
        virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 301);
        setup.match.send_rate = (ls_send_rate)(i / 4);
        setup.match.late_rule = i & 1 ? LS_LATE_WAIT : LS_LATE_REPEAT;
        setup.link = links[i >> 1 & 1];
        virtual_match *run = checked_match_create(&setup);
        play_out(run);
    }
}
