#include "lockstep/common/lag/lag_meter.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>

#define DT_NS (10 * LS_NS_PER_MS)

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
    ls_lag_meter_init(&meter, DT_NS);
    arrive();
    cr_assert_not(count(WARM_UP_TICKS, (ls_lag_tick){.is_late = true}));
}

Test(lag_meter, the_beginning_of_a_match_does_not_count, .init = open_meter)
{
    cr_assert_eq(total().ticks, 0);
    cr_assert_eq(total().late, 0);
    ls_lag_meter_init(&meter, DT_NS);
    say((ls_lag_report){.frames_late_ms = 900, .stalled_ticks = 5});
    ls_lag_meter_add_arrival(&meter, 0);
    ls_lag_meter_add_uplink_jitter(&meter, 9);
    cr_assert_eq(total().uplink_samples, 0);
    cr_assert_eq(total().reports, 0);
    cr_assert_eq(total().arrivals[ls_lag_bin(0, DT_NS)], 0);
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
    ls_lag_meter_init(&meter, DT_NS);
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
