#include "lockstep/server/match/lag_attribution.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/message.h"

#include <criterion/criterion.h>
#include <string.h>

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
                              .reports = 10,
                              .longest_frame_ms = 17};
    figures.arrivals[ls_lag_bin(DT_NS, DT_NS)] = TICKS;
    return figures;
}

/* The cause in a slot that is well but for these figures. */
static void expect(ls_lag_figures figures, ls_lag_cause cause)
{
    ls_lag_figures base = well();
    figures.dt_ns = base.dt_ns;
    figures.ticks = figures.ticks > 0 ? figures.ticks : base.ticks;
    figures.uplink_sent = base.uplink_sent;
    figures.reports = base.reports;
    figures.longest_frame_ms = base.longest_frame_ms;
    memcpy(figures.arrivals, base.arrivals, sizeof figures.arrivals);
    ls_lag lag = ls_lag_judge(&figures);
    cr_expect_eq(lag.cause, cause, "%s, not %s", ls_lag_cause_name(lag.cause),
                 ls_lag_cause_name(cause));
}

/* ---- one cause ---- */

Test(lag_attribution, nothing_wrong_is_fine)
{
    expect((ls_lag_figures){0}, LS_LAG_FINE);
    ls_lag_figures nothing = {.dt_ns = DT_NS};
    cr_expect_eq(ls_lag_judge(&nothing).cause, LS_LAG_FINE);
}

Test(lag_attribution, a_few_late_inputs_and_a_little_loss_are_fine)
{
    expect((ls_lag_figures){.late = 4, .stalled = 4, .uplink_lost = 19, .downlink_loss = 10 * 5},
           LS_LAG_FINE);
    expect((ls_lag_figures){.late = 4, .stalled = 4, .uplink_lost = 20, .downlink_loss = 10 * 5},
           LS_LAG_UPLINK);
}

/* In a short stretch a few ticks are a large share, and harm nobody all the same. */
Test(lag_attribution, three_ticks_are_never_a_cause)
{
    expect((ls_lag_figures){.ticks = 50, .late = 3}, LS_LAG_FINE);
    expect((ls_lag_figures){.ticks = 50, .late = 4}, LS_LAG_UPLINK);
}

Test(lag_attribution, late_inputs_that_nothing_else_explains_are_the_uplink)
{
    expect((ls_lag_figures){.late = 5}, LS_LAG_UPLINK);
}

Test(lag_attribution, stalls_that_nothing_else_explains_are_the_downlink)
{
    expect((ls_lag_figures){.stalled = 5}, LS_LAG_DOWNLINK);
    expect((ls_lag_figures){.stalled = 5, .late = 4}, LS_LAG_DOWNLINK);
    expect((ls_lag_figures){.stalled = 5, .late = 4, .excused = 1}, LS_LAG_FINE);
}

/* A client that was halted tells of all that it missed in one stretch. */
Test(lag_attribution, no_share_is_more_than_all)
{
    ls_lag_figures figures = well();
    figures.stalled = TICKS;
    cr_expect_eq(ls_lag_judge(&figures).stalled_ppm, 1000000);
    figures.stalled = 5 * TICKS + 224;
    figures.uplink_lost = 2 * TICKS;
    ls_lag lag = ls_lag_judge(&figures);
    cr_expect_eq(lag.stalled_ppm, 1000000);
    cr_expect_eq(lag.uplink_loss_ppm, 1000000);
}

Test(lag_attribution, loss_of_closed_ticks_is_the_downlink)
{
    expect((ls_lag_figures){.downlink_loss = 10 * 6}, LS_LAG_DOWNLINK);
}

Test(lag_attribution, jitter_of_half_a_tick_either_way_is_jitter)
{
    expect((ls_lag_figures){.uplink_jitter_ns = TICKS * (DT_NS / 2 - 1)}, LS_LAG_FINE);
    expect((ls_lag_figures){.uplink_jitter_ns = TICKS * DT_NS / 2}, LS_LAG_JITTER);
    expect((ls_lag_figures){.downlink_jitter = 10 * 4 * 5}, LS_LAG_JITTER);
}

Test(lag_attribution, long_frames_and_many_ticks_to_step_are_a_slow_computer)
{
    expect((ls_lag_figures){.hitch = 5}, LS_LAG_COMPUTER);
    expect((ls_lag_figures){.backlog = 100}, LS_LAG_COMPUTER);
}

Test(lag_attribution, silence_that_no_long_frame_explains_is_silence)
{
    expect((ls_lag_figures){.silent = 100, .late = 200}, LS_LAG_SILENT);
    /* it stood still, and says so afterwards */
    expect((ls_lag_figures){.silent = 100, .late = 200, .hitch = 200}, LS_LAG_COMPUTER);
}

/* ---- several causes ---- */

Test(lag_attribution, late_ticks_of_a_hitch_are_not_the_networks_fault)
{
    expect((ls_lag_figures){.hitch = 40, .late = 42, .stalled = 42, .uplink_lost = 30},
           LS_LAG_COMPUTER);
    expect((ls_lag_figures){.hitch = 40, .late = 100, .stalled = 42, .uplink_lost = 30},
           LS_LAG_UPLINK);
}

Test(lag_attribution, the_direction_that_loses_more_is_named)
{
    expect((ls_lag_figures){.uplink_lost = 50, .downlink_loss = 10 * 14}, LS_LAG_DOWNLINK);
    expect((ls_lag_figures){.uplink_lost = 60, .downlink_loss = 10 * 14}, LS_LAG_UPLINK);
}

/* 2 % of loss take two ticks until all but a thousandth is through; three times the jitter does. */
Test(lag_attribution, jitter_and_loss_are_weighed_by_the_lead_that_they_cost)
{
    expect((ls_lag_figures){.uplink_lost = 20, .uplink_jitter_ns = TICKS * 6 * LS_NS_PER_MS},
           LS_LAG_UPLINK);
    expect((ls_lag_figures){.uplink_lost = 20, .uplink_jitter_ns = TICKS * 7 * LS_NS_PER_MS},
           LS_LAG_JITTER);
    expect((ls_lag_figures){.uplink_lost = 200, .uplink_jitter_ns = TICKS * 7 * LS_NS_PER_MS},
           LS_LAG_UPLINK);
    /* everything */
    expect((ls_lag_figures){.uplink_lost = TICKS, .uplink_jitter_ns = TICKS * 7 * LS_NS_PER_MS},
           LS_LAG_UPLINK);
}

/* ---- the cure ---- */

Test(lag_attribution, bins_are_half_ticks_and_end_somewhere)
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

Test(lag_attribution, spare_is_what_all_but_a_thousandth_have)
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
    figures.late = late;
    figures.arrivals[ls_lag_bin(-late_ns, DT_NS)] = late;
    return ls_lag_judge(&figures).suggested_input_delay_ticks;
}

Test(lag_attribution, the_delay_that_mends_is_what_the_late_ones_lack)
{
    cr_assert_eq(delay_for(4, 15 * LS_NS_PER_MS, 0), 0, "none is needed");
    cr_assert_eq(delay_for(5, 15 * LS_NS_PER_MS, 0), 2);
    cr_assert_eq(delay_for(50, 15 * LS_NS_PER_MS, 3), 5, "beyond what it has now");
    cr_assert_eq(delay_for(50, 1, 0), 1);
    cr_assert_eq(delay_for(50, 20 * LS_NS_PER_SECOND, 60), LS_INPUT_DELAY_TICKS_MAX);
}

Test(lag_attribution, no_delay_mends_a_computer_or_a_downlink)
{
    ls_lag_figures figures = well();
    figures.late = 50;
    figures.hitch = 50;
    figures.arrivals[ls_lag_bin(-(int64_t)DT_NS, DT_NS)] = 50;
    cr_assert_eq(ls_lag_judge(&figures).suggested_input_delay_ticks, 0);
    figures.hitch = 0;
    cr_assert_eq(ls_lag_judge(&figures).suggested_input_delay_ticks, 1);
    figures.downlink_loss = 10 * 100;
    cr_assert_eq(ls_lag_judge(&figures).suggested_input_delay_ticks, 0);
}

/* ---- sums and words ---- */

Test(lag_attribution, figures_are_sums)
{
    ls_lag_figures sum = well();
    ls_lag_figures other = well();
    sum.uplink_lost = 10;
    other.uplink_lost = -4; /* what had been counted as lost came after all */
    other.longest_frame_ms = 5;
    ls_lag_figures_add(&sum, &other);
    cr_assert_eq(sum.ticks, 2 * TICKS);
    cr_assert_eq(sum.uplink_lost, 6);
    cr_assert_eq(sum.longest_frame_ms, 17);
    cr_assert_eq(sum.arrivals[ls_lag_bin(DT_NS, DT_NS)], 2 * TICKS);
    cr_assert_eq(ls_lag_judge(&sum).uplink_loss_ppm, 3000);
    sum.uplink_lost = -1;
    cr_assert_eq(ls_lag_judge(&sum).uplink_loss_ppm, 0);
}

static void expect_text(const ls_lag *lag, const char *expected)
{
    ls_text text = {{0}};
    ls_lag_text(lag, &text);
    cr_expect_str_eq(text.bytes, expected);
}

Test(lag_attribution, the_text_says_what_and_how_much_and_what_to_try)
{
    ls_lag lag = {.cause = LS_LAG_UPLINK,
                  .uplink_loss_ppm = 48000,
                  .late_ppm = 6000,
                  .suggested_input_delay_ticks = 2};
    expect_text(&lag, "4.8 % of uplink packets lost, 0.6 % of inputs late; "
                      "try --input-delay 2");
    lag = (ls_lag){.cause = LS_LAG_UPLINK, .late_ppm = 6000};
    expect_text(&lag, "the uplink is slower at times, 0.6 % of inputs late");
    lag = (ls_lag){.cause = LS_LAG_DOWNLINK, .downlink_loss_ppm = 30000, .stalled_ppm = 2000};
    expect_text(&lag, "3.0 % of downlink packets lost, 0.2 % of ticks stalled");
    lag = (ls_lag){.cause = LS_LAG_COMPUTER, .longest_frame_ms = 310};
    expect_text(&lag, "the computer is too slow (frames of up to 310 ms)");
    lag = (ls_lag){.cause = LS_LAG_JITTER, .uplink_jitter_ns = 9500000};
    expect_text(&lag, "delay varies by 9.5 ms up and 0.0 ms down");
    lag = (ls_lag){.cause = LS_LAG_SILENT};
    expect_text(&lag, "nothing is received");
    lag = (ls_lag){.late_ppm = 3};
    expect_text(&lag, "fine");
}
