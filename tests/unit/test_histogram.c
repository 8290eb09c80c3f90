#include "lockstep/common/base/histogram.h"

#include <criterion/criterion.h>

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
