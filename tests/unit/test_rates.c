/* Rates, budgets, histograms and the queue of what is due. */
#include "lockstep/common/base/histogram.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/rate.h"
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

#define SECOND UINT64_C(1000000000)

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

#define MS UINT64_C(1000000)

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
