#include "lockstep/common/maths/strict_math.h"

#include "lockstep/tests/support/strict_arguments.h"

#include <criterion/criterion.h>
#include <math.h>

#define PI 0x1.921fb54442d18p+1
#define NOT_A_NUMBER UINT64_C(0x7ff8000000000000)

static const double nan_value = (double)NAN;
static const double infinity = (double)INFINITY;

enum {
    ROUNDS = 20000,
};

static void expect(double found, double expected, const char *what)
{
    uint64_t bits = isnan(expected) ? NOT_A_NUMBER : strict_value_bits(expected);
    cr_expect_eq(strict_value_bits(found), bits, "%s: %a, expected %a", what, found, expected);
}

#define EXPECT(call, expected) expect(call, expected, #call)

Test(strict_math, a_result_that_is_no_number_is_always_the_same_one)
{
    static const uint64_t payloads[] = {UINT64_C(0x7ff8000000000000), UINT64_C(0xfff8000000000000),
                                        UINT64_C(0x7ff8000000000001), UINT64_C(0xffffffffffffffff),
                                        UINT64_C(0x7fffdeadbeef0000)};
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        double x = strict_value_of(payloads[i]);
        for (uint32_t f = 0; f < STRICT_FUNCTION_COUNT; f++) {
            const strict_function *function = &strict_functions[f];
            expect(strict_function_call(function, x, x), nan_value, function->name);
            if (function->binary) {
                expect(function->binary(x, 2), nan_value, function->name);
                expect(function->binary(2, x), nan_value, function->name);
            }
        }
        EXPECT(ls_strict_floor(x), nan_value);
        EXPECT(ls_strict_ceil(x), nan_value);
        EXPECT(ls_strict_trunc(x), nan_value);
        EXPECT(ls_strict_round(x), nan_value);
        EXPECT(ls_strict_rint(x), nan_value);
        EXPECT(ls_strict_fmod(x, 1), nan_value);
        EXPECT(ls_strict_remainder(1, x), nan_value);
    }
}

Test(strict_math, what_is_not_defined_is_no_number)
{
    EXPECT(ls_strict_sin(infinity), nan_value);
    EXPECT(ls_strict_cos(-infinity), nan_value);
    EXPECT(ls_strict_tan(infinity), nan_value);
    EXPECT(ls_strict_asin(0x1.0000000000001p0), nan_value);
    EXPECT(ls_strict_acos(-2), nan_value);
    EXPECT(ls_strict_log(-1), nan_value);
    EXPECT(ls_strict_log2(-0x1p-1074), nan_value);
    EXPECT(ls_strict_log10(-infinity), nan_value);
    EXPECT(ls_strict_log1p(-1.5), nan_value);
    EXPECT(ls_strict_pow(-2, 0.5), nan_value);
    EXPECT(ls_strict_fmod(1, 0), nan_value);
    EXPECT(ls_strict_fmod(infinity, 1), nan_value);
    EXPECT(ls_strict_remainder(-1, 0), nan_value);
    EXPECT(ls_strict_remainder(-infinity, 3), nan_value);
}

Test(strict_math, zeros_keep_their_sign)
{
    double (*const odd[])(double) = {
        ls_strict_sin,   ls_strict_tan,   ls_strict_asin,  ls_strict_atan, ls_strict_expm1,
        ls_strict_log1p, ls_strict_cbrt,  ls_strict_sinh,  ls_strict_tanh, ls_strict_floor,
        ls_strict_ceil,  ls_strict_trunc, ls_strict_round, ls_strict_rint};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        EXPECT(odd[i](0.0), 0.0);
        EXPECT(odd[i](-0.0), -0.0);
    }
    EXPECT(ls_strict_ceil(-0.5), -0.0);
    EXPECT(ls_strict_round(-0.25), -0.0);
    EXPECT(ls_strict_rint(-0.5), -0.0);
    EXPECT(ls_strict_fmod(-6, 3), -0.0);
    EXPECT(ls_strict_remainder(-6, 3), -0.0);
}

Test(strict_math, limits_are_those_of_annex_f)
{
    EXPECT(ls_strict_atan(-infinity), -PI / 2);
    EXPECT(ls_strict_acos(1), 0.0);
    EXPECT(ls_strict_acos(-1), PI);
    EXPECT(ls_strict_asin(1), PI / 2);
    EXPECT(ls_strict_exp(-infinity), 0.0);
    EXPECT(ls_strict_exp(infinity), infinity);
    EXPECT(ls_strict_exp(-0.0), 1.0);
    EXPECT(ls_strict_exp(709.79), infinity);
    EXPECT(ls_strict_exp(-745.2), 0.0);
    EXPECT(ls_strict_exp2(infinity), infinity);
    EXPECT(ls_strict_exp2(-infinity), 0.0);
    EXPECT(ls_strict_expm1(-infinity), -1.0);
    EXPECT(ls_strict_expm1(infinity), infinity);
    EXPECT(ls_strict_log(0.0), -infinity);
    EXPECT(ls_strict_log2(-0.0), -infinity);
    EXPECT(ls_strict_log10(1), 0.0);
    EXPECT(ls_strict_log(infinity), infinity);
    EXPECT(ls_strict_log1p(-1), -infinity);
    EXPECT(ls_strict_log1p(infinity), infinity);
    EXPECT(ls_strict_cbrt(-infinity), -infinity);
    EXPECT(ls_strict_sinh(-infinity), -infinity);
    EXPECT(ls_strict_cosh(-infinity), infinity);
    EXPECT(ls_strict_tanh(-infinity), -1.0);
    EXPECT(ls_strict_hypot(-infinity, nan_value), infinity);
    EXPECT(ls_strict_hypot(nan_value, infinity), infinity);
    EXPECT(ls_strict_hypot(-0.0, -0.0), 0.0);
    EXPECT(ls_strict_floor(-infinity), -infinity);
    EXPECT(ls_strict_rint(infinity), infinity);
    EXPECT(ls_strict_round(-infinity), -infinity);
    EXPECT(ls_strict_fmod(-5, infinity), -5.0);
    EXPECT(ls_strict_remainder(5, -infinity), 5.0);
}

Test(strict_math, angles_of_the_axes_and_of_infinite_points)
{
    EXPECT(ls_strict_atan2(0.0, 0.0), 0.0);
    EXPECT(ls_strict_atan2(-0.0, 0.0), -0.0);
    EXPECT(ls_strict_atan2(0.0, -0.0), PI);
    EXPECT(ls_strict_atan2(-0.0, -1), -PI);
    EXPECT(ls_strict_atan2(-0.0, 1), -0.0);
    EXPECT(ls_strict_atan2(-1, 0.0), -PI / 2);
    EXPECT(ls_strict_atan2(1, -0.0), PI / 2);
    EXPECT(ls_strict_atan2(infinity, infinity), PI / 4);
    EXPECT(ls_strict_atan2(-infinity, -infinity), -0x1.2d97c7f3321d2p+1);
    EXPECT(ls_strict_atan2(infinity, 3), PI / 2);
    EXPECT(ls_strict_atan2(-3, infinity), -0.0);
    EXPECT(ls_strict_atan2(3, -infinity), PI);
    EXPECT(ls_strict_atan2(0x1p-1074, 0x1p1000), 0.0);
    EXPECT(ls_strict_atan2(0x1p-1074, 0x1p-1074), PI / 4);
    EXPECT(ls_strict_atan2(-0x1.8p1023, 0x1.8p1023), -PI / 4);
}

Test(strict_math, powers_of_limits_are_those_of_annex_f)
{
    EXPECT(ls_strict_pow(nan_value, 0.0), 1.0);
    EXPECT(ls_strict_pow(1, nan_value), 1.0);
    EXPECT(ls_strict_pow(-1, infinity), 1.0);
    EXPECT(ls_strict_pow(0.0, -3), infinity);
    EXPECT(ls_strict_pow(-0.0, -3), -infinity);
    EXPECT(ls_strict_pow(-0.0, -2), infinity);
    EXPECT(ls_strict_pow(-0.0, -infinity), infinity);
    EXPECT(ls_strict_pow(-0.0, 3), -0.0);
    EXPECT(ls_strict_pow(-0.0, 2.5), 0.0);
    EXPECT(ls_strict_pow(0.5, -infinity), infinity);
    EXPECT(ls_strict_pow(-2, -infinity), 0.0);
    EXPECT(ls_strict_pow(0.5, infinity), 0.0);
    EXPECT(ls_strict_pow(-infinity, -3), -0.0);
    EXPECT(ls_strict_pow(-infinity, -0.5), 0.0);
    EXPECT(ls_strict_pow(-infinity, 5), -infinity);
    EXPECT(ls_strict_pow(-infinity, 0x1p53), infinity);
    EXPECT(ls_strict_pow(infinity, -0.1), 0.0);
    EXPECT(ls_strict_pow(infinity, 0.1), infinity);
    EXPECT(ls_strict_pow(-3, 3), -27.0);
    EXPECT(ls_strict_pow(-2, 0x1.fffffffffffffp52), -infinity);
    EXPECT(ls_strict_pow(-2, 0x1p53), infinity);
    EXPECT(ls_strict_pow(2, -1074), 0x1p-1074);
    EXPECT(ls_strict_pow(0x1p-1074, 0.5), 0x1p-537);
    EXPECT(ls_strict_pow(0x1.fffffffffffffp-1, 1e300), 0.0);
    EXPECT(ls_strict_pow(7, 1e-300), 1.0);
}

Test(strict_math, exact_results_are_exact)
{
    for (int n = -1022; n <= 1023; n++) {
        double power = ls_strict_exp2(n);
        cr_assert_eq(power, ldexp(1, n), "2^%d", n);
        cr_assert_eq(ls_strict_log2(power), n, "log2 2^%d", n);
    }
    double ten = 1;
    for (int n = 0; n <= 22; n++, ten *= 10) {
        cr_assert_eq(ls_strict_log10(ten), n, "log10 1e%d", n);
        cr_assert_eq(ls_strict_pow(10, n), ten, "10^%d", n);
    }
    for (int n = -2000; n <= 2000; n++) {
        double x = n;
        cr_assert_eq(ls_strict_cbrt(x * x * x), x, "%d", n);
        cr_assert_eq(ls_strict_pow(x, 2), x * x, "%d", n);
        cr_assert_eq(ls_strict_hypot(3 * x, -4 * x), 5 * fabs(x), "%d", n);
    }
}

/* Those of every other library: C leaves no choice. */
Test(strict_math, rounding_and_remainders_are_those_of_any_library)
{
    static const strict_range wide = STRICT_SIGNED(-1074, 1023);
    static const strict_range around = STRICT_NEAR(-1000, 1000, 0.5);
    ls_rng rng = ls_rng_make(5, 5);
    for (int i = 0; i < ROUNDS; i++) {
        double x = strict_argument(&rng, i % 2 ? &wide : &around);
        double y = strict_argument(&rng, i % 3 ? &wide : &around);
        EXPECT(ls_strict_floor(x), floor(x));
        EXPECT(ls_strict_ceil(x), ceil(x));
        EXPECT(ls_strict_trunc(x), trunc(x));
        EXPECT(ls_strict_round(x), round(x));
        EXPECT(ls_strict_rint(x), rint(x));
        EXPECT(ls_strict_fmod(x, y), fmod(x, y));
        EXPECT(ls_strict_remainder(x, y), remainder(x, y));
    }
    EXPECT(ls_strict_round(0x1.fffffffffffffp-2), 0.0);
    EXPECT(ls_strict_rint(0x1.fffffffffffffp51), 0x1p52);
    EXPECT(ls_strict_remainder(5, 2), 1.0);
    EXPECT(ls_strict_remainder(7, 2), -1.0);
    EXPECT(ls_strict_remainder(3, 2), -1.0);
    EXPECT(ls_strict_remainder(1, 2), 1.0);
}

Test(strict_math, functions_are_odd_or_even_to_the_bit)
{
    double (*const odd[])(double) = {ls_strict_sin,  ls_strict_tan,  ls_strict_asin, ls_strict_atan,
                                     ls_strict_cbrt, ls_strict_sinh, ls_strict_tanh};
    static const strict_range sizes = STRICT_SIZES(-60, 60);
    ls_rng rng = ls_rng_make(6, 6);
    for (int i = 0; i < ROUNDS; i++) {
        double x = strict_argument(&rng, &sizes);
        for (size_t f = 0; f < sizeof odd / sizeof odd[0]; f++) {
            expect(odd[f](-x), -odd[f](x), "odd");
        }
        EXPECT(ls_strict_cos(-x), ls_strict_cos(x));
        EXPECT(ls_strict_cosh(-x), ls_strict_cosh(x));
        EXPECT(ls_strict_atan2(-x, -1), -ls_strict_atan2(x, -1));
    }
}

Test(strict_math, sine_and_cosine_at_once_are_those_of_each)
{
    ls_rng rng = ls_rng_make(7, 7);
    for (int i = 0; i < ROUNDS; i++) {
        double x = strict_argument(&rng, &strict_functions[0].x[i % 6]), sine = 0, cosine = 0;
        ls_strict_sincos(x, &sine, &cosine);
        EXPECT(sine, ls_strict_sin(x));
        EXPECT(cosine, ls_strict_cos(x));
    }
    double sine = 0, cosine = 0;
    ls_strict_sincos(-0.0, &sine, &cosine);
    EXPECT(sine, -0.0);
    EXPECT(cosine, 1.0);
    ls_strict_sincos(infinity, &sine, &cosine);
    EXPECT(sine, nan_value);
    EXPECT(cosine, nan_value);
}

/* Next to a multiple of pi / 2 nearly all bits of the angle cancel: of doubles, these come closest.
 * The expected values were computed with 300 bits. */
Test(strict_math, angles_of_any_size_are_reduced_by_enough_bits_of_pi)
{
    EXPECT(ls_strict_sin(0x1.6ac5b262ca1ffp+849), 0x1.0000000000000p+0);
    EXPECT(ls_strict_cos(0x1.6ac5b262ca1ffp+849), -0x1.14ae72e6ba22fp-61);
    EXPECT(ls_strict_tan(0x1.6ac5b262ca1ffp+849), -0x1.d9ba9a7975636p+60);
    EXPECT(ls_strict_sin(0x1.6ac5b262ca1ffp+849), 0x1.0000000000000p+0);
    EXPECT(ls_strict_cos(0x1.6ac5b262ca1ffp+849), -0x1.14ae72e6ba22fp-61);
    EXPECT(ls_strict_tan(0x1.6ac5b262ca1ffp+849), -0x1.d9ba9a7975636p+60);
    EXPECT(ls_strict_sin(0x1.fffffffffffffp+1023), 0x1.452fc98b34e97p-8);
    EXPECT(ls_strict_cos(0x1.fffffffffffffp+1023), -0x1.fffe62ecfab75p-1);
    EXPECT(ls_strict_tan(0x1.fffffffffffffp+1023), -0x1.4530cfe729484p-8);
    EXPECT(ls_strict_sin(0x1.0f0cf064dd592p+73), -0x1.b453ab76bf397p-1);
    EXPECT(ls_strict_cos(0x1.0f0cf064dd592p+73), 0x1.0be2cef01c8f4p-1);
    EXPECT(ls_strict_tan(0x1.0f0cf064dd592p+73), -0x1.a0f79c1b6b257p+0);
    EXPECT(ls_strict_sin(0x1.0000000000000p+20), 0x1.526ccb2fc8656p-2);
    EXPECT(ls_strict_cos(0x1.0000000000000p+20), 0x1.e33ada92fe2aep-1);
    EXPECT(ls_strict_tan(0x1.0000000000000p+20), 0x1.6692e5779206fp-2);
    EXPECT(ls_strict_sin(0x1.921fb54442d18p+21), -0x1.1a62633145c07p-33);
    EXPECT(ls_strict_cos(0x1.921fb54442d18p+21), 0x1.0000000000000p+0);
    EXPECT(ls_strict_tan(0x1.921fb54442d18p+21), -0x1.1a62633145c07p-33);
    EXPECT(ls_strict_sin(0x1.921fb54442d18p+0), 0x1.0000000000000p+0);
    EXPECT(ls_strict_cos(0x1.921fb54442d18p+0), 0x1.1a62633145c07p-54);
    EXPECT(ls_strict_tan(0x1.921fb54442d18p+0), 0x1.d02967c31cdb5p+53);
}
