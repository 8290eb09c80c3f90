#include "lockstep/common/maths/fixed.h"
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/tests/support/random_values.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- fixed ---- */

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

/* ---- fixed_trig ---- */

/* The measured errors that the header states, in units of the results' last bit, 2^-32. */
#define SINE_ERROR_MAX 1.56L
#define ARC_TANGENT_ERROR_MAX 1.03L

#define UNITS 4294967296.0L

static long double pi_reference(void)
{
    return acosl(-1.0L);
}

static long double radians_reference(ls_angle angle)
{
    return (long double)angle / UNITS * 2.0L * pi_reference();
}

static long double sine_error(ls_angle angle)
{
    return fabsl((long double)ls_fixed_sin(angle) - sinl(radians_reference(angle)) * UNITS);
}

static long double cosine_error(ls_angle angle)
{
    return fabsl((long double)ls_fixed_cos(angle) - cosl(radians_reference(angle)) * UNITS);
}

static void assert_sine_and_cosine(ls_angle angle)
{
    cr_assert_leq(sine_error(angle), SINE_ERROR_MAX, "sin %u", angle);
    cr_assert_leq(cosine_error(angle), SINE_ERROR_MAX, "cos %u", angle);
    cr_assert_leq(ls_fixed_abs(ls_fixed_sin(angle)), LS_FIXED_ONE, "sin %u", angle);
}

Test(fixed_trig, sine_and_cosine_stay_within_the_stated_error)
{
    for (uint64_t angle = 0; angle < UINT64_C(1) << 32; angle += 8191) {
        assert_sine_and_cosine((ls_angle)angle);
    }
}

Test(fixed_trig, sine_and_cosine_stay_within_the_stated_error_next_to_every_fold)
{
    for (ls_angle eighth = 0; eighth < 8; eighth++) {
        for (ls_angle offset = 0; offset <= 2048; offset++) {
            assert_sine_and_cosine((eighth << 29) + offset - 1024);
        }
    }
}

Test(fixed_trig, quarter_turns_are_exact)
{
    static const ls_fixed sines[] = {0, LS_FIXED_ONE, 0, -LS_FIXED_ONE};
    for (ls_angle quarter = 0; quarter < 4; quarter++) {
        cr_assert_eq(ls_fixed_sin(quarter << 30), sines[quarter]);
        cr_assert_eq(ls_fixed_cos(quarter << 30), sines[(quarter + 1) & 3u]);
    }
}

Test(fixed_trig, sine_is_odd_and_cosine_is_even_to_the_bit)
{
    ls_rng rng = ls_rng_make(11, 1);
    for (int i = 0; i < 300000; i++) {
        ls_angle angle = ls_rng_next(&rng);
        cr_assert_eq(ls_fixed_sin(0u - angle), -ls_fixed_sin(angle));
        cr_assert_eq(ls_fixed_cos(0u - angle), ls_fixed_cos(angle));
        cr_assert_eq(ls_fixed_sin(LS_ANGLE_HALF - angle), ls_fixed_sin(angle));
        ls_vec2 unit = ls_vec2_from_angle(angle);
        cr_assert(unit.x == ls_fixed_cos(angle) && unit.y == ls_fixed_sin(angle));
    }
}

static long double arc_tangent_error(ls_fixed y, ls_fixed x)
{
    long double turn = atan2l((long double)y, (long double)x) / (2.0L * pi_reference()) * UNITS;
    long double difference = (long double)ls_fixed_atan2(y, x) - turn;
    return fabsl(difference - roundl(difference / UNITS) * UNITS);
}

static void assert_arc_tangent(ls_fixed y, ls_fixed x)
{
    cr_assert_leq(arc_tangent_error(y, x), ARC_TANGENT_ERROR_MAX, "atan2 %lld %lld", (long long)y,
                  (long long)x);
}

Test(fixed_trig, arc_tangent_stays_within_the_stated_error_all_round_at_every_radius)
{
    for (int width = 4; width <= 62; width++) {
        ls_fixed radius = INT64_C(1) << width;
        for (uint64_t angle = 0; angle < UINT64_C(1) << 32; angle += 1048573) {
            ls_vec2 unit = ls_vec2_from_angle((ls_angle)angle);
            assert_arc_tangent(ls_fixed_mul(unit.y, radius), ls_fixed_mul(unit.x, radius));
        }
    }
}

Test(fixed_trig, arc_tangent_stays_within_the_stated_error_for_any_pair)
{
    for (size_t i = 0; i < EDGE_COUNT; i++) {
        for (size_t j = 0; j < EDGE_COUNT; j++) {
            assert_arc_tangent(edge_values[i], edge_values[j]);
        }
    }
    ls_rng rng = ls_rng_make(12, 1);
    for (int i = 0; i < 300000; i++) {
        ls_fixed y = random_value(&rng);
        ls_fixed x = random_value(&rng);
        assert_arc_tangent(y, x);
    }
}

Test(fixed_trig, arc_tangent_is_exact_on_axes_and_diagonals)
{
    cr_assert_eq(ls_fixed_atan2(0, 0), 0);
    for (size_t i = 0; i < EDGE_COUNT; i++) {
        ls_fixed a = edge_values[i];
        if (a <= 0) {
            continue;
        }
        cr_assert_eq(ls_fixed_atan2(0, a), 0);
        cr_assert_eq(ls_fixed_atan2(a, 0), LS_ANGLE_QUARTER);
        cr_assert_eq(ls_fixed_atan2(0, -a), LS_ANGLE_HALF);
        cr_assert_eq(ls_fixed_atan2(-a, 0), 0u - LS_ANGLE_QUARTER);
        cr_assert_eq(ls_fixed_atan2(a, a), LS_ANGLE_QUARTER / 2);
        cr_assert_eq(ls_fixed_atan2(-a, -a), LS_ANGLE_HALF + LS_ANGLE_QUARTER / 2);
    }
    cr_assert_eq(ls_fixed_atan2(LS_FIXED_MIN, LS_FIXED_MIN), LS_ANGLE_HALF + LS_ANGLE_QUARTER / 2);
}

Test(fixed_trig, arc_tangent_undoes_the_unit_vector)
{
    for (uint64_t angle = 0; angle < UINT64_C(1) << 32; angle += 65521) {
        ls_vec2 unit = ls_vec2_from_angle((ls_angle)angle);
        uint32_t difference = ls_fixed_atan2(unit.y, unit.x) - (ls_angle)angle;
        cr_assert_leq(ls_magnitude(ls_signed_from_bits((uint64_t)difference << 32)), UINT64_C(3)
                                                                                         << 32);
    }
}

Test(fixed_trig, radians_are_the_nearest_and_lead_back)
{
    cr_assert_eq(ls_radians_from_angle(LS_ANGLE_HALF), -INT64_C(13493037705));
    cr_assert_eq(ls_radians_from_angle(LS_ANGLE_HALF - 1), INT64_C(13493037698));
    for (uint64_t angle = 0; angle < UINT64_C(1) << 32; angle += 16381) {
        ls_fixed radians = ls_radians_from_angle((ls_angle)angle);
        long double signed_angle = angle < LS_ANGLE_HALF ? (long double)angle : angle - UNITS;
        cr_assert_leq(fabsl((long double)radians - signed_angle * 2.0L * pi_reference()), 0.5001L,
                      "%llu", (unsigned long long)angle);
        cr_assert_eq(ls_angle_from_radians(radians), (ls_angle)angle);
    }
}

Test(fixed_trig, any_number_of_radians_has_the_right_angle)
{
    /* Computed with 60 decimal digits. */
    static const struct {
        ls_fixed radians;
        ls_angle angle;
    } cases[] = {
        {0, 0},
        {INT64_MAX, UINT32_C(0xc9c882a5)},
        {INT64_MIN, UINT32_C(0x36377d5b)},
        {INT64_C(4611686018427387904), UINT32_C(0xe4e44153)},
        {INT64_C(123456789012345678), UINT32_C(0x068d0a06)},
        {INT64_C(-1234567890123456789), UINT32_C(0xbe7d9bc5)},
        {INT64_C(2356064425258417221), UINT32_C(0xaa2f0f75)},
        {INT64_C(6013930923205721641), UINT32_C(0x650199ef)},
        {INT64_C(478261842605716053), UINT32_C(0x8bd3e08f)},
        {INT64_C(7027521676193288798), UINT32_C(0x2ff3a558)},
        {INT64_C(26986075409), 0},
        {INT64_C(13493037705), LS_ANGLE_HALF},
        {LS_FIXED_INT(2), UINT32_C(0x517cc1b7)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(ls_angle_from_radians(cases[i].radians), cases[i].angle, "case %zu", i);
    }
}

/* ---- interpolate ---- */

#define INTERPOLATE_UNITS 4294967296.0L

Test(interpolate, lerp_is_exact_at_both_ends_for_any_pair)
{
    for (size_t i = 0; i < EDGE_COUNT; i++) {
        for (size_t j = 0; j < EDGE_COUNT; j++) {
            cr_assert_eq(ls_lerp(edge_values[i], edge_values[j], 0), edge_values[i]);
            cr_assert_eq(ls_lerp(edge_values[i], edge_values[j], LS_FIXED_ONE), edge_values[j]);
        }
        cr_assert_eq(ls_lerp(edge_values[i], edge_values[i], 12345), edge_values[i]);
    }
}

Test(interpolate, lerp_never_leaves_the_span_nor_turns_back)
{
    ls_rng rng = ls_rng_make(31, 1);
    for (int i = 0; i < 100000; i++) {
        ls_fixed from = random_value(&rng);
        ls_fixed to = random_value(&rng);
        ls_fixed alpha = ls_rng_unit(&rng);
        ls_fixed later = ls_fixed_max(alpha, ls_rng_unit(&rng));
        ls_fixed here = ls_lerp(from, to, alpha);
        ls_fixed there = ls_lerp(from, to, later);
        if (from <= to) {
            cr_assert(from <= here && here <= there && there <= to);
        } else {
            cr_assert(from >= here && here >= there && there >= to);
        }
    }
}

Test(interpolate, lerp_is_right_to_the_last_bit_even_over_the_whole_range)
{
    cr_assert_eq(ls_lerp(LS_FIXED_INT(10), LS_FIXED_INT(20), LS_FIXED_ONE / 4),
                 LS_FIXED_RATIO(25, 2));
    cr_assert_eq(ls_lerp(LS_FIXED_MIN, LS_FIXED_MAX, LS_FIXED_HALF), -1);
    cr_assert_eq(ls_lerp(LS_FIXED_MAX, LS_FIXED_MIN, LS_FIXED_HALF), 0);
    ls_rng rng = ls_rng_make(32, 1);
    for (int i = 0; i < 100000; i++) {
        /* Small enough for the reference to be exact. */
        ls_fixed from = (ls_fixed)ls_rng_next(&rng) - LS_FIXED_HALF;
        ls_fixed to = (ls_fixed)ls_rng_next(&rng) - LS_FIXED_HALF;
        ls_fixed alpha = ls_rng_unit(&rng);
        double exact = (double)from + (double)(to - from) * ls_fixed_to_double(alpha);
        cr_assert_leq(fabs((double)ls_lerp(from, to, alpha) - exact), 1.001);
    }
}

Test(interpolate, alpha_outside_the_span_stays_at_the_ends)
{
    cr_assert_eq(ls_lerp(5, 9, -1), 5);
    cr_assert_eq(ls_lerp(5, 9, LS_FIXED_MAX), 9);
    cr_assert_eq(ls_lerp_angle(5, 9, LS_FIXED_MIN), 5);
    cr_assert_eq(ls_lerp_angle(5, 9, LS_FIXED_ONE + 1), 9);
}

Test(interpolate, vectors_blend_each_axis_with_its_own_old_value)
{
    ls_vec2 from = {LS_FIXED_INT(1), LS_FIXED_INT(100)};
    ls_vec2 to = {LS_FIXED_INT(3), LS_FIXED_INT(200)};
    ls_vec2 middle = ls_lerp_vec2(from, to, LS_FIXED_HALF);
    cr_assert_eq(middle.x, LS_FIXED_INT(2));
    cr_assert_eq(middle.y, LS_FIXED_INT(150));
}

Test(interpolate, angles_take_the_shorter_way_across_the_wrap)
{
    ls_angle before = 0u - UINT32_C(1000), after = UINT32_C(3000);
    cr_assert_eq(ls_lerp_angle(before, after, LS_FIXED_HALF), 1000u);
    cr_assert_eq(ls_lerp_angle(after, before, LS_FIXED_HALF), 1000u);
    cr_assert_eq(ls_lerp_angle(before, after, LS_FIXED_ONE / 8), 0u - UINT32_C(500));
    cr_assert_eq(ls_lerp_angle(LS_ANGLE_QUARTER, LS_ANGLE_HALF, LS_FIXED_HALF),
                 LS_ANGLE_QUARTER / 2 * 3);
}

Test(interpolate, angles_half_a_turn_apart_increase_and_one_more_turns_the_other_way)
{
    ls_angle from = UINT32_C(77);
    ls_angle opposite = from + LS_ANGLE_HALF;
    cr_assert_eq(ls_lerp_angle(from, opposite, LS_FIXED_HALF), from + LS_ANGLE_QUARTER);
    cr_assert_eq(ls_lerp_angle(opposite, from, LS_FIXED_HALF), opposite + LS_ANGLE_QUARTER);
    cr_assert_eq(ls_lerp_angle(from, opposite + 2, LS_FIXED_HALF), from - (LS_ANGLE_HALF - 2) / 2);
}

Test(interpolate, angles_are_exact_at_both_ends_and_never_sweep_more_than_half_a_turn)
{
    ls_rng rng = ls_rng_make(33, 1);
    for (int i = 0; i < 100000; i++) {
        ls_angle from = ls_rng_next(&rng);
        ls_angle to = ls_rng_next(&rng);
        ls_fixed alpha = ls_rng_unit(&rng);
        cr_assert_eq(ls_lerp_angle(from, to, 0), from);
        cr_assert_eq(ls_lerp_angle(from, to, LS_FIXED_ONE), to);
        uint32_t whole = to - from <= LS_ANGLE_HALF ? to - from : from - to;
        ls_angle here = ls_lerp_angle(from, to, alpha);
        uint32_t gone = here - from <= LS_ANGLE_HALF ? here - from : from - here;
        cr_assert_leq(gone, whole);
        cr_assert_leq(fabsl((long double)gone - (long double)whole * alpha / INTERPOLATE_UNITS),
                      1.0L);
    }
}

/* ---- quaternions ---- */

typedef struct quad {
    long double part[4];
} quad;

static quad quad_of(ls_quaternion q)
{
    return (quad){{q.w / INTERPOLATE_UNITS, q.x / INTERPOLATE_UNITS, q.y / INTERPOLATE_UNITS,
                   q.z / INTERPOLATE_UNITS}};
}

static long double quad_dot(quad a, quad b)
{
    long double sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += a.part[i] * b.part[i];
    }
    return sum;
}

static long double distance(quad a, quad b)
{
    long double sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += (a.part[i] - b.part[i]) * (a.part[i] - b.part[i]);
    }
    return sqrtl(sum);
}

/* Shoemake's formula, along the shorter arc. */
static quad slerp_reference(ls_quaternion from, ls_quaternion to, ls_fixed alpha)
{
    quad a = quad_of(from), b = quad_of(to), out;
    long double sign = quad_dot(a, b) < 0 ? -1.0L : 1.0L;
    quad towards = {{sign * b.part[0], sign * b.part[1], sign * b.part[2], sign * b.part[3]}};
    quad away = {{-towards.part[0], -towards.part[1], -towards.part[2], -towards.part[3]}};
    long double angle = 2.0L * atan2l(distance(a, towards), distance(a, away));
    long double t = alpha / INTERPOLATE_UNITS, rest = 1.0L - t;
    if (angle > 1e-9L) {
        rest = sinl(rest * angle) / sinl(angle);
        t = sinl(t * angle) / sinl(angle);
    }
    for (int i = 0; i < 4; i++) {
        out.part[i] = rest * a.part[i] + t * towards.part[i];
    }
    return out;
}

static void assert_slerp(ls_quaternion from, ls_quaternion to, ls_fixed alpha)
{
    quad result = quad_of(ls_slerp(from, to, alpha));
    cr_assert_leq(distance(result, slerp_reference(from, to, alpha)), 16.0L / INTERPOLATE_UNITS);
    cr_assert_leq(fabsl(sqrtl(quad_dot(result, result)) - 1.0L), 16.0L / INTERPOLATE_UNITS);
}

Test(interpolate, slerp_is_exact_at_both_ends)
{
    ls_rng rng = ls_rng_make(34, 1);
    for (int i = 0; i < 1000; i++) {
        ls_quaternion from = random_turn(&rng, ls_rng_next(&rng));
        ls_quaternion to = random_turn(&rng, ls_rng_next(&rng));
        ls_quaternion first = ls_slerp(from, to, 0), last = ls_slerp(from, to, LS_FIXED_ONE);
        cr_assert_eq(memcmp(&first, &from, sizeof from), 0);
        cr_assert_eq(memcmp(&last, &to, sizeof to), 0);
    }
}

Test(interpolate, slerp_follows_the_great_arc_with_length_one)
{
    ls_rng rng = ls_rng_make(35, 1);
    for (int i = 0; i < 30000; i++) {
        ls_quaternion from = random_turn(&rng, ls_rng_next(&rng));
        ls_quaternion to = random_turn(&rng, ls_rng_next(&rng));
        assert_slerp(from, to, ls_rng_unit(&rng));
    }
}

Test(interpolate, slerp_is_right_from_nearly_parallel_to_a_half_turn)
{
    ls_quaternion from = {LS_FIXED_ONE, 0, 0, 0};
    ls_rng rng = ls_rng_make(36, 1);
    for (int width = 0; width <= 30; width++) {
        for (int i = 0; i < 500; i++) {
            ls_angle angle = (UINT32_C(1) << width) + ls_rng_below(&rng, UINT32_C(1) << width);
            ls_quaternion to = random_turn(&rng, ls_fixed_min(angle, LS_ANGLE_QUARTER));
            assert_slerp(from, to, ls_rng_unit(&rng));
        }
    }
}

Test(interpolate, slerp_turns_with_constant_angular_speed)
{
    ls_quaternion from = {LS_FIXED_ONE, 0, 0, 0};
    ls_angle whole = LS_ANGLE_QUARTER - 12345; /* nearly half a turn of the body */
    ls_quaternion to = {ls_fixed_cos(whole), 0, ls_fixed_sin(whole), 0};
    ls_angle before = 0;
    for (int i = 1; i <= 256; i++) {
        ls_quaternion here = ls_slerp(from, to, LS_FIXED_ONE / 256 * i);
        ls_angle angle = ls_fixed_atan2(here.y, here.w);
        long double moved = (long double)angle - before;
        cr_assert_leq(fabsl(moved - whole / 256.0L), 8.0L, "step %d", i);
        before = angle;
    }
}

Test(interpolate, slerp_takes_the_shorter_arc_to_a_negated_quaternion)
{
    ls_rng rng = ls_rng_make(37, 1);
    for (int i = 0; i < 10000; i++) {
        ls_quaternion from = random_turn(&rng, ls_rng_next(&rng));
        ls_quaternion to = random_turn(&rng, ls_rng_next(&rng));
        ls_quaternion other = {-to.w, -to.x, -to.y, -to.z};
        ls_fixed alpha = ls_rng_unit(&rng);
        ls_quaternion a = ls_slerp(from, to, alpha), b = ls_slerp(from, other, alpha);
        cr_assert_leq(distance(quad_of(a), quad_of(b)), 8.0L / INTERPOLATE_UNITS);
    }
}

Test(interpolate, slerp_of_equal_or_impossible_quaternions_is_harmless)
{
    ls_quaternion one = {LS_FIXED_ONE, 0, 0, 0}, nothing = {0, 0, 0, 0};
    ls_quaternion still = ls_slerp(one, one, LS_FIXED_HALF);
    cr_assert_eq(memcmp(&still, &one, sizeof one), 0);
    still = ls_slerp(nothing, nothing, LS_FIXED_HALF);
    cr_assert_eq(memcmp(&still, &nothing, sizeof nothing), 0);
    ls_quaternion extreme = {LS_FIXED_MIN, LS_FIXED_MAX, LS_FIXED_MIN, LS_FIXED_MAX};
    ls_slerp(extreme, one, LS_FIXED_HALF);
    ls_slerp(extreme, extreme, LS_FIXED_HALF);
}
