#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/lag/delay_control.h"
#include "lockstep/common/lag/lag_notes.h"
#include "lockstep/common/lag/wait_notes.h"

#include <criterion/criterion.h>

/* ---- lag_notes ---- */

#define MS LS_NS_PER_MS
#define DT_NS (10 * MS)

static ls_lag_notes notes;
static ls_lag_report report;

static void open_notes(void)
{
    ls_lag_notes_init(&notes, DT_NS);
}

static uint64_t late_ms(uint64_t frame_ms, uint64_t usual_ms)
{
    open_notes();
    ls_lag_notes_add_frame(&notes, frame_ms * MS, usual_ms * MS);
    return notes.frames_late_ns / MS;
}

Test(lag_notes, nothing_is_said_while_nothing_is_late, .init = open_notes)
{
    for (ls_tick tick = 0; tick < 100; tick++) {
        ls_lag_notes_add_frame(&notes, 17 * MS, 17 * MS);
        cr_assert_not(ls_lag_notes_take_report(&notes, tick, &report));
    }
}

Test(lag_notes, a_frame_is_late_when_it_takes_a_tick_longer_than_usual)
{
    cr_assert_eq(late_ms(36, 16), 0);
    cr_assert_eq(late_ms(37, 16), 21);
    cr_assert_eq(late_ms(117, 17), 100);
    cr_assert_eq(late_ms(50, 0), 0, "it is the first");
    cr_assert_eq(late_ms(51, 0), 51);
}

Test(lag_notes, frames_that_are_always_slow_are_late_as_well)
{
    cr_assert_eq(late_ms(50, 50), 0);
    cr_assert_eq(late_ms(125, 125), 75);
    cr_assert_eq(late_ms(3600 * 1000, 17), 30000 - 17, "one alone does not wrap a sum");
}

Test(lag_notes, a_report_goes_with_every_packet_until_it_is_acknowledged, .init = open_notes)
{
    ls_lag_notes_add_late(&notes, 3, 0);
    for (ls_tick tick = 20; tick < 30; tick++) {
        ls_lag_notes_acknowledge(&notes, 23);
        cr_assert(ls_lag_notes_take_report(&notes, tick, &report));
        cr_assert_eq(report.late_inputs, 3);
    }
    ls_lag_notes_acknowledge(&notes, 24);
    cr_assert_not(ls_lag_notes_take_report(&notes, 30, &report));
    ls_lag_notes_add_late(&notes, 2, 0);
    cr_assert(ls_lag_notes_take_report(&notes, 31, &report));
    cr_assert_eq(report.late_inputs, 5, "sums stay");
}

Test(lag_notes, stalled_ticks_alone_are_told_once_in_a_while_until_they_are_acknowledged,
     .init = open_notes)
{
    uint32_t reports = 0;
    for (ls_tick tick = 20; tick < 84; tick++) {
        ls_lag_notes_acknowledge(&notes, tick);
        if (tick == 20) {
            ls_lag_notes_add_stalled(&notes, 2);
        }
        bool is_there = ls_lag_notes_take_report(&notes, tick, &report);
        cr_assert_eq(is_there, (tick - 20) % 16 == 0, "%u", tick);
        cr_assert_eq(report.stalled_ticks, 2);
        reports += is_there;
    }
    cr_assert_eq(reports, 4);
    ls_lag_notes_acknowledge(&notes, 84);
    ls_lag_notes_acknowledge(&notes, 120);
    cr_assert_not(ls_lag_notes_take_report(&notes, 120, &report));
    ls_lag_notes_add_stalled(&notes, 1);
    cr_assert(ls_lag_notes_take_report(&notes, 121, &report), "nothing was told for a while");
    ls_lag_notes_add_stalled(&notes, 1);
    cr_assert_not(ls_lag_notes_take_report(&notes, 122, &report));
    ls_lag_notes_add_late(&notes, 1, 0);
    cr_assert(ls_lag_notes_take_report(&notes, 123, &report), "inputs are explained at once");
    cr_assert_eq(report.stalled_ticks, 4);
    for (ls_tick tick = 124; tick < 140; tick++) {
        ls_lag_notes_acknowledge(&notes, tick);
        ls_lag_notes_add_stalled(&notes, 1);
        bool is_there = ls_lag_notes_take_report(&notes, tick, &report);
        cr_assert_eq(is_there, tick < 127, "%u: stalled ticks keep nothing urgent", tick);
    }
}

Test(lag_notes, the_latest_input_is_told_until_it_is_acknowledged, .init = open_notes)
{
    ls_lag_notes_add_late(&notes, 1, 4 * MS + 1);
    ls_lag_notes_add_late(&notes, 1, 2 * MS);
    cr_assert(ls_lag_notes_take_report(&notes, 20, &report));
    cr_assert_eq(report.latest_ms, 5);
    ls_lag_notes_acknowledge(&notes, 24);
    ls_lag_notes_add_late(&notes, 1, 3 * MS);
    cr_assert(ls_lag_notes_take_report(&notes, 25, &report));
    cr_assert_eq(report.latest_ms, 3);
    ls_lag_notes_add_late(&notes, 1, 70 * LS_NS_PER_SECOND);
    ls_lag_notes_acknowledge(&notes, 29);
    cr_assert(ls_lag_notes_take_report(&notes, 30, &report), "not known yet");
    cr_assert_eq(report.latest_ms, LS_LAG_REPORT_MAX);
}

Test(lag_notes, an_input_that_is_not_made_when_it_was_due_is_said_once, .init = open_notes)
{
    notes.is_uneven = true;
    cr_assert(ls_lag_notes_take_report(&notes, 1, &report));
    cr_assert_not(ls_lag_notes_take_report(&notes, 2, &report));
}

Test(lag_notes, held_inputs_are_counted_from_the_first_of_them, .init = open_notes)
{
    ls_lag_notes_add_held(&notes, 100, 8, 15 * MS);
    ls_lag_notes_add_held(&notes, 100, 8, 15 * MS);
    ls_lag_notes_add_held(&notes, 108, 8, 10 * MS);
    cr_assert(ls_lag_notes_take_report(&notes, 106, &report));
    cr_assert_eq(report.held_ticks, 4);
    cr_assert_eq(report.held_tick, 100);
    ls_lag_notes_add_held(&notes, 0x10000 + 300, 8, 10 * MS);
    cr_assert(ls_lag_notes_take_report(&notes, 107, &report));
    cr_assert_eq(report.held_tick, 300);
}

/* A computer that stood still for so long that its link was lost. */
Test(lag_notes, late_frames_that_are_not_known_go_over_to_another_connection, .init = open_notes)
{
    ls_lag_notes_add_frame(&notes, 117 * MS, 17 * MS);
    cr_assert(ls_lag_notes_take_report(&notes, 10, &report));
    ls_lag_notes_acknowledge(&notes, 14);
    ls_lag_notes_add_frame(&notes, 9017 * MS, 17 * MS);
    ls_lag_notes_add_stalled(&notes, 7);
    ls_lag_notes_connect(&notes);
    cr_assert(ls_lag_notes_take_report(&notes, 20, &report));
    cr_assert_eq(report.frames_late_ms, 9000);
    cr_assert_eq(report.longest_frame_ms, 9017);
    cr_assert_eq(report.stalled_ticks, 0);
}

/* ---- wait_notes ---- */

#define SECOND LS_NS_PER_SECOND

static ls_wait_notes wait_notes_notes;

static void wait_notes_open_notes(void)
{
    wait_notes_notes = (ls_wait_notes){0};
}

static bool add(uint32_t slots, ls_tick tick, uint32_t waited_ms, uint64_t now_ns)
{
    return ls_wait_notes_add(&wait_notes_notes, (ls_slot_set){{slots}}, tick, waited_ms, now_ns);
}

Test(wait_notes, a_wait_is_said_once_and_again_for_somebody_else, .init = wait_notes_open_notes)
{
    cr_assert(add(2, 100, 100, SECOND));
    cr_assert_not(add(2, 100, 600, SECOND));
    cr_assert_not(add(2, 140, 100, 2 * SECOND), "another wait");
    cr_assert(add(6, 140, 600, 2 * SECOND));
    cr_assert_not(add(4, 150, 100, 3 * SECOND));
}

Test(wait_notes, the_end_tells_how_often_and_how_long, .init = wait_notes_open_notes)
{
    ls_text text = {{0}};
    cr_assert_not(ls_wait_notes_is_over(&wait_notes_notes, 99 * SECOND), "nobody was waited for");
    add(1, 0, 100, SECOND);
    add(1, 0, 1100, 2 * SECOND);
    ls_wait_notes_text(&wait_notes_notes, &text);
    cr_assert_str_eq(text.bytes, "1 wait of 1.1 s in all");
    add(1, 60, 100, 3 * SECOND);
    add(3, 60, 1600, 4 * SECOND);
    ls_wait_notes_text(&wait_notes_notes, &text);
    cr_assert_str_eq(text.bytes, "2 waits of 2.7 s in all");
    cr_assert_not(ls_wait_notes_is_over(&wait_notes_notes, 14 * SECOND - 1));
    cr_assert(ls_wait_notes_is_over(&wait_notes_notes, 14 * SECOND));
}

/* ---- delay_control ---- */

#define DELAY_CONTROL_DT_NS (10 * LS_NS_PER_MS)

static ls_delay_control control;

/* A stretch in which so many millionths came late, and the others so many ticks early. */
static bool pass(uint32_t late_ppm, uint32_t suggested, int64_t spare_ticks)
{
    ls_lag_figures recent = {
        .dt_ns = DELAY_CONTROL_DT_NS, .ticks = LS_LAG_ALL_PPM, .late_way = late_ppm};
    ls_lag lag = {.suggested_input_delay_ticks = suggested};
    lag.cause = late_ppm >= LS_LAG_LATE_PPM ? LS_LAG_UPLINK : LS_LAG_FINE;
    recent.arrivals[ls_lag_bin(spare_ticks * (int64_t)DELAY_CONTROL_DT_NS, DELAY_CONTROL_DT_NS)] =
        500;
    return ls_delay_control_update(&control, &recent, &lag);
}

/* Stretches with a tick to spare until one is taken off. */
static uint32_t stretches_until_less(void)
{
    uint32_t stretches = 1;
    while (!pass(0, 0, 1)) {
        stretches++;
        cr_assert_leq(stretches, 1000);
    }
    return stretches;
}

Test(delay_control, late_inputs_raise_it_at_once_to_what_mends_them)
{
    ls_delay_control_init(&control, 0);
    cr_assert_not(pass(LS_LAG_LATE_PPM - 1, 0, 0));
    cr_assert(pass(LS_LAG_LATE_PPM, 3, 0));
    cr_assert_eq(control.ticks, 3);
    cr_assert(pass(LS_LAG_LATE_PPM, 0, 0));
    cr_assert_eq(control.ticks, 4, "by one when nothing says by how much");
    ls_delay_control_init(&control, LS_INPUT_DELAY_TICKS_MAX);
    cr_assert_not(pass(LS_LAG_LATE_PPM, 0, 0));
    cr_assert_eq(control.ticks, LS_INPUT_DELAY_TICKS_MAX);
}

Test(delay_control, delay_that_is_not_needed_goes_slowly)
{
    ls_delay_control_init(&control, 2);
    cr_assert_eq(stretches_until_less(), 4);
    cr_assert_eq(control.ticks, 1);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_not(pass(0, 0, 0), "there is nothing to spare");
    }
    for (uint32_t i = 0; i < 3; i++) {
        pass(0, 0, 1);
    }
    pass(LS_LAG_MENDED_PPM, 0, 1);
    cr_assert_eq(stretches_until_less(), 4, "it begins anew");
    cr_assert_eq(control.ticks, 0);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_not(pass(0, 0, 5));
    }
}

Test(delay_control, each_time_that_it_went_too_low_it_grows_more_patient)
{
    ls_delay_control_init(&control, 1);
    static const uint32_t patience[] = {4, 8, 16, 32, 64, 64};
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert_eq(stretches_until_less(), patience[i]);
        cr_assert(pass(LS_LAG_LATE_PPM, 1, 0));
        cr_assert_eq(control.ticks, 1);
    }
}

Test(delay_control, a_cause_that_no_delay_mends_changes_none)
{
    ls_delay_control_init(&control, 1);
    ls_lag_figures recent = {.dt_ns = DELAY_CONTROL_DT_NS, .ticks = 1000, .late_way = 100};
    static const ls_lag_cause causes[] = {LS_LAG_COMPUTER, LS_LAG_SILENT, LS_LAG_SERVER,
                                          LS_LAG_PLAYER};
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        ls_lag lag = {.cause = causes[i]};
        cr_assert_not(ls_delay_control_update(&control, &recent, &lag));
    }
    cr_assert_eq(control.ticks, 1);
}
