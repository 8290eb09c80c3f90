#include "lockstep/client/session/quantile_window.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/maths/rng.h"

#include <criterion/criterion.h>

#define TICK_NS (LS_NS_PER_SECOND / 60)
#define MS ((int64_t)LS_NS_PER_MS)

enum {
    ONE_IN = 100
};

static ls_quantile_window window;
static uint64_t now_ns;

static void make(void)
{
    now_ns = 0;
    ls_quantile_window_init(&window, ONE_IN);
}

TestSuite(quantile_window, .init = make);

/* Adds so many samples, a tick apart. */
static void add(uint32_t count, int64_t sample_ns)
{
    for (uint32_t i = 0; i < count; i++, now_ns += TICK_NS) {
        ls_quantile_window_add(&window, sample_ns, now_ns);
    }
}

Test(quantile_window, a_few_samples_all_stay_within_its_value)
{
    cr_assert_not(ls_quantile_window_has_samples(&window));
    static const int64_t samples[] = {-7 * MS, -9 * MS, 3 * MS, 0};
    static const int64_t values[] = {-7 * MS, -7 * MS, 3 * MS, 3 * MS};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        add(1, samples[i]);
        cr_assert(ls_quantile_window_has_samples(&window));
        cr_assert_eq(ls_quantile_window_value(&window), values[i]);
    }
}

Test(quantile_window, a_spared_sample_is_left_out_however_few_there_are)
{
    window.spared = 1;
    static const int64_t samples[] = {5 * MS, 9 * MS, 3 * MS, 9 * MS};
    static const int64_t values[] = {5 * MS, 5 * MS, 5 * MS, 9 * MS};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        add(1, samples[i]);
        cr_assert_eq(ls_quantile_window_value(&window), values[i]);
    }
    ls_quantile_window_forget(&window);
    cr_assert_not(ls_quantile_window_has_samples(&window));
    add(1, 2 * MS);
    add(1, 8 * MS);
    cr_assert_eq(ls_quantile_window_value(&window), 2 * MS, "it forgets samples alone");
}

Test(quantile_window, of_many_samples_one_in_so_many_is_larger)
{
    ls_rng rng = ls_rng_make(1, 1);
    uint32_t larger = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        int64_t sample_ns = ls_rng_below(&rng, 1000000);
        larger += i >= 1000 && sample_ns > ls_quantile_window_value(&window);
        add(1, sample_ns);
    }
    cr_assert_geq(larger, 19000 / ONE_IN / 2, "%u", larger);
    cr_assert_leq(larger, 19000 / ONE_IN * 2, "%u", larger);
}

Test(quantile_window, a_lasting_change_is_seen_after_a_handful_of_samples)
{
    add(2000, 10 * MS);
    uint32_t samples = 0;
    for (; ls_quantile_window_value(&window) < 30 * MS; samples++) {
        cr_assert_lt(samples, LS_TAIL_KEPT);
        add(1, 30 * MS);
    }
    cr_assert_geq(samples, 4, "few are chance");
}

Test(quantile_window, a_past_change_is_forgotten_with_its_rounds)
{
    for (uint32_t i = 0; i < 64; i++) {
        add(1, i % 2 == 0 ? 0 : 50 * MS);
    }
    cr_assert_eq(ls_quantile_window_value(&window), 50 * MS);
    add(60, 0);
    cr_assert_eq(ls_quantile_window_value(&window), 50 * MS, "it may come again");
    add(LS_TAIL_ROUNDS * 33, 0);
    cr_assert_eq(ls_quantile_window_value(&window), 0);
}

Test(quantile_window, a_wholly_better_network_ends_the_memory_of_the_old_one)
{
    add(2010, 50 * MS);
    cr_assert(ls_quantile_window_is_settled(&window));
    uint64_t better_ns = now_ns;
    while (ls_quantile_window_value(&window) > 10 * MS) {
        cr_assert_lt(now_ns - better_ns, 3 * LS_NS_PER_SECOND / 2);
        add(1, 10 * MS);
    }
    cr_assert_not(ls_quantile_window_is_settled(&window), "little is known of the new network");
    add(34, 10 * MS);
    cr_assert(ls_quantile_window_is_settled(&window));
}

Test(quantile_window, a_window_is_settled_after_a_second_at_any_rate)
{
    static const uint32_t rates_hz[] = {20, 60, 240, 1000};
    for (size_t i = 0; i < sizeof rates_hz / sizeof rates_hz[0]; i++) {
        uint64_t period_ns = LS_NS_PER_SECOND / rates_hz[i];
        make();
        while (!ls_quantile_window_is_settled(&window)) {
            ls_quantile_window_add(&window, 0, now_ns);
            now_ns += period_ns;
        }
        cr_assert_geq(now_ns, LS_NS_PER_SECOND, "%u Hz", rates_hz[i]);
        cr_assert_leq(now_ns, LS_NS_PER_SECOND + 80 * period_ns, "%u Hz", rates_hz[i]);
    }
}

Test(quantile_window, samples_of_one_moment_count_once_by_their_largest)
{
    for (uint32_t i = 0; i < 2000; i++, now_ns += 50 * LS_NS_PER_MS) {
        ls_quantile_window_add(&window, 0, now_ns);
    }
    for (uint32_t i = 0; i < 100; i++) {
        ls_quantile_window_add(&window, i, now_ns + i);
    }
    cr_assert_eq(ls_quantile_window_value(&window), 0, "a hundred samples, but one event");
    ls_quantile_window few;
    ls_quantile_window_init(&few, ONE_IN);
    ls_quantile_window_add(&few, 1 * MS, 0);
    ls_quantile_window_add(&few, 7 * MS, 1);
    ls_quantile_window_add(&few, 3 * MS, 2);
    cr_assert_eq(ls_quantile_window_value(&few), 7 * MS);
}

Test(quantile_window, an_outage_is_passed_over)
{
    add(200, 5 * MS);
    add(30, 2000 * MS);
    cr_assert_eq(ls_quantile_window_value(&window), 5 * MS);
    for (uint32_t i = 0; i < 100; i++) {
        ls_quantile_window_add(&window, 3000 * MS, now_ns);
    }
    cr_assert_eq(ls_quantile_window_value(&window), 5 * MS, "all at once they are one");
    add(1, 5 * MS);
    add(31, 2000 * MS);
    cr_assert_eq(ls_quantile_window_value(&window), 5 * MS);
}

Test(quantile_window, a_long_change_is_no_outage)
{
    add(200, 5 * MS);
    add(40, 2000 * MS);
    cr_assert_eq(ls_quantile_window_value(&window), 2000 * MS);
    cr_assert_eq(ls_quantile_window_least(&window), 2000 * MS, "and what was before is forgotten");
}

Test(quantile_window, an_outage_at_the_beginning_is_forgotten_when_it_ends)
{
    add(20, 2000 * MS);
    add(1, 5 * MS);
    cr_assert_eq(ls_quantile_window_value(&window), 5 * MS);
}
