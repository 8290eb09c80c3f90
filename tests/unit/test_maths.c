/* Arithmetic, random numbers and sorting, which every simulation stands on. */
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/simulation/arithmetic_check.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

/* ---- rng ---- */

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

/* ---- stable_sort ---- */

#define COUNT_MAX 3000

/* Where a run of scratch memory must not be written any more. */
static const ls_key_index guard = {UINT32_C(0xdeadbeef), UINT32_C(0xcafef00d)};

typedef struct arrays {
    ls_key_index pairs[COUNT_MAX + 1];
    ls_key_index expected[COUNT_MAX + 1];
    ls_key_index scratch[COUNT_MAX + 1];
} arrays;

static arrays work;

static int compare_keys(const void *a, const void *b, const void *context)
{
    uint32_t left = ((const ls_key_index *)a)->key;
    uint32_t right = ((const ls_key_index *)b)->key;
    int order = (left > right) - (left < right);
    return context != NULL ? -order : order;
}

static void insertion_sort(ls_key_index *pairs, size_t count, bool is_descending)
{
    for (size_t i = 1; i < count; i++) {
        ls_key_index moved = pairs[i];
        size_t at = i;
        for (; at > 0; at--) {
            uint32_t before = pairs[at - 1].key;
            if (is_descending ? before >= moved.key : before <= moved.key) {
                break;
            }
            pairs[at] = pairs[at - 1];
        }
        pairs[at] = moved;
    }
}

static void fill(ls_rng *rng, size_t count, uint32_t key_bound)
{
    for (size_t i = 0; i < count; i++) {
        work.pairs[i] = (ls_key_index){ls_rng_below(rng, key_bound), (uint32_t)i};
    }
    work.pairs[count] = guard;
    work.scratch[count] = guard;
    memcpy(work.expected, work.pairs, sizeof work.expected);
}

static void assert_as_expected(size_t count, uint32_t key_bound)
{
    cr_assert_eq(memcmp(work.pairs, work.expected, (count + 1) * sizeof guard), 0,
                 "%zu keys below %u", count, key_bound);
    cr_assert_eq(memcmp(&work.scratch[count], &guard, sizeof guard), 0);
}

static const size_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 1000};
static const uint32_t key_bounds[] = {1, 2, 10, 256, 257, 65536, 1u << 24, UINT32_MAX};

Test(stable_sort, matches_an_insertion_sort_with_many_and_few_ties)
{
    ls_rng rng = ls_rng_make(21, 1);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t j = 0; j < sizeof key_bounds / sizeof key_bounds[0]; j++) {
            fill(&rng, counts[i], key_bounds[j]);
            insertion_sort(work.expected, counts[i], false);
            ls_stable_sort(work.pairs, counts[i], sizeof guard, work.scratch, compare_keys, NULL);
            assert_as_expected(counts[i], key_bounds[j]);
        }
    }
}

Test(stable_sort, keys_are_sorted_as_an_insertion_sort_does)
{
    ls_rng rng = ls_rng_make(22, 1);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t j = 0; j < sizeof key_bounds / sizeof key_bounds[0]; j++) {
            fill(&rng, counts[i], key_bounds[j]);
            insertion_sort(work.expected, counts[i], false);
            ls_stable_sort_keys(work.pairs, counts[i], work.scratch);
            assert_as_expected(counts[i], key_bounds[j]);
        }
    }
}

Test(stable_sort, keys_that_differ_in_one_byte_alone_are_sorted)
{
    ls_rng rng = ls_rng_make(23, 1);
    for (int byte = 0; byte < 4; byte++) {
        fill(&rng, 500, 256);
        for (size_t i = 0; i < 500; i++) {
            work.pairs[i].key = work.pairs[i].key << (8 * byte) | UINT32_C(0x40) << (8 * byte ^ 8);
        }
        memcpy(work.expected, work.pairs, sizeof work.expected);
        insertion_sort(work.expected, 500, false);
        ls_stable_sort_keys(work.pairs, 500, work.scratch);
        assert_as_expected(500, 256);
    }
}

Test(stable_sort, the_context_reaches_the_comparison)
{
    ls_rng rng = ls_rng_make(24, 1);
    fill(&rng, 777, 50);
    insertion_sort(work.expected, 777, true);
    ls_stable_sort(work.pairs, 777, sizeof guard, work.scratch, compare_keys, &rng);
    assert_as_expected(777, 50);
}

Test(stable_sort, no_elements_need_no_memory)
{
    ls_stable_sort(NULL, 0, 8, NULL, compare_keys, NULL);
    ls_stable_sort_keys(NULL, 0, NULL);
}

static int compare_first_bytes(const void *a, const void *b, const void *context)
{
    (void)context;
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

Test(stable_sort, elements_of_any_size_move_whole)
{
    for (size_t bytes = 1; bytes <= 40; bytes += 13) {
        uint8_t elements[100 * 40], scratch[100 * 40];
        for (size_t i = 0; i < 100; i++) {
            memset(elements + i * bytes, (int)(i * 37 % 100), bytes);
        }
        ls_stable_sort(elements, 100, bytes, scratch, compare_first_bytes, NULL);
        for (size_t i = 0; i < 100 * bytes; i++) {
            cr_assert_eq(elements[i], i / bytes);
        }
    }
}

/* ---- arithmetic_check ---- */

Test(arithmetic_check, keeps_nothing_from_one_call_to_the_next)
{
    uint64_t first = ls_arithmetic_check();
    cr_assert_eq(ls_arithmetic_check(), first);
}

Test(arithmetic_check, finds_a_machine_that_rounds_differently)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    uint64_t nearest = ls_arithmetic_check();
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        fesetround(modes[i]);
        uint64_t check = ls_arithmetic_check();
        fesetround(FE_TONEAREST);
        cr_assert_neq(check, nearest, "mode %zu", i);
    }
}

#if defined(__SSE2__)
Test(arithmetic_check, finds_a_processor_that_treats_denormals_as_zero)
{
    enum {
        FLUSHES = 0x8000,
        READS_AS_ZERO = 0x0040,
    };
    static const unsigned modes[] = {FLUSHES, READS_AS_ZERO, FLUSHES | READS_AS_ZERO};
    const unsigned usual = __builtin_ia32_stmxcsr();
    uint64_t kept = ls_arithmetic_check();
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        __builtin_ia32_ldmxcsr(usual | modes[i]);
        uint64_t check = ls_arithmetic_check();
        __builtin_ia32_ldmxcsr(usual);
        cr_expect_neq(check, kept, "mode %zu", i);
    }
}
#endif
