#include "lockstep/common/maths/fixed.h"

#include "lockstep/tests/support/random_values.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>

#define RANDOM_ROUNDS 300000

Test(fixed, sums_and_differences_wrap_at_the_limits)
{
    cr_assert_eq(ls_fixed_add(LS_FIXED_MAX, 1), LS_FIXED_MIN);
    cr_assert_eq(ls_fixed_sub(LS_FIXED_MIN, 1), LS_FIXED_MAX);
    cr_assert_eq(ls_fixed_negate(LS_FIXED_MIN), LS_FIXED_MIN);
    cr_assert_eq(ls_fixed_abs(LS_FIXED_MIN), LS_FIXED_MIN);
    cr_assert_eq(ls_fixed_abs(-LS_FIXED_ONE), LS_FIXED_ONE);
    cr_assert_eq(ls_fixed_add(LS_FIXED_HALF, LS_FIXED_HALF), LS_FIXED_ONE);
    cr_assert_eq(ls_magnitude(INT64_MIN), UINT64_C(1) << 63);
}

Test(fixed, min_max_and_clamp_choose_the_right_one)
{
    cr_assert_eq(ls_fixed_min(-1, 1), -1);
    cr_assert_eq(ls_fixed_max(-1, 1), 1);
    cr_assert_eq(ls_fixed_clamp(5, -1, 1), 1);
    cr_assert_eq(ls_fixed_clamp(-5, -1, 1), -1);
    cr_assert_eq(ls_fixed_clamp(0, -1, 1), 0);
}

Test(fixed, constants_are_rounded_toward_zero)
{
    cr_assert_eq(LS_FIXED_RATIO(1, 2), LS_FIXED_HALF);
    cr_assert_eq(LS_FIXED_RATIO(1, 3), INT64_C(0x55555555));
    cr_assert_eq(LS_FIXED_RATIO(-2, 3), -INT64_C(0xaaaaaaaa));
    cr_assert_eq(LS_FIXED_INT(-2147483647), LS_FIXED_MIN + LS_FIXED_ONE);
}

Test(fixed, leading_zeros_are_counted_for_every_width)
{
    for (int width = 1; width <= 64; width++) {
        uint64_t top = UINT64_C(1) << (width - 1);
        cr_assert_eq(ls_leading_zeros(top), 64 - width);
        cr_assert_eq(ls_leading_zeros(top | (top - 1)), 64 - width);
    }
}

Test(fixed, a_product_is_rounded_to_nearest_half_upward)
{
    cr_assert_eq(ls_fixed_mul(LS_FIXED_INT(3), LS_FIXED_INT(-5)), LS_FIXED_INT(-15));
    cr_assert_eq(ls_fixed_mul(1, LS_FIXED_HALF), 1);
    cr_assert_eq(ls_fixed_mul(1, LS_FIXED_HALF - 1), 0);
    cr_assert_eq(ls_fixed_mul(-1, LS_FIXED_HALF), 0);
    cr_assert_eq(ls_fixed_mul(-1, LS_FIXED_HALF + 1), -1);
    cr_assert_eq(ls_fixed_mul(LS_FIXED_MIN, LS_FIXED_ONE), LS_FIXED_MIN);
    cr_assert_eq(ls_fixed_mul(LS_FIXED_MAX, LS_FIXED_ONE), LS_FIXED_MAX);
}

Test(fixed, a_product_wraps_when_it_does_not_fit)
{
    cr_assert_eq(ls_fixed_mul(LS_FIXED_INT(65536), LS_FIXED_INT(65536)), 0);
    cr_assert_eq(ls_fixed_mul(LS_FIXED_INT(65536), LS_FIXED_INT(32768)), LS_FIXED_MIN);
    cr_assert_eq(ls_fixed_mul(LS_FIXED_MIN, -LS_FIXED_ONE), LS_FIXED_MIN);
}

Test(fixed, a_quotient_is_rounded_toward_zero)
{
    cr_assert_eq(ls_fixed_div(LS_FIXED_INT(-15), LS_FIXED_INT(5)), LS_FIXED_INT(-3));
    cr_assert_eq(ls_fixed_div(LS_FIXED_ONE, LS_FIXED_INT(3)), INT64_C(0x55555555));
    cr_assert_eq(ls_fixed_div(LS_FIXED_INT(-2), LS_FIXED_INT(3)), -INT64_C(0xaaaaaaaa));
    cr_assert_eq(ls_fixed_div(1, LS_FIXED_INT(2)), 0);
    cr_assert_eq(ls_fixed_div(-1, LS_FIXED_INT(2)), 0);
    cr_assert_eq(ls_fixed_div(LS_FIXED_MIN, LS_FIXED_ONE), LS_FIXED_MIN);
}

Test(fixed, a_quotient_saturates)
{
    cr_assert_eq(ls_fixed_div(LS_FIXED_MIN, -LS_FIXED_ONE), LS_FIXED_MAX);
    cr_assert_eq(ls_fixed_div(LS_FIXED_MAX, 1), LS_FIXED_MAX);
    cr_assert_eq(ls_fixed_div(LS_FIXED_MAX, -1), LS_FIXED_MIN);
    cr_assert_eq(ls_fixed_div(LS_FIXED_HALF - 1, 1), LS_FIXED_MAX - LS_FIXED_ONE + 1);
    cr_assert_eq(ls_fixed_div(LS_FIXED_HALF, 1), LS_FIXED_MAX);
    cr_assert_eq(ls_fixed_div(-LS_FIXED_HALF, 1), LS_FIXED_MIN);
    cr_assert_eq(ls_fixed_div(-LS_FIXED_HALF - 1, 1), LS_FIXED_MIN);
}

Test(fixed, division_by_zero_gives_the_limit_of_the_dividends_sign)
{
    cr_assert_eq(ls_fixed_div(1, 0), LS_FIXED_MAX);
    cr_assert_eq(ls_fixed_div(-1, 0), LS_FIXED_MIN);
    cr_assert_eq(ls_fixed_div(0, 0), 0);
    cr_assert_eq(ls_mul_div(2, 3, 0), INT64_MAX);
    cr_assert_eq(ls_mul_div(2, -3, 0), INT64_MIN);
    cr_assert_eq(ls_mul_div(0, -3, 0), 0);
}

Test(fixed, mul_div_keeps_the_full_product)
{
    cr_assert_eq(ls_mul_div(INT64_MAX, INT64_MAX, INT64_MAX), INT64_MAX);
    cr_assert_eq(ls_mul_div(INT64_MIN, INT64_MIN, INT64_MIN), INT64_MIN);
    cr_assert_eq(ls_mul_div(INT64_MAX, 1000, 1001), INT64_C(9214157878975800006));
    cr_assert_eq(ls_mul_div(-7, 1, 2), -3);
    cr_assert_eq(ls_mul_div(INT64_MIN, 1, -1), INT64_MAX);
    cr_assert_eq(ls_mul_div(INT64_MAX, 2, 1), INT64_MAX);
    cr_assert_eq(ls_mul_div(INT64_MAX, -2, 1), INT64_MIN);
}

static void assert_limbs_agree(int64_t a, int64_t b, int64_t c)
{
    if (a >= 0 && b >= 0) {
        cr_assert_eq(ls_fixed_mul_whole(a, b), (uint32_t)((uint64_t)ls_fixed_mul(a, b) >> 32));
    }
    cr_assert_eq(ls_fixed_mul(a, b), ls_fixed_mul_limbs(a, b), "mul %lld %lld", (long long)a,
                 (long long)b);
    cr_assert_eq(ls_fixed_div(a, b), ls_fixed_div_limbs(a, b), "div %lld %lld", (long long)a,
                 (long long)b);
    cr_assert_eq(ls_mul_div(a, b, c), ls_mul_div_limbs(a, b, c), "mul_div %lld %lld %lld",
                 (long long)a, (long long)b, (long long)c);
}

static void assert_small_agrees(int64_t a, int64_t b)
{
    cr_assert_eq(ls_fixed_mul_small(a, b), ls_fixed_mul(a, b), "%lld %lld", (long long)a,
                 (long long)b);
}

Test(fixed, a_small_product_is_the_same_as_any)
{
    /* 3037000499^2 is the largest square below 2^63; the last product that fits is 2^63 - 2^31. */
    const int64_t sides[] = {0, 1, -1, 3, INT64_C(0x7fffffff), INT64_C(3037000498)};
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        for (size_t k = 0; k < sizeof sides / sizeof sides[0]; k++) {
            assert_small_agrees(sides[i], sides[k]);
            assert_small_agrees(sides[i], -sides[k]);
        }
    }
    assert_small_agrees(INT64_C(0xffffffff), INT64_C(0x7fffffff));
    assert_small_agrees(INT64_C(-0xffffffff), INT64_C(0x7fffffff));
    ls_rng rng = ls_rng_make(1, 9);
    for (int i = 0; i < 100000; i++) {
        int64_t a = (int64_t)ls_rng_next(&rng) - INT64_C(0x80000000);
        int64_t b = (int64_t)(ls_rng_next(&rng) >> ls_rng_below(&rng, 32));
        assert_small_agrees(a, b);
    }
}

Test(fixed, a_product_with_a_share_is_the_same_as_any)
{
    const int64_t shares[] = {0, 1, LS_FIXED_HALF, LS_FIXED_ONE - 1, LS_FIXED_ONE};
    ls_rng rng = ls_rng_make(2, 9);
    for (size_t i = 0; i < EDGE_COUNT; i++) {
        for (size_t k = 0; k < sizeof shares / sizeof shares[0]; k++) {
            cr_assert_eq(ls_fixed_mul_share(edge_values[i], shares[k]),
                         ls_fixed_mul(edge_values[i], shares[k]));
        }
        for (int k = 0; k < 1000; k++) {
            int64_t share = ls_rng_next(&rng);
            cr_assert_eq(ls_fixed_mul_share(edge_values[i], share),
                         ls_fixed_mul(edge_values[i], share));
        }
    }
}

Test(fixed, limbs_and_compiler_integers_give_the_same_bits)
{
    for (size_t i = 0; i < EDGE_COUNT; i++) {
        for (size_t j = 0; j < EDGE_COUNT; j++) {
            for (size_t k = 0; k < EDGE_COUNT; k++) {
                assert_limbs_agree(edge_values[i], edge_values[j], edge_values[k]);
            }
        }
    }
    ls_rng rng = ls_rng_make(1, 1);
    for (int i = 0; i < RANDOM_ROUNDS; i++) {
        int64_t a = random_value(&rng);
        int64_t b = random_value(&rng);
        int64_t c = random_value(&rng);
        assert_limbs_agree(a, b, c);
    }
}

#if defined(__SIZEOF_INT128__)
__extension__ typedef __int128 reference;
__extension__ typedef unsigned __int128 unsigned_reference;

static int64_t saturated(reference value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static void assert_quotients_exact(int64_t a, int64_t b, int64_t c)
{
    if (b != 0) {
        cr_assert_eq(ls_fixed_div(a, b), saturated((reference)a * LS_FIXED_ONE / b), "%lld / %lld",
                     (long long)a, (long long)b);
    }
    if (c != 0) {
        cr_assert_eq(ls_mul_div(a, b, c), saturated((reference)a * b / c), "%lld * %lld / %lld",
                     (long long)a, (long long)b, (long long)c);
    }
    unsigned_reference product = (unsigned_reference)((reference)a * b) + UINT32_C(0x80000000);
    cr_assert_eq((uint64_t)ls_fixed_mul(a, b), (uint64_t)(product >> 32));
}

/* root^2 <= square < (root + 1)^2 */
static bool is_floor_of_root(int64_t root, unsigned_reference square)
{
    unsigned_reference low = (unsigned_reference)root;
    return low * low <= square && square < (low + 1) * (low + 1);
}

static void assert_roots_exact(int64_t a, int64_t b)
{
    if (a > 0) {
        cr_assert(is_floor_of_root(ls_fixed_sqrt(a), (unsigned_reference)a << 32), "sqrt %lld",
                  (long long)a);
    }
    unsigned_reference square =
        (unsigned_reference)((reference)a * a) + (unsigned_reference)((reference)b * b);
    ls_fixed length = ls_vec2_length((ls_vec2){a, b});
    bool is_too_long = square >= (unsigned_reference)1 << 126;
    cr_assert(is_too_long ? length == LS_FIXED_MAX : is_floor_of_root(length, square),
              "length %lld %lld", (long long)a, (long long)b);
}

Test(fixed, products_quotients_and_roots_match_a_128_bit_reference)
{
    for (size_t i = 0; i < EDGE_COUNT; i++) {
        for (size_t j = 0; j < EDGE_COUNT; j++) {
            assert_roots_exact(edge_values[i], edge_values[j]);
            for (size_t k = 0; k < EDGE_COUNT; k++) {
                assert_quotients_exact(edge_values[i], edge_values[j], edge_values[k]);
            }
        }
    }
    ls_rng rng = ls_rng_make(2, 1);
    for (int i = 0; i < RANDOM_ROUNDS; i++) {
        int64_t a = random_value(&rng);
        int64_t b = random_value(&rng);
        int64_t c = random_value(&rng);
        assert_quotients_exact(a, b, c);
        assert_roots_exact(a, b);
    }
}
#endif

Test(fixed, roots_of_squares_are_exact_and_one_below_is_one_less)
{
    ls_rng rng = ls_rng_make(3, 1);
    for (int i = 0; i < 20000; i++) {
        int64_t root = (int64_t)(random_bits(&rng) >> 33 >> ls_rng_below(&rng, 16)) + 1;
        /* In units of 2^-16 the square is a whole number of 2^-32. */
        cr_assert_eq(ls_fixed_sqrt(root * root), root << 16);
        cr_assert_eq(ls_fixed_sqrt(root * root - 1) >> 16, root - 1);
    }
    cr_assert_eq(ls_fixed_sqrt(LS_FIXED_INT(9)), LS_FIXED_INT(3));
    cr_assert_eq(ls_fixed_sqrt(LS_FIXED_INT(2)), INT64_C(0x16a09e667));
    cr_assert_eq(ls_fixed_sqrt(1), 65536);
    cr_assert_eq(ls_fixed_sqrt(LS_FIXED_MAX), INT64_C(0xb504f333f9de));
}

Test(fixed, the_root_of_nothing_and_of_less_is_zero)
{
    cr_assert_eq(ls_fixed_sqrt(0), 0);
    cr_assert_eq(ls_fixed_sqrt(-1), 0);
    cr_assert_eq(ls_fixed_sqrt(LS_FIXED_MIN), 0);
}

Test(fixed, a_length_neither_overflows_nor_vanishes)
{
    ls_vec2 triangle = {LS_FIXED_INT(-3), LS_FIXED_INT(4)};
    cr_assert_eq(ls_vec2_length(triangle), LS_FIXED_INT(5));
    cr_assert_eq(ls_vec2_length((ls_vec2){-3, 4}), 5);
    cr_assert_eq(ls_vec2_length((ls_vec2){0, 0}), 0);
    cr_assert_eq(ls_vec2_length((ls_vec2){0, LS_FIXED_MAX}), LS_FIXED_MAX);
    cr_assert_eq(ls_vec2_length((ls_vec2){LS_FIXED_MIN, 0}), LS_FIXED_MAX);
    cr_assert_eq(ls_vec2_length((ls_vec2){LS_FIXED_MIN, LS_FIXED_MIN}), LS_FIXED_MAX);
    ls_vec2 far = {LS_FIXED_INT(1200000000), LS_FIXED_INT(1600000000)};
    cr_assert_eq(ls_vec2_length(far), LS_FIXED_INT(2000000000));
}

Test(fixed, vectors_add_scale_and_multiply)
{
    ls_vec2 a = {LS_FIXED_INT(2), LS_FIXED_INT(3)};
    ls_vec2 b = {LS_FIXED_INT(-5), LS_FIXED_INT(7)};
    cr_assert_eq(ls_vec2_add(a, b).x, LS_FIXED_INT(-3));
    cr_assert_eq(ls_vec2_sub(a, b).y, LS_FIXED_INT(-4));
    cr_assert_eq(ls_vec2_scale(a, LS_FIXED_HALF).y, LS_FIXED_RATIO(3, 2));
    cr_assert_eq(ls_vec2_dot(a, b), LS_FIXED_INT(11));
    cr_assert_eq(ls_vec2_cross(a, b), LS_FIXED_INT(29));
}

Test(fixed, floor_goes_toward_negative_infinity)
{
    cr_assert_eq(ls_fixed_floor(LS_FIXED_ONE - 1), 0);
    cr_assert_eq(ls_fixed_floor(LS_FIXED_ONE), 1);
    cr_assert_eq(ls_fixed_floor(-1), -1);
    cr_assert_eq(ls_fixed_floor(-LS_FIXED_ONE), -1);
    cr_assert_eq(ls_fixed_floor(-LS_FIXED_ONE - 1), -2);
    cr_assert_eq(ls_fixed_floor(LS_FIXED_MAX), INT32_MAX);
    cr_assert_eq(ls_fixed_floor(LS_FIXED_MIN), INT32_MIN);
}

Test(fixed, doubles_are_cut_toward_zero_and_saturate)
{
    cr_assert_eq(ls_fixed_from_double(1.5), LS_FIXED_RATIO(3, 2));
    cr_assert_eq(ls_fixed_from_double(-0.1), -INT64_C(429496729));
    cr_assert_eq(ls_fixed_from_double(1e-300), 0);
    cr_assert_eq(ls_fixed_from_double(2147483648.0), LS_FIXED_MAX);
    cr_assert_eq(ls_fixed_from_double(-2147483648.0), LS_FIXED_MIN);
    cr_assert_eq(ls_fixed_from_double(-1e300), LS_FIXED_MIN);
    cr_assert_eq(ls_fixed_from_double((double)INFINITY), LS_FIXED_MAX);
    cr_assert_eq(ls_fixed_from_double((double)NAN), 0);
    cr_assert_eq(ls_fixed_to_double(LS_FIXED_RATIO(-3, 4)), -0.75);
}
