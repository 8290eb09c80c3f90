/* When the ticks that come are stepped: as soon as a frame allows where they come evenly; where
 * they do not, as late as nearly all of them need; at a speed that nobody sees. */
#include "lockstep/tests/match/match_test.h"

enum {
    PLAYERS = 3,
    WARM_TICKS = 600,
    SPEED_MAX_PPM = 50000,
};

/* How often the match is looked at. */
static const uint64_t GLANCE_NS = MS / 2;

typedef struct shown {
    uint64_t longest_wait_ns; /* of any tick: from its arrival to its step */
    uint64_t stalled_ticks;
    uint32_t most_backlog;
} shown;

/* Watches one client for so many ticks. */
static shown watch(virtual_client *client, ls_tick ticks)
{
    static uint64_t arrived_ns[LS_WINDOW_TICKS];
    virtual_match *run = client->run;
    ls_session_report before = report_of(client);
    ls_tick arrived = before.confirmed;
    ls_tick stepped = before.confirmed;
    shown seen = {0};
    while (stepped < before.confirmed + ticks) {
        virtual_match_run(run, GLANCE_NS);
        ls_session_report now = report_of(client);
        cr_assert_leq(now.jitter_buffer_speed_ppm, SPEED_MAX_PPM);
        cr_assert_geq(now.jitter_buffer_speed_ppm, -SPEED_MAX_PPM);
        cr_assert_eq(now.state, LS_SESSION_PLAYING);
        for (; arrived < now.confirmed; arrived++) {
            arrived_ns[arrived % LS_WINDOW_TICKS] = run->now_ns;
        }
        for (; stepped < now.tick; stepped++) {
            uint64_t wait_ns = run->now_ns - arrived_ns[stepped % LS_WINDOW_TICKS];
            seen.longest_wait_ns = wait_ns > seen.longest_wait_ns ? wait_ns : seen.longest_wait_ns;
        }
        uint32_t backlog = now.confirmed - now.tick;
        seen.most_backlog = backlog > seen.most_backlog ? backlog : seen.most_backlog;
    }
    seen.stalled_ticks = report_of(client).stalled_ticks - before.stalled_ticks;
    return seen;
}

static virtual_match *start(uint32_t frame_hz, const ls_link_config *link)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, 0);
    setup.match.sim.players = PLAYERS;
    setup.match.start_delay_ms = 1000;
    setup.link = *link;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.frame_hz = frame_hz;
    add_clients(run, PLAYERS, &client);
    virtual_match_run_to_tick(run, WARM_TICKS);
    return run;
}

Test(jitter_buffer, an_even_tick_is_stepped_within_a_frame_and_two_milliseconds)
{
    static const uint32_t frame_rates_hz[] = {30, 60, 144};
    ls_link_config link = {.delay_ns = 33 * MS};
    for (size_t i = 0; i < sizeof frame_rates_hz / sizeof frame_rates_hz[0]; i++) {
        virtual_match *run = start(frame_rates_hz[i], &link);
        shown seen = watch(run->clients[1], 1200);
        cr_assert_leq(seen.longest_wait_ns, SECOND / frame_rates_hz[i] + 2 * MS + GLANCE_NS,
                      "%u fps: %lu us", frame_rates_hz[i],
                      (unsigned long)(seen.longest_wait_ns / 1000));
        cr_assert_eq(seen.stalled_ticks, 0);
        cr_assert_leq(report_of(run->clients[1]).jitter_buffer_delay_ns, 2 * MS);
        close_run(run);
    }
}

Test(jitter_buffer, jitter_is_bought_off_with_its_width)
{
    static const uint64_t widths_ms[] = {5, 20, 50};
    for (size_t i = 0; i < sizeof widths_ms / sizeof widths_ms[0]; i++) {
        uint64_t width_ns = widths_ms[i] * MS;
        ls_link_config link = {.delay_ns = 20 * MS, .jitter_ns = width_ns};
        virtual_match *run = start(144, &link);
        shown seen = watch(run->clients[1], 3000);
        uint64_t delay_ns = report_of(run->clients[1]).jitter_buffer_delay_ns;
        cr_assert_lt(seen.stalled_ticks, 3000 / 100, "%lu stalls",
                     (unsigned long)seen.stalled_ticks);
        cr_assert_leq(delay_ns, width_ns + 3 * MS, "%lu us", (unsigned long)(delay_ns / 1000));
        cr_assert_geq(delay_ns, width_ns / 2, "%lu us", (unsigned long)(delay_ns / 1000));
        close_run(run);
    }
}

Test(jitter_buffer, losses_stall_less_than_one_tick_in_a_hundred)
{
    static const uint32_t losses_ppm[] = {50000, 200000};
    for (size_t i = 0; i < sizeof losses_ppm / sizeof losses_ppm[0]; i++) {
        ls_link_config link = {.delay_ns = 33 * MS, .loss_ppm = losses_ppm[i]};
        virtual_match *run = start(60, &link);
        shown seen = watch(run->clients[1], 3000);
        cr_assert_lt(seen.stalled_ticks, 3000 / 100, "%lu stalls",
                     (unsigned long)seen.stalled_ticks);
        cr_assert_leq(report_of(run->clients[1]).jitter_buffer_delay_ns, 3 * DT_NS);
        close_run(run);
    }
}

Test(jitter_buffer, drifting_clocks_stall_nothing_and_gather_nothing_in_ten_minutes)
{
    static const int32_t drifts_ppm[] = {-500, 500};
    enum {
        TICKS = 10 * 60 * 60
    };
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, TICKS);
    setup.match.sim.players = 2;
    setup.link.delay_ns = 20 * MS;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 2; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        client.drift_ppm = drifts_ppm[i];
        virtual_match_add_client(run, &client);
    }
    uint64_t stalled[2] = {0};
    for (ls_tick tick = WARM_TICKS; tick < TICKS; tick += 60) {
        virtual_match_run_to_tick(run, tick);
        for (uint32_t i = 0; i < 2; i++) {
            ls_session_report report = report_of(run->clients[i]);
            stalled[i] = tick == WARM_TICKS ? report.stalled_ticks : stalled[i];
            cr_assert_eq(report.stalled_ticks, stalled[i], "%d ppm: at %u", drifts_ppm[i], tick);
            cr_assert_leq(report.confirmed - report.tick, 2, "%d ppm", drifts_ppm[i]);
            cr_assert_leq(report.jitter_buffer_delay_ns, 10 * MS);
        }
    }
    virtual_match_run(run, 2 * SECOND);
    check_complete(run);
    virtual_match_destroy(run);
}
