/* Rates, budgets, histograms, the queue of what is due, and notes of what was late. */
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/histogram.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/rate.h"
#include "lockstep/common/lag/lag_notes.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/time/time_queue.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

/* ---- rate ---- */

Test(rate, reads_what_people_write)
{
    static const struct {
        const char *text;
        uint32_t numerator, denominator, nearest;
        const char *shown;
    } cases[] = {
        {"60", 60, 1, 60, "60"},
        {"1", 1, 1, 1, "1"},
        {"1000", 1000, 1, 1000, "1000"},
        {"59.7275", 23891, 400, 60, "59.7275"},
        {"59.5", 119, 2, 60, "59.5"},
        {"30.000", 30, 1, 30, "30"},
        {"1.000001", 1000001, 1000000, 1, "1.000001"},
        {"262144/4389", 262144, 4389, 60, "262144/4389"},
        {"60000/1001", 60000, 1001, 60, "60000/1001"},
        {"120/2", 60, 1, 60, "60"},
        {"5/2", 5, 2, 3, "2.5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ls_rate rate = {0, 0};
        ls_text shown = {""};
        cr_assert_eq(ls_rate_read(cases[i].text, &rate, NULL), LS_OK, "%s", cases[i].text);
        cr_expect_eq(rate.numerator, cases[i].numerator, "%s", cases[i].text);
        cr_expect_eq(rate.denominator, cases[i].denominator, "%s", cases[i].text);
        cr_expect_eq(ls_rate_nearest_hz(rate), cases[i].nearest, "%s", cases[i].text);
        ls_rate_add_text(rate, &shown);
        cr_expect_str_eq(shown.bytes, cases[i].shown);
    }
}

Test(rate, refuses_everything_else_with_examples)
{
    const char *bad[] = {"",
                         "0",
                         "1001",
                         "0.5",
                         "-60",
                         "+60",
                         " 60",
                         "60 ",
                         "60.",
                         ".5",
                         "60.1234567",
                         "60/",
                         "/2",
                         "60/0",
                         "1/2",
                         "60/1/1",
                         "60.5/2",
                         "1e2",
                         "0x3c",
                         "60,5",
                         "nan",
                         "12345678901",
                         "4294967296/2",
                         "60.0/1",
                         "99999999999999999999",
                         "1001/1",
                         "1000000/1000001"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ls_rate rate = {7, 7};
        ls_text why = {""};
        cr_expect_eq(ls_rate_read(bad[i], &rate, &why), LS_BAD_ARGUMENT, "'%s'", bad[i]);
        cr_expect(strstr(why.bytes, "takes 1 to 1000, as in 60, 59.7275 or 262144/4389, not '"));
        cr_expect(rate.numerator == 7 && rate.denominator == 7);
    }
}

/* ---- log_budget ---- */

#define SECOND LS_NS_PER_SECOND

static uint32_t lines;
static char newest[256];

static void count_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    lines++;
    strncpy(newest, line, sizeof newest - 1);
}

/* A peer has its say so many times at once; returns the lines that came of it. */
static uint32_t say(ls_log_budget *budget, uint32_t times, uint64_t now_ns)
{
    ls_log log = {.level = LS_LOG_INFO, .write = count_line};
    lines = 0;
    for (uint32_t i = 0; i < times; i++) {
        ls_log before = ls_log_budget_begin(budget, &log, now_ns);
        ls_log_line(&log, LS_LOG_INFO, "it differs");
        log = before;
    }
    return lines;
}

Test(log_budget, so_many_events_are_shown_at_once_and_two_a_second_after_that)
{
    ls_log_budget budget = {0};
    uint64_t now_ns = 100 * SECOND;
    cr_assert_eq(say(&budget, 20000, now_ns), LS_LOG_BUDGET_EVENTS);
    uint32_t shown = 0;
    for (uint32_t i = 1; i <= 100; i++) {
        shown += say(&budget, 200, now_ns + i * SECOND / 10);
    }
    cr_assert(shown >= 36 && shown <= 40, "20 in 10 s, each behind a line that counts: %u", shown);
}

Test(log_budget, the_next_one_that_is_shown_says_how_many_were_not)
{
    ls_log_budget budget = {0};
    say(&budget, LS_LOG_BUDGET_EVENTS + 7, SECOND);
    ls_log log = {.level = LS_LOG_INFO, .write = count_line};
    ls_log_budget_begin(&budget, &log, 2 * SECOND);
    cr_assert_not_null(strstr(newest, "7 events"), "%s", newest);
    cr_assert_eq(say(&budget, 1, 2 * SECOND), 1);
}

Test(log_budget, who_says_little_is_never_cut_short)
{
    ls_log_budget budget = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        cr_assert_eq(say(&budget, 1, i * SECOND / 2), 1);
    }
}

/* ---- histogram ---- */

#define MS LS_NS_PER_MS

static ls_histogram histogram;

Test(histogram, of_nothing_is_zero)
{
    for (uint32_t percent = 1; percent <= 100; percent++) {
        cr_assert_eq(ls_histogram_percentile_ns(&histogram, percent), 0);
    }
}

Test(histogram, percentiles_are_upper_edges_of_quarter_milliseconds)
{
    /* 1, 2, ... 100 ms: each at the lower edge of its bin. */
    for (uint64_t ms = 1; ms <= 100; ms++) {
        ls_histogram_add(&histogram, ms * MS);
    }
    cr_assert_eq(histogram.count, 100);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 1), 1 * MS + 250000);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 50), 50 * MS + 250000);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 99), 99 * MS + 250000);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 100), 100 * MS, "at most the maximum");
}

Test(histogram, a_percentile_rounds_its_share_of_samples_up)
{
    ls_histogram_add(&histogram, 1 * MS);
    ls_histogram_add(&histogram, 2 * MS);
    ls_histogram_add(&histogram, 9 * MS);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 33), 1 * MS + 250000);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 34), 2 * MS + 250000);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 67), 9 * MS);
}

Test(histogram, no_percentile_exceeds_the_largest_sample)
{
    ls_histogram_add(&histogram, 10);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 1), 10);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 100), 10);
}

Test(histogram, the_last_linear_bin_ends_at_a_second)
{
    ls_histogram_add(&histogram, 1000 * MS - 1);
    cr_assert_eq(histogram.bins[LS_HISTOGRAM_BINS - 1], 1);
    ls_histogram_add(&histogram, 1000 * MS);
    cr_assert_eq(histogram.bins[LS_HISTOGRAM_BINS], 1);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 50), 1000 * MS);
}

Test(histogram, beyond_a_second_only_the_maximum_is_known)
{
    ls_histogram_add(&histogram, 1 * MS);
    ls_histogram_add(&histogram, 2000 * MS);
    ls_histogram_add(&histogram, UINT64_MAX);
    cr_assert_eq(histogram.bins[LS_HISTOGRAM_BINS], 2);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 33), 1 * MS + 250000);
    cr_assert_eq(ls_histogram_percentile_ns(&histogram, 50), UINT64_MAX);
    cr_assert_eq(histogram.max_ns, UINT64_MAX);
}

/* ---- time_queue ---- */

enum {
    CAPACITY = 300
};

static ls_time_queue_entry entries[CAPACITY];

static ls_time_queue make_queue(void)
{
    ls_time_queue queue;
    ls_time_queue_init(&queue, entries, CAPACITY);
    return queue;
}

Test(time_queue, an_empty_queue_is_due_never)
{
    ls_time_queue queue = make_queue();
    cr_assert_eq(queue.count, 0);
    cr_assert_eq(ls_time_queue_next_ns(&queue), UINT64_MAX);
}

Test(time_queue, gives_out_in_the_order_of_the_moments)
{
    static const uint64_t moments[] = {50, 10, UINT64_MAX, 0, 30, 20, 40};
    static const uint32_t order[] = {3, 1, 5, 4, 6, 0, 2};
    ls_time_queue queue = make_queue();
    for (uint32_t i = 0; i < 7; i++) {
        cr_assert_eq(ls_time_queue_add(&queue, moments[i]), i);
    }
    for (uint32_t i = 0; i < 7; i++) {
        cr_assert_eq(ls_time_queue_next_ns(&queue), moments[order[i]]);
        ls_time_queue_entry taken = ls_time_queue_pop(&queue);
        cr_assert_eq(taken.item, order[i]);
        cr_assert_eq(taken.due_ns, moments[order[i]]);
    }
    cr_assert_eq(queue.count, 0);
}

Test(time_queue, the_same_moment_keeps_the_order_of_adding)
{
    ls_time_queue queue = make_queue();
    for (uint32_t i = 0; i < CAPACITY; i++) {
        cr_assert_eq(ls_time_queue_add(&queue, i % 3), i);
    }
    for (uint32_t moment = 0; moment < 3; moment++) {
        for (uint32_t i = moment; i < CAPACITY; i += 3) {
            cr_assert_eq(ls_time_queue_pop(&queue).item, i);
        }
    }
}

/* Held against the plainest queue there is: search for the least, first come first. */
Test(time_queue, adding_and_taking_in_any_order_equals_a_search)
{
    ls_rng rng = ls_rng_make(7, 0);
    ls_time_queue queue = make_queue();
    static uint64_t moments[20000];
    static uint32_t numbers[CAPACITY]; /* by item: which of the moments it waits for */
    uint32_t added = 0, taken = 0, fullest = 0;
    while (taken < 10000) {
        bool adds = queue.count == 0 || (queue.count < CAPACITY && ls_rng_below(&rng, 100) < 51);
        if (adds) {
            moments[added] = ls_rng_below(&rng, 1000);
            uint32_t item = ls_time_queue_add(&queue, moments[added]);
            numbers[item] = added++;
            fullest = queue.count > fullest ? queue.count : fullest;
            continue;
        }
        uint32_t least = 0;
        while (moments[least] == UINT64_MAX) {
            least++;
        }
        for (uint32_t i = least; i < added; i++) {
            least = moments[i] < moments[least] ? i : least;
        }
        ls_time_queue_entry entry = ls_time_queue_pop(&queue);
        cr_assert_eq(numbers[entry.item], least);
        cr_assert_eq(entry.due_ns, moments[least]);
        moments[least] = UINT64_MAX; /* taken */
        taken++;
    }
    cr_assert_eq(fullest, CAPACITY);
}

Test(time_queue, no_item_waits_twice_and_one_that_is_taken_is_the_next)
{
    ls_rng rng = ls_rng_make(8, 0);
    ls_time_queue queue = make_queue();
    bool waits[CAPACITY] = {false};
    for (uint32_t i = 0; i < 10000; i++) {
        while (queue.count < CAPACITY) {
            uint32_t item = ls_time_queue_add(&queue, ls_rng_below(&rng, 1000));
            cr_assert_not(waits[item]);
            waits[item] = true;
        }
        uint32_t taken = ls_time_queue_pop(&queue).item;
        cr_assert_eq(ls_time_queue_add(&queue, 0), taken);
        ls_time_queue_pop(&queue);
        waits[taken] = false;
    }
    ls_time_queue_clear(&queue);
    cr_assert_eq(queue.count, 0);
    cr_assert_eq(ls_time_queue_add(&queue, 0), 0);
}

Test(time_queue, adding_beyond_its_room_is_a_programmers_mistake, .signal = SIGABRT)
{
    ls_time_queue queue = make_queue();
    for (uint32_t i = 0; i <= CAPACITY; i++) {
        ls_time_queue_add(&queue, i);
    }
}

Test(time_queue, taking_from_an_empty_one_is_a_programmers_mistake, .signal = SIGABRT)
{
    ls_time_queue queue = make_queue();
    ls_time_queue_pop(&queue);
}

/* ---- lag_notes ---- */

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
