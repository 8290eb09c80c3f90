#include "lockstep/server/match/player_lag.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>

#define DT_NS (10 * LS_NS_PER_MS)

enum {
    WARM_UP_TICKS = 200,
    STRETCH_TICKS = 250,
};

static ls_lag_meter meter;
static ls_link_meter uplink;
static ls_lag_figures recent;

/* True when a stretch ended with one of the ticks. */
static bool count(uint32_t ticks, ls_lag_tick tick)
{
    bool has_ended = false;
    tick.uplink = &uplink;
    for (uint32_t i = 0; i < ticks; i++) {
        has_ended = ls_lag_meter_add_tick(&meter, &tick, &recent) || has_ended;
    }
    return has_ended;
}

static void open_meter(void)
{
    uplink = (ls_link_meter){.sent = 40, .lost = 30};
    ls_lag_meter_init(&meter, DT_NS);
    cr_assert_not(count(WARM_UP_TICKS, (ls_lag_tick){.is_late = true}));
}

Test(lag_meter, the_beginning_of_a_match_does_not_count, .init = open_meter)
{
    ls_lag_figures total = ls_lag_meter_total(&meter);
    cr_assert_eq(total.ticks, 0);
    cr_assert_eq(total.late, 0);
    ls_lag_meter_init(&meter, DT_NS);
    ls_client_health health = {.longest_frame_ms = 900, .stalled_ticks = 5};
    ls_lag_meter_add_health(&meter, &health);
    ls_lag_meter_add_arrival(&meter, 0);
    total = ls_lag_meter_total(&meter);
    cr_assert_eq(total.reports, 0);
    cr_assert_eq(total.arrivals[ls_lag_bin(0, DT_NS)], 0);
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
    uplink.sent += 100;
    uplink.lost += 7;
    count(1, (ls_lag_tick){0});
    uplink.lost -= 2; /* they came after all */
    count(1, (ls_lag_tick){0});
    cr_assert_eq(ls_lag_meter_total(&meter).uplink_sent, 100);
    cr_assert_eq(ls_lag_meter_total(&meter).uplink_lost, 5);
}

Test(lag_meter, silence_begins_after_a_second, .init = open_meter)
{
    count(3, (ls_lag_tick){.quiet_ns = LS_NS_PER_SECOND - 1});
    count(2, (ls_lag_tick){.quiet_ns = LS_NS_PER_SECOND});
    cr_assert_eq(ls_lag_meter_total(&meter).silent, 2);
}

Test(lag_meter, only_long_frames_are_hitches, .init = open_meter)
{
    ls_client_health health = {.longest_frame_ms = 50, .stalled_ticks = 2, .downlink = {3, 8}};
    ls_lag_meter_add_health(&meter, &health);
    cr_assert_eq(ls_lag_meter_total(&meter).hitch, 0);
    health.longest_frame_ms = 100;
    ls_lag_meter_add_health(&meter, &health);
    ls_lag_figures total = ls_lag_meter_total(&meter);
    cr_assert_eq(total.hitch, 10);
    cr_assert_eq(total.longest_frame_ms, 100);
    cr_assert_eq(total.stalled, 4);
    cr_assert_eq(total.reports, 2);
    cr_assert_eq(total.downlink_loss, 6);
    cr_assert_eq(total.downlink_jitter, 16);
}

Test(lag_meter, a_report_that_cannot_be_true_is_cut, .init = open_meter)
{
    ls_client_health health = {.longest_frame_ms = UINT32_MAX, .stalled_ticks = UINT32_MAX};
    ls_lag_meter_add_health(&meter, &health);
    cr_assert_eq(ls_lag_meter_total(&meter).hitch, 6000);
    cr_assert_eq(ls_lag_meter_total(&meter).stalled, 60000);
}

Test(lag_meter, a_small_backlog_is_none, .init = open_meter)
{
    count(5, (ls_lag_tick){.backlog = 19});
    cr_assert_eq(ls_lag_meter_total(&meter).backlog, 0);
    count(5, (ls_lag_tick){.backlog = 20});
    cr_assert_eq(ls_lag_meter_total(&meter).backlog, 5);
}
