#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/lag/lag_meter.h"
#include "lockstep/common/lag/lag_verdict.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- lag_verdict ---- */

#define DT_NS (10 * LS_NS_PER_MS)

enum {
    TICKS = 1000
};

/* A slot that is well: every input a tick early. */
static ls_lag_figures well(void)
{
    ls_lag_figures figures = {.dt_ns = DT_NS,
                              .ticks = TICKS,
                              .uplink_sent = TICKS,
                              .uplink_samples = TICKS,
                              .reports = 10};
    figures.arrivals[ls_lag_bin(DT_NS, DT_NS)] = TICKS;
    return figures;
}

/* The cause in a slot that is well but for these figures, in a match with two others. */
static void expect(ls_lag_figures figures, ls_lag_cause cause)
{
    ls_lag_figures base = well();
    figures.dt_ns = base.dt_ns;
    figures.ticks = figures.ticks > 0 ? figures.ticks : base.ticks;
    figures.uplink_sent = base.uplink_sent;
    figures.uplink_samples = base.uplink_samples;
    figures.reports = base.reports;
    memcpy(figures.arrivals, base.arrivals, sizeof figures.arrivals);
    ls_lag lag = ls_lag_judge(&figures, 2);
    cr_expect_eq(lag.cause, cause, "%s, not %s", ls_lag_cause_name(lag.cause),
                 ls_lag_cause_name(cause));
}

/* ---- one cause ---- */

Test(lag_verdict, nothing_wrong_is_fine)
{
    expect((ls_lag_figures){0}, LS_LAG_FINE);
    ls_lag_figures nothing = {.dt_ns = DT_NS};
    cr_expect_eq(ls_lag_judge(&nothing, 0).cause, LS_LAG_FINE);
}

Test(lag_verdict, a_hundredth_of_the_ticks_and_a_little_loss_are_fine)
{
    expect((ls_lag_figures){.late_way = 12, .uplink_lost = 19, .downlink_loss = 10 * 5},
           LS_LAG_FINE);
    expect((ls_lag_figures){.late_way = 13, .uplink_lost = 19}, LS_LAG_UPLINK);
    expect((ls_lag_figures){.late_way = 12, .uplink_lost = 20}, LS_LAG_UPLINK);
}

/* In a short stretch one tick is a large share, and harms nobody all the same. */
Test(lag_verdict, one_tick_is_never_a_cause)
{
    expect((ls_lag_figures){.ticks = 50, .late_made = 1}, LS_LAG_FINE);
    expect((ls_lag_figures){.ticks = 50, .late_made = 2}, LS_LAG_COMPUTER);
}

Test(lag_verdict, each_harm_has_its_cause)
{
    static const struct {
        ls_lag_figures figures;
        ls_lag_cause cause;
    } rows[] = {{{.late_made = 20}, LS_LAG_COMPUTER},   {{.frames_late = 20}, LS_LAG_COMPUTER},
                {{.late_way = 20}, LS_LAG_UPLINK},      {{.late_held = 20}, LS_LAG_DOWNLINK},
                {{.stalled_way = 20}, LS_LAG_DOWNLINK}, {{.silent = 20}, LS_LAG_SILENT},
                {{.overdue = 20}, LS_LAG_SERVER},       {{.waited = 20}, LS_LAG_PLAYER}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect(rows[i].figures, rows[i].cause);
        cr_expect_eq(ls_lag_harm(&rows[i].figures, rows[i].cause), 20);
    }
}

/* Late and stalled ticks that are explained are no harm of their own. */
Test(lag_verdict, sums_alone_are_nobodys_fault)
{
    expect((ls_lag_figures){.late = 100, .stalled = 100}, LS_LAG_FINE);
}

Test(lag_verdict, loss_and_jitter_are_their_direction_even_if_nothing_is_late)
{
    expect((ls_lag_figures){.downlink_loss = 10 * 6}, LS_LAG_DOWNLINK);
    expect((ls_lag_figures){.uplink_jitter_ns = TICKS * 8 * LS_NS_PER_MS - TICKS}, LS_LAG_FINE);
    expect((ls_lag_figures){.uplink_jitter_ns = TICKS * 8 * LS_NS_PER_MS}, LS_LAG_UPLINK);
    expect((ls_lag_figures){.downlink_jitter_ns = 10 * 8 * LS_NS_PER_MS}, LS_LAG_DOWNLINK);
}

/* The client's measurement has the server's own unevenness in it. */
Test(lag_verdict, jitter_of_closing_is_not_the_downlinks)
{
    expect((ls_lag_figures){.downlink_jitter_ns = 10 * 16 * LS_NS_PER_MS,
                            .closing_jitter_ns = TICKS * 8 * LS_NS_PER_MS},
           LS_LAG_FINE);
    expect((ls_lag_figures){.downlink_jitter_ns = 10 * 17 * LS_NS_PER_MS,
                            .closing_jitter_ns = TICKS * 8 * LS_NS_PER_MS},
           LS_LAG_DOWNLINK);
}

/* ---- several causes ---- */

Test(lag_verdict, the_greatest_harm_is_named)
{
    expect((ls_lag_figures){.late_made = 40, .late_way = 41}, LS_LAG_UPLINK);
    expect((ls_lag_figures){.late_made = 40, .late_way = 40, .uplink_lost = 30}, LS_LAG_COMPUTER);
    expect((ls_lag_figures){.overdue = 40, .late_made = 41}, LS_LAG_COMPUTER);
    expect((ls_lag_figures){.overdue = 41, .late_made = 41}, LS_LAG_SERVER);
    expect((ls_lag_figures){.silent = 100, .late_made = 200}, LS_LAG_COMPUTER);
    expect((ls_lag_figures){.late_way = 40, .stalled_way = 41}, LS_LAG_DOWNLINK);
}

/* With two others each of three is waited for as long as another where all are alike. */
Test(lag_verdict, who_is_waited_for_itself_has_its_own_cause)
{
    expect((ls_lag_figures){.waited = 400, .held_up = 100, .late_way = 100}, LS_LAG_UPLINK);
    expect((ls_lag_figures){.waited = 401, .held_up = 100, .late_way = 100}, LS_LAG_PLAYER);
}

Test(lag_verdict, who_is_waited_for_longest_is_named)
{
    ls_lag_figures figures = well();
    ls_lag_figures more = well();
    figures.waited = more.waited = 50;
    figures.longest_wait = 20;
    figures.longest_wait_slot = 3;
    more.longest_wait = 21;
    more.longest_wait_slot = 7;
    ls_lag_figures_add(&figures, &more);
    cr_assert_eq(ls_lag_judge(&figures, 8).whom, 7);
    figures.waited = 0;
    cr_assert_eq(ls_lag_judge(&figures, 8).whom, 0);
}

Test(lag_verdict, the_direction_that_loses_more_is_named)
{
    expect((ls_lag_figures){.uplink_lost = 50, .downlink_loss = 10 * 50}, LS_LAG_DOWNLINK);
    expect((ls_lag_figures){.uplink_lost = 200, .downlink_loss = 10 * 14}, LS_LAG_UPLINK);
}

/* Nothing that comes up tells the server what to send, and nothing that comes down tells the client
 * when to. */
Test(lag_verdict, a_way_that_is_all_but_cut_is_the_cause_of_the_other)
{
    expect((ls_lag_figures){.uplink_lost = 400, .stalled_way = 500}, LS_LAG_UPLINK);
    expect((ls_lag_figures){.downlink_loss = 10 * 110, .late_way = 900}, LS_LAG_DOWNLINK);
}

/* 2 % of loss take two ticks until all but a thousandth is through; three times the jitter does. */
Test(lag_verdict, jitter_and_loss_are_weighed_by_the_lead_that_they_cost)
{
    expect((ls_lag_figures){.uplink_lost = 20, .downlink_jitter_ns = 10 * 9 * LS_NS_PER_MS},
           LS_LAG_DOWNLINK);
    expect((ls_lag_figures){.uplink_lost = 200, .downlink_jitter_ns = 10 * 9 * LS_NS_PER_MS},
           LS_LAG_UPLINK);
    expect((ls_lag_figures){.uplink_lost = TICKS}, LS_LAG_UPLINK);
}

/* ---- the cure ---- */

Test(lag_verdict, bins_are_half_ticks_and_end_somewhere)
{
    uint32_t zero = ls_lag_bin(0, DT_NS);
    cr_assert_eq(ls_lag_bin(DT_NS / 2 - 1, DT_NS), zero);
    cr_assert_eq(ls_lag_bin(DT_NS / 2, DT_NS), zero + 1);
    cr_assert_eq(ls_lag_bin(-1, DT_NS), zero - 1);
    cr_assert_eq(ls_lag_bin(-(int64_t)DT_NS / 2, DT_NS), zero - 1);
    cr_assert_eq(ls_lag_bin(-(int64_t)DT_NS / 2 - 1, DT_NS), zero - 2);
    cr_assert_eq(ls_lag_bin(INT64_MIN, DT_NS), 0);
    cr_assert_eq(ls_lag_bin(INT64_MAX, DT_NS), LS_LAG_BINS - 1);
}

Test(lag_verdict, spare_is_what_all_but_a_thousandth_have)
{
    ls_lag_figures figures = {.dt_ns = DT_NS};
    cr_assert_eq(ls_lag_spare_ticks(&figures), 0);
    figures.arrivals[ls_lag_bin(3 * DT_NS, DT_NS)] = 999;
    cr_assert_eq(ls_lag_spare_ticks(&figures), 3);
    figures.arrivals[ls_lag_bin(-7 * (int64_t)DT_NS, DT_NS)] = 1;
    cr_assert_eq(ls_lag_spare_ticks(&figures), 3);
    figures.arrivals[ls_lag_bin(-7 * (int64_t)DT_NS, DT_NS)] = 2;
    cr_assert_eq(ls_lag_spare_ticks(&figures), -7);
    figures.arrivals[ls_lag_bin(-1, DT_NS)] = 1000;
    figures.arrivals[ls_lag_bin(-7 * (int64_t)DT_NS, DT_NS)] = 0;
    cr_assert_eq(ls_lag_spare_ticks(&figures), -1, "late by anything takes a whole tick");
}

static uint32_t delay_for(uint32_t late, int64_t late_ns, uint32_t delay_ticks)
{
    ls_lag_figures figures = well();
    figures.input_delay_ticks = delay_ticks;
    figures.late_way = late;
    figures.late_stretches = 2;
    figures.uplink_lost = 20;
    figures.arrivals[ls_lag_bin(-late_ns, DT_NS)] = late;
    return ls_lag_judge(&figures, 0).suggested_input_delay_ticks;
}

Test(lag_verdict, the_delay_that_helps_is_what_the_late_ones_lack)
{
    cr_assert_eq(delay_for(4, 15 * LS_NS_PER_MS, 0), 0, "none is needed");
    cr_assert_eq(delay_for(5, 15 * LS_NS_PER_MS, 0), 2);
    cr_assert_eq(delay_for(50, 15 * LS_NS_PER_MS, 3), 5, "beyond what it has now");
    cr_assert_eq(delay_for(50, 1, 0), 1);
    cr_assert_eq(delay_for(50, 20 * LS_NS_PER_SECOND, 60), 0, "none that there is would help");
    cr_assert_eq(delay_for(50, 20 * LS_NS_PER_SECOND, 0), 0, "how late they are is not known");
    cr_assert_eq(delay_for(50, 46 * DT_NS, 0), 46);
}

/* The lead follows a way that became longer once. */
Test(lag_verdict, inputs_that_were_late_once_need_no_delay)
{
    ls_lag_figures figures = well();
    figures.late_way = 50;
    figures.arrivals[ls_lag_bin(-(int64_t)DT_NS, DT_NS)] = 50;
    ls_lag_figures_end_stretch(&figures);
    cr_assert_eq(ls_lag_judge(&figures, 0).cause, LS_LAG_UPLINK);
    cr_assert_eq(ls_lag_judge(&figures, 0).suggested_input_delay_ticks, 0);
    ls_lag_figures both = figures;
    ls_lag_figures_add(&both, &figures);
    cr_assert_eq(ls_lag_judge(&both, 0).suggested_input_delay_ticks, 1);
    figures.late_way = 4;
    ls_lag_figures_end_stretch(&figures);
    cr_assert_eq(figures.late_stretches, 0);
}

Test(lag_verdict, no_delay_helps_a_computer_or_a_downlink_or_the_server)
{
    ls_lag_figures figures = well();
    figures.late_way = 50;
    figures.late_stretches = 2;
    figures.arrivals[ls_lag_bin(-(int64_t)DT_NS, DT_NS)] = 50;
    cr_assert_eq(ls_lag_judge(&figures, 0).suggested_input_delay_ticks, 1);
    static const ls_lag_cause others[] = {LS_LAG_COMPUTER, LS_LAG_DOWNLINK, LS_LAG_SERVER,
                                          LS_LAG_PLAYER, LS_LAG_SILENT};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        cr_assert_eq(ls_lag_of_cause(&figures, others[i]).suggested_input_delay_ticks, 0);
    }
}

/* ---- sums and words ---- */

Test(lag_verdict, figures_are_sums)
{
    ls_lag_figures sum = well();
    ls_lag_figures other = well();
    sum.uplink_lost = 10;
    other.uplink_lost = -4; /* what had been counted as lost came after all */
    sum.longest_frame_ms = 17;
    other.longest_frame_ms = 5;
    ls_lag_figures_add(&sum, &other);
    cr_assert_eq(sum.ticks, 2 * TICKS);
    cr_assert_eq(sum.uplink_lost, 6);
    cr_assert_eq(sum.longest_frame_ms, 17);
    cr_assert_eq(sum.arrivals[ls_lag_bin(DT_NS, DT_NS)], 2 * TICKS);
    cr_assert_eq(ls_lag_judge(&sum, 0).uplink_loss_ppm, 3000);
    sum.uplink_lost = -1;
    cr_assert_eq(ls_lag_judge(&sum, 0).uplink_loss_ppm, 0);
}

static void expect_text(const ls_lag *lag, ls_lag_view view, const char *expected)
{
    ls_text text = {{0}};
    ls_lag_text(lag, view, "bob (slot 3)", &text);
    cr_expect_str_eq(text.bytes, expected);
}

Test(lag_verdict, the_text_says_what_and_how_much_and_what_to_try)
{
    ls_lag lag = {.cause = LS_LAG_UPLINK,
                  .uplink_loss_ppm = 48000,
                  .late_ppm = 6000,
                  .suggested_input_delay_ticks = 2};
    expect_text(&lag, LS_LAG_TO_HOST,
                "4.8 % of uplink packets lost, 0.6 % of inputs late; try --input-delay 2");
    expect_text(&lag, LS_LAG_TO_PLAYER, "4.8 % of uplink packets lost, 0.6 % of inputs late");
    lag = (ls_lag){.cause = LS_LAG_UPLINK, .late_ppm = 6000};
    expect_text(&lag, LS_LAG_TO_HOST, "the uplink is slower at times, 0.6 % of inputs late");
    lag = (ls_lag){.cause = LS_LAG_DOWNLINK, .downlink_loss_ppm = 30000, .stalled_ppm = 2000};
    expect_text(&lag, LS_LAG_TO_HOST, "3.0 % of downlink packets lost, 0.2 % of ticks stalled");
    lag = (ls_lag){.cause = LS_LAG_UPLINK, .uplink_jitter_us = 9500};
    expect_text(&lag, LS_LAG_TO_HOST, "the delay of the uplink varies by 9.5 ms");
    lag = (ls_lag){.cause = LS_LAG_COMPUTER, .longest_frame_ms = 310};
    expect_text(&lag, LS_LAG_TO_HOST, "its computer is too slow or too busy (a frame took 310 ms)");
    lag.longest_frame_ms = 0;
    expect_text(&lag, LS_LAG_TO_PLAYER, "this computer is too slow or too busy");
    lag = (ls_lag){.cause = LS_LAG_PLAYER, .lost_ms = 1250, .whom = 3};
    expect_text(&lag, LS_LAG_TO_PLAYER, "the match waited 1.2 s for bob (slot 3)");
    lag = (ls_lag){.cause = LS_LAG_SERVER, .lost_ms = 300};
    expect_text(&lag, LS_LAG_TO_PLAYER,
                "the server closed ticks too late, 0.3 s in all: its machine is too slow or too "
                "busy");
    lag = (ls_lag){.cause = LS_LAG_SILENT};
    expect_text(&lag, LS_LAG_TO_HOST, "nothing is received");
    lag = (ls_lag){.late_ppm = 3};
    expect_text(&lag, LS_LAG_TO_HOST, "no lag");
    expect_text(&lag, LS_LAG_TO_PLAYER, "fine");
}

/* ---- said once ---- */

static bool has_changed_at(ls_lag_said *said, ls_lag_cause cause, uint32_t whom, uint64_t second)
{
    ls_lag lag = {.cause = cause, .whom = whom};
    return ls_lag_has_changed(said, &lag, second * LS_NS_PER_SECOND);
}

Test(lag_verdict, a_verdict_is_said_once_and_again_when_it_changes)
{
    ls_lag_said said = {0};
    cr_assert_not(has_changed_at(&said, LS_LAG_FINE, 0, 100));
    cr_assert(has_changed_at(&said, LS_LAG_COMPUTER, 0, 101));
    for (uint64_t second = 102; second < 200; second++) {
        cr_assert_not(has_changed_at(&said, LS_LAG_COMPUTER, 0, second));
    }
    cr_assert(has_changed_at(&said, LS_LAG_PLAYER, 1, 200));
    cr_assert_not(has_changed_at(&said, LS_LAG_PLAYER, 2, 204), "not more often than every 5 s");
    cr_assert(has_changed_at(&said, LS_LAG_PLAYER, 2, 205), "another player is another verdict");
}

Test(lag_verdict, the_cause_of_a_silence_is_said_as_soon_as_it_is_known)
{
    ls_lag_said said = {0};
    cr_assert(has_changed_at(&said, LS_LAG_SILENT, 0, 101));
    cr_assert_not(has_changed_at(&said, LS_LAG_FINE, 0, 103));
    cr_assert(has_changed_at(&said, LS_LAG_COMPUTER, 0, 103));
    cr_assert_not(has_changed_at(&said, LS_LAG_UPLINK, 0, 105));
}

Test(lag_verdict, what_comes_and_goes_is_said_once)
{
    ls_lag_said said = {0};
    uint32_t count = 0;
    for (uint64_t second = 100; second < 400; second++) {
        count += has_changed_at(&said, second % 9 == 0 ? LS_LAG_UPLINK : LS_LAG_FINE, 0, second);
    }
    cr_assert_eq(count, 1);
    cr_assert_not(has_changed_at(&said, LS_LAG_FINE, 0, 405));
    cr_assert(has_changed_at(&said, LS_LAG_FINE, 0, 406));
}

/* ---- lag_meter ---- */

#define LAG_METER_DT_NS (10 * LS_NS_PER_MS)

enum {
    WARM_UP_TICKS = 200,
    STRETCH_TICKS = 250,
};

static ls_lag_meter meter;
static uint64_t sent;
static uint64_t lost;
static ls_tick next_tick;
static ls_lag_figures recent;

/* True when a stretch ended with one of the ticks. */
static bool count(uint32_t ticks, ls_lag_tick tick)
{
    bool has_ended = false;
    for (uint32_t i = 0; i < ticks; i++) {
        tick.tick = next_tick++;
        has_ended = ls_lag_meter_add_tick(&meter, &tick, &recent) || has_ended;
    }
    return has_ended;
}

static bool is_behind;
static uint64_t late_ns;

/* A packet with the inputs up to those that are late by now, and with this report. */
static void say(ls_lag_report report)
{
    ls_lag_packet packet = {.end = next_tick,
                            .late_ns = late_ns,
                            .lost_before = ls_lag_meter_add_uplink(&meter, sent, lost),
                            .report = &report,
                            .has_downlink = true,
                            .downlink_loss = 3,
                            .downlink_jitter_ns = 8,
                            .is_match_behind = is_behind};
    ls_lag_meter_add_packet(&meter, &packet);
}

/* A packet without one. */
static void arrive(void)
{
    ls_lag_packet packet = {.end = next_tick,
                            .lost_before = ls_lag_meter_add_uplink(&meter, sent, lost),
                            .is_match_behind = is_behind};
    ls_lag_meter_add_packet(&meter, &packet);
}

static ls_lag_figures total(void)
{
    return ls_lag_meter_total(&meter);
}

static void open_meter(void)
{
    sent = 40;
    lost = 30;
    next_tick = 0;
    is_behind = false;
    late_ns = 0;
    ls_lag_meter_init(&meter, LAG_METER_DT_NS);
    arrive();
    cr_assert_not(count(WARM_UP_TICKS, (ls_lag_tick){.is_late = true}));
}

Test(lag_meter, the_beginning_of_a_match_does_not_count, .init = open_meter)
{
    cr_assert_eq(total().ticks, 0);
    cr_assert_eq(total().late, 0);
    ls_lag_meter_init(&meter, LAG_METER_DT_NS);
    say((ls_lag_report){.frames_late_ms = 900, .stalled_ticks = 5});
    ls_lag_meter_add_arrival(&meter, 0);
    ls_lag_meter_add_uplink_jitter(&meter, 9);
    cr_assert_eq(total().uplink_samples, 0);
    cr_assert_eq(total().reports, 0);
    cr_assert_eq(total().arrivals[ls_lag_bin(0, LAG_METER_DT_NS)], 0);
}

Test(lag_meter, recent_are_two_stretches, .init = open_meter)
{
    cr_assert_not(count(STRETCH_TICKS - 1, (ls_lag_tick){.is_late = true}));
    cr_assert(count(1, (ls_lag_tick){.is_late = true}));
    cr_assert_eq(recent.late, STRETCH_TICKS);
    cr_assert(count(STRETCH_TICKS, (ls_lag_tick){0}));
    cr_assert_eq(recent.ticks, 2 * STRETCH_TICKS);
    cr_assert_eq(recent.late, STRETCH_TICKS);
    cr_assert(count(STRETCH_TICKS, (ls_lag_tick){0}));
    cr_assert_eq(recent.ticks, 2 * STRETCH_TICKS);
    cr_assert_eq(recent.late, 0);
    cr_assert_eq(ls_lag_meter_total(&meter).late, STRETCH_TICKS);
    cr_assert_eq(ls_lag_meter_total(&meter).ticks, 3 * STRETCH_TICKS);
}

Test(lag_meter, forgotten_figures_stay_in_the_total, .init = open_meter)
{
    count(STRETCH_TICKS + 10, (ls_lag_tick){.is_late = true});
    ls_lag_meter_forget_recent(&meter);
    cr_assert_not(count(STRETCH_TICKS - 1, (ls_lag_tick){0}));
    cr_assert(count(1, (ls_lag_tick){0}));
    cr_assert_eq(recent.ticks, STRETCH_TICKS);
    cr_assert_eq(recent.late, 0);
    cr_assert_eq(ls_lag_meter_total(&meter).late, STRETCH_TICKS + 10);
}

Test(lag_meter, the_uplink_is_counted_from_where_it_was, .init = open_meter)
{
    sent += 100;
    lost += 7;
    arrive();
    lost -= 2; /* they came after all */
    arrive();
    cr_assert_eq(ls_lag_meter_total(&meter).uplink_sent, 100);
    cr_assert_eq(ls_lag_meter_total(&meter).uplink_lost, 5);
}

Test(lag_meter, a_quiet_tick_counts_as_any_other_unless_it_ends_something, .init = open_meter)
{
    ls_lag_meter_init(&meter, LAG_METER_DT_NS);
    cr_assert_not(ls_lag_meter_add_quiet_tick(&meter, false, 1), "the beginning is to be counted");
    count(WARM_UP_TICKS, (ls_lag_tick){0});
    cr_assert_not(ls_lag_meter_add_quiet_tick(&meter, true, 1), "a buffer has to be filled again");
    count(1, (ls_lag_tick){.was_behind = true, .uneven_ns = 1});
    for (uint32_t i = 1; i < STRETCH_TICKS - 1; i++) {
        cr_assert(ls_lag_meter_add_quiet_tick(&meter, i < 90, 1));
    }
    cr_assert_not(ls_lag_meter_add_quiet_tick(&meter, false, 1));
    cr_assert(count(1, (ls_lag_tick){.uneven_ns = 1}));
    cr_assert_eq(recent.ticks, STRETCH_TICKS);
    cr_assert_eq(recent.closing_jitter_ns, STRETCH_TICKS);
}

/* ---- late inputs ---- */

Test(lag_meter, a_late_input_that_nothing_explains_is_its_ways, .init = open_meter)
{
    count(3, (ls_lag_tick){.is_late = true});
    cr_assert_eq(total().late_way, 0, "it is not known before something comes");
    arrive();
    cr_assert_eq(total().late_way, 3);
    cr_assert_eq(total().late, 3);
}

Test(lag_meter, a_late_input_that_was_replaced_with_itself_is_forgiven, .init = open_meter)
{
    count(1, (ls_lag_tick){.is_late = true});
    ls_tick late = next_tick - 1;
    ls_lag_meter_forgive_late(&meter, late - 1);
    ls_lag_meter_forgive_late(&meter, late + 1);
    cr_assert_eq(total().late, 1);
    ls_lag_meter_forgive_late(&meter, late);
    ls_lag_meter_forgive_late(&meter, late);
    arrive();
    cr_assert_eq(total().late, 0);
    cr_assert_eq(total().late_way, 0);
    /* The stretch in which it was late may have ended. */
    count(STRETCH_TICKS - 2, (ls_lag_tick){0});
    cr_assert(count(1, (ls_lag_tick){.is_late = true}));
    cr_assert_eq(total().late, 1);
    ls_lag_meter_forgive_late(&meter, next_tick - 1);
    cr_assert_eq(total().late, 0);
}

Test(lag_meter, what_the_client_made_too_late_is_its_computers, .init = open_meter)
{
    count(5, (ls_lag_tick){.is_late = true});
    say((ls_lag_report){.late_inputs = 4});
    cr_assert_eq(total().late_made, 4);
    cr_assert_eq(total().late_way, 1);
    count(1, (ls_lag_tick){.is_late = true});
    say((ls_lag_report){.late_inputs = 4}); /* the same report again */
    cr_assert_eq(total().late_way, 2);
}

Test(lag_meter, an_input_that_came_later_than_it_was_made_too_late_is_its_ways, .init = open_meter)
{
    static const struct {
        uint64_t late_ms;
        uint32_t lost;
        uint32_t latest_ms;
        uint32_t made;
    } rows[] = {{4, 0, 4, 1},   {5, 0, 4, 0},   {0, 1, 8, 0},      {0, 1, 10, 1},
                {60, 3, 60, 1}, {60, 0, 50, 0}, {1632, 0, 1600, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t made = total().late_made;
        count(1, (ls_lag_tick){.is_late = true});
        late_ns = rows[i].late_ms * LS_NS_PER_MS;
        lost += rows[i].lost;
        say((ls_lag_report){.late_inputs = (uint32_t)i + 1, .latest_ms = rows[i].latest_ms});
        cr_expect_eq(total().late_made - made, rows[i].made, "row %zu", i);
        cr_expect_eq(total().late_made + total().late_way, i + 1);
    }
}

/* The packets that came before it say nothing of it. */
Test(lag_meter, an_input_that_is_on_its_way_is_settled_when_it_comes, .init = open_meter)
{
    count(2, (ls_lag_tick){.is_late = true});
    ls_lag_packet older = {.end = next_tick - 2};
    ls_lag_meter_add_packet(&meter, &older);
    say((ls_lag_report){.late_inputs = 2});
    cr_assert_eq(total().late_made, 2);
    cr_assert_eq(total().late_way, 0);
}

Test(lag_meter, a_report_that_comes_while_the_match_waits_is_kept, .init = open_meter)
{
    is_behind = true;
    say((ls_lag_report){.late_inputs = 1});
    arrive();
    is_behind = false;
    count(1, (ls_lag_tick){.is_late = true, .held_up = 12, .was_behind = true});
    arrive();
    cr_assert_eq(total().late_made, 12, "all that the match waited");
    cr_assert_eq(total().late_way, 0);
    cr_assert_eq(total().late, 1);
    cr_assert_eq(total().held_up, 12);
}

Test(lag_meter, a_report_of_inputs_that_came_in_time_explains_none_after_it, .init = open_meter)
{
    say((ls_lag_report){.late_inputs = 9});
    arrive();
    count(2, (ls_lag_tick){.is_late = true});
    arrive();
    cr_assert_eq(total().late_made, 0);
    cr_assert_eq(total().late_way, 2);
}

Test(lag_meter, inputs_that_were_held_back_are_the_downlinks, .init = open_meter)
{
    ls_tick first = next_tick;
    count(4, (ls_lag_tick){.is_late = true});
    say((ls_lag_report){.held_ticks = 4, .held_tick = first});
    cr_assert_eq(total().late_held, 4);
    count(1, (ls_lag_tick){.is_late = true});
    say((ls_lag_report){.held_ticks = 8, .held_tick = next_tick});
    cr_assert_eq(total().late_held, 4, "this one was made before");
    cr_assert_eq(total().late_way, 1);
}

Test(lag_meter, silence_begins_after_two_seconds, .init = open_meter)
{
    count(3, (ls_lag_tick){.is_late = true, .quiet_ns = 2 * LS_NS_PER_SECOND - 1});
    count(2, (ls_lag_tick){.is_late = true, .quiet_ns = 2 * LS_NS_PER_SECOND});
    cr_assert_eq(total().silent, 2);
}

/* ---- stalls ---- */

Test(lag_meter, a_stall_that_nothing_explains_is_its_ways, .init = open_meter)
{
    say((ls_lag_report){.stalled_ticks = 6});
    cr_assert_eq(total().stalled_way, 6);
    say((ls_lag_report){.stalled_ticks = 9});
    cr_assert_eq(total().stalled_way, 9);
    say((ls_lag_report){.stalled_ticks = 7}); /* an older one */
    cr_assert_eq(total().stalled_way, 9);
}

Test(lag_meter, a_stall_behind_a_wait_or_a_late_server_is_not, .init = open_meter)
{
    count(1, (ls_lag_tick){.overdue = 20, .was_behind = true});
    say((ls_lag_report){.stalled_ticks = 40});
    cr_assert_eq(total().stalled_way, 0);
    say((ls_lag_report){.stalled_ticks = 240});
    cr_assert_gt(total().stalled_way, 100, "it does not explain everything");
    is_behind = true;
    uint32_t before = total().stalled_way;
    say((ls_lag_report){.stalled_ticks = 300});
    cr_assert_eq(total().stalled_way, before);
    cr_assert_eq(total().stalled, 300);
}

Test(lag_meter, what_explains_a_stall_does_so_for_some_stretches, .init = open_meter)
{
    count(1, (ls_lag_tick){.waited = 20, .was_behind = true});
    count((LS_LAG_EXCUSE_STRETCHES - 1) * STRETCH_TICKS, (ls_lag_tick){0});
    say((ls_lag_report){.stalled_ticks = 5});
    cr_assert_eq(total().stalled_way, 0);
    count(STRETCH_TICKS, (ls_lag_tick){0});
    say((ls_lag_report){.stalled_ticks = 10});
    cr_assert_eq(total().stalled_way, 5);
}

/* ---- the client's own ---- */

Test(lag_meter, late_frames_are_the_computers_and_explain_stalls, .init = open_meter)
{
    say((ls_lag_report){.frames_late_ms = 100, .longest_frame_ms = 117, .stalled_ticks = 20});
    cr_assert_eq(total().frames_late, 10);
    cr_assert_eq(total().longest_frame_ms, 117);
    cr_assert_eq(total().stalled_way, 0);
    cr_assert_eq(total().reports, 1);
    cr_assert_eq(total().downlink_loss, 3);
    say((ls_lag_report){.frames_late_ms = 100, .stalled_ticks = 20});
    cr_assert_eq(total().reports, 1, "one a second is enough");
}

Test(lag_meter, sums_wrap_and_begin_anew_with_a_connection, .init = open_meter)
{
    say((ls_lag_report){.frames_late_ms = 0x7000});
    say((ls_lag_report){.frames_late_ms = 0xe000});
    say((ls_lag_report){.frames_late_ms = 0x100});
    cr_assert_eq(total().frames_late, 0x7000 / 10 * 2 + 0x2100 / 10);
    ls_lag_meter_forget_connection(&meter);
    say((ls_lag_report){.frames_late_ms = 50});
    cr_assert_eq(total().frames_late, 0x7000 / 10 * 2 + 0x2100 / 10 + 5);
}

Test(lag_meter, a_backlog_that_lasts_is_a_slow_computer, .init = open_meter)
{
    count(200, (ls_lag_tick){.backlog = 39});
    count(50, (ls_lag_tick){.backlog = 40});
    cr_assert_eq(total().frames_late, 0);
    count(5, (ls_lag_tick){.backlog = 40});
    cr_assert_eq(total().frames_late, 5);
    count(5, (ls_lag_tick){.backlog = 40, .quiet_ns = LS_NS_PER_SECOND});
    cr_assert_eq(total().frames_late, 5, "it may be over by now");
}

/* ---- the match as a whole ---- */

Test(lag_meter, the_verdict_of_a_match_is_that_of_its_worst_stretches, .init = open_meter)
{
    cr_assert_eq(ls_lag_meter_verdict(&meter).cause, LS_LAG_FINE);
    count(STRETCH_TICKS - 20, (ls_lag_tick){0});
    count(20, (ls_lag_tick){.overdue = 1, .was_behind = true});
    ls_lag_meter_note_verdict(&meter, LS_LAG_SERVER);
    for (uint32_t i = 0; i < 10; i++) {
        count(STRETCH_TICKS, (ls_lag_tick){0});
        ls_lag_meter_note_verdict(&meter, i < 5 ? LS_LAG_UPLINK : LS_LAG_FINE);
    }
    cr_assert_eq(ls_lag_meter_verdict(&meter).cause, LS_LAG_SERVER);
    cr_assert_eq(ls_lag_meter_verdict(&meter).lost_ms, 200);
}

Test(lag_meter, an_outage_of_the_server_is_known_to_who_was_away, .init = open_meter)
{
    ls_lag_meter_add_outage(&meter, 99);
    ls_lag_meter_forget_recent(&meter);
    cr_assert_eq(total().overdue, 0);
    ls_lag_meter_add_outage(&meter, 100);
    ls_lag_meter_forget_recent(&meter);
    cr_assert_eq(total().overdue, 100);
    count(STRETCH_TICKS, (ls_lag_tick){0});
    cr_assert_eq(recent.overdue, 100);
    cr_assert_eq(total().overdue, 100);
}
