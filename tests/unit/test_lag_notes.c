#include "lockstep/common/lag/lag_notes.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>

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
    ls_lag_notes_add_late(&notes, 3);
    for (ls_tick tick = 20; tick < 30; tick++) {
        ls_lag_notes_acknowledge(&notes, 23);
        cr_assert(ls_lag_notes_take_report(&notes, tick, &report));
        cr_assert_eq(report.late_inputs, 3);
    }
    ls_lag_notes_acknowledge(&notes, 24);
    cr_assert_not(ls_lag_notes_take_report(&notes, 30, &report));
    ls_lag_notes_add_late(&notes, 2);
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
    ls_lag_notes_add_late(&notes, 1);
    cr_assert(ls_lag_notes_take_report(&notes, 123, &report), "inputs are explained at once");
    cr_assert_eq(report.stalled_ticks, 4);
    for (ls_tick tick = 124; tick < 140; tick++) {
        ls_lag_notes_acknowledge(&notes, tick);
        ls_lag_notes_add_stalled(&notes, 1);
        bool is_there = ls_lag_notes_take_report(&notes, tick, &report);
        cr_assert_eq(is_there, tick < 127, "%u: stalled ticks keep nothing urgent", tick);
    }
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
