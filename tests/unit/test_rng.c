#include "lockstep/common/maths/rng.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(rng, the_published_vector_comes_out)
{
    /* pcg32-demo of the PCG reference implementation: seed 42, stream 54. */
    static const uint32_t published[] = {UINT32_C(0xa15c02b7), UINT32_C(0x7b47f409),
                                         UINT32_C(0xba1d3330), UINT32_C(0x83d2f293),
                                         UINT32_C(0xbfa4784b), UINT32_C(0xcbed606e)};
    ls_rng rng = ls_rng_make(42, 54);
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        cr_assert_eq(ls_rng_next(&rng), published[i], "draw %zu", i);
    }
}

Test(rng, same_seed_gives_same_sequence_and_another_does_not)
{
    ls_rng a = ls_rng_make(1, 2), b = ls_rng_make(1, 2), c = ls_rng_make(2, 2);
    int equal = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t draw = ls_rng_next(&a);
        cr_assert_eq(draw, ls_rng_next(&b));
        equal += draw == ls_rng_next(&c);
    }
    cr_assert_lt(equal, 3);
}

Test(rng, streams_of_one_seed_differ_and_the_top_bit_names_none)
{
    ls_rng a = ls_rng_make(1, 0), b = ls_rng_make(1, 1);
    ls_rng c = ls_rng_make(1, UINT64_C(1) << 63);
    int equal = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t draw = ls_rng_next(&a);
        equal += draw == ls_rng_next(&b);
        cr_assert_eq(draw, ls_rng_next(&c));
    }
    cr_assert_lt(equal, 3);
}

Test(rng, below_stays_below_at_the_limits)
{
    ls_rng rng = ls_rng_make(5, 5);
    for (int i = 0; i < 10000; i++) {
        cr_assert_eq(ls_rng_below(&rng, 1), 0);
        cr_assert_lt(ls_rng_below(&rng, 2), 2);
        cr_assert_lt(ls_rng_below(&rng, UINT32_MAX), UINT32_MAX);
    }
}

/* Chi-squared of `bins` equally likely values; about bins, with deviation sqrt(2*bins). */
static double chi_squared(ls_rng *rng, uint32_t bound, uint32_t bins, uint32_t draws)
{
    uint32_t counts[64] = {0};
    for (uint32_t i = 0; i < draws; i++) {
        counts[(uint64_t)ls_rng_below(rng, bound) * bins / bound]++;
    }
    double expected = (double)draws / bins, sum = 0;
    for (uint32_t i = 0; i < bins; i++) {
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

Test(rng, below_is_uniform)
{
    ls_rng rng = ls_rng_make(6, 6);
    cr_assert_lt(chi_squared(&rng, 60, 60, 600000), 120.0);
    cr_assert_lt(chi_squared(&rng, 7, 7, 700000), 30.0);
    cr_assert_lt(chi_squared(&rng, UINT32_C(3) << 30, 48, 480000), 100.0);
}

Test(rng, below_has_no_bias_where_the_plain_product_has)
{
    /* For 3*2^30 the product alone gives multiples of 3 twice as often as the others. */
    ls_rng rng = ls_rng_make(7, 6);
    const uint32_t draws = 300000;
    uint32_t counts[3] = {0}, plain[3] = {0};
    for (uint32_t i = 0; i < draws; i++) {
        counts[ls_rng_below(&rng, UINT32_C(3) << 30) % 3]++;
        plain[((uint64_t)ls_rng_next(&rng) * (UINT32_C(3) << 30) >> 32) % 3]++;
    }
    cr_assert_gt(plain[0], draws * 45 / 100);
    for (int i = 0; i < 3; i++) {
        cr_assert(counts[i] > draws * 33 / 100 && counts[i] < draws * 337 / 1000, "%d: %u", i,
                  counts[i]);
    }
}

Test(rng, between_reaches_both_ends_and_spans_everything)
{
    ls_rng rng = ls_rng_make(8, 8);
    uint32_t seen = 0;
    int negative = 0;
    for (int i = 0; i < 1000; i++) {
        int32_t value = ls_rng_between(&rng, -2, 2);
        cr_assert(value >= -2 && value <= 2);
        seen |= 1u << (value + 2);
        negative += ls_rng_between(&rng, INT32_MIN, INT32_MAX) < 0;
        cr_assert_eq(ls_rng_between(&rng, 9, 9), 9);
    }
    cr_assert_eq(seen, 0x1fu);
    cr_assert(negative > 400 && negative < 600, "%d", negative);
}

Test(rng, unit_is_in_range_with_every_bit_in_use)
{
    ls_rng rng = ls_rng_make(9, 9);
    uint64_t ones = 0, zeros = 0;
    for (int i = 0; i < 1000; i++) {
        ls_fixed unit = ls_rng_unit(&rng);
        cr_assert(unit >= 0 && unit < LS_FIXED_ONE);
        ones |= (uint64_t)unit;
        zeros |= ~(uint64_t)unit;
    }
    cr_assert_eq(ones & UINT32_MAX, UINT32_MAX);
    cr_assert_eq(zeros & UINT32_MAX, UINT32_MAX);
}

Test(rng, below_zero_is_a_programmers_mistake, .signal = SIGABRT)
{
    ls_rng rng = ls_rng_make(1, 1);
    ls_rng_below(&rng, 0);
}
