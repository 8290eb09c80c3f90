/* Exponentials, logarithms, and what is made of them: powers, roots of sums and hyperbolic
 * functions. pow is e^(y ln x) with ln x as a pair. */
#include "lockstep/common/maths/strict_parts.h"

#include "lockstep/common/maths/strict_math.h"

#include <math.h>

/* ---- exponentials: 2^(i/128) from a table, and a polynomial for what is left. e^x is a number
 * from the table, what it is to be multiplied by, and a power of two ---- */

/* 2^exponent * (high + high * rest); 1 <= high < 2 and |rest| < 0.0028. */
typedef struct ls_strict_power {
    double high;
    double rest;
    int32_t exponent;
} ls_strict_power;

/* e^x = 1 + x + this, for |x| <= ln 2 / 256. */
static double ls_strict_exp_rest(double x)
{
    const double *p = ls_strict_exponential_terms;
    double square = x * x;
    return square * ((p[0] + x * p[1]) + square * ((p[2] + x * p[3]) + square * p[4]));
}

/* e^(high + low) for |high| < 800 and |low| < 2^-20. */
static ls_strict_power ls_strict_exp_parts(double high, double low)
{
    double shifted = high * ls_strict_scalars[1] + LS_STRICT_ROUNDER;
    double steps = shifted - LS_STRICT_ROUNDER;
    uint32_t count = (uint32_t)ls_strict_bits(shifted) + (1u << 20), i = count % 128;
    double x = (high - steps * ls_strict_exp_step[0]) - steps * ls_strict_exp_step[1] + low;
    double rest = x + (ls_strict_exp_table[2 * i + 1] + ls_strict_exp_rest(x));
    return (ls_strict_power){ls_strict_exp_table[2 * i], rest, (int32_t)(count / 128) - (1 << 13)};
}

static double ls_strict_power_value(const ls_strict_power *power)
{
    double value = power->high + power->high * power->rest;
    bool is_normal = power->exponent > -1021 && power->exponent < 1023;
    return is_normal ? value * ls_strict_power_of_two(power->exponent)
                     : ls_strict_scale(value, power->exponent);
}

#define SIZE_TO_ROUND_AWAY UINT64_C(0x3c90000000000000) /* 2^-54 */

double ls_strict_exp(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (size < SIZE_TO_ROUND_AWAY) {
        return 1;
    }
    if (x > 710) {
        return ls_strict_infinity();
    }
    if (x < -746) {
        return 0;
    }
    ls_strict_power power = ls_strict_exp_parts(x, 0);
    return ls_strict_power_value(&power);
}

double ls_strict_exp2(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (x >= 1024) {
        return ls_strict_infinity();
    }
    if (x < -1076) {
        return 0;
    }
    const double *p = ls_strict_power_of_two_terms;
    double shifted = x * 128 + LS_STRICT_ROUNDER;
    double rest = x - (shifted - LS_STRICT_ROUNDER) * (1.0 / 128), square = rest * rest;
    uint32_t count = (uint32_t)ls_strict_bits(shifted) + (1u << 20), i = count % 128;
    double sum = (p[0] + rest * p[1]) + square * ((p[2] + rest * p[3]) + square * p[4]);
    ls_strict_power power = {ls_strict_exp_table[2 * i],
                             ls_strict_exp_table[2 * i + 1] + rest * sum,
                             (int32_t)(count / 128) - (1 << 13)};
    return ls_strict_power_value(&power);
}

/* From 2^-54 to 40 in size: e^x = s + s r + s q with s of the table and r small, and s r is r and
 * (s - 1) r, so that all that is rounded is small beside the result. */
static double exp_minus_one(double x)
{
    double shifted = x * ls_strict_scalars[1] + LS_STRICT_ROUNDER;
    double steps = shifted - LS_STRICT_ROUNDER;
    uint32_t count = (uint32_t)ls_strict_bits(shifted) + (1u << 20), i = count % 128;
    double first = x - steps * ls_strict_exp_step[0], second = steps * ls_strict_exp_step[1];
    double r = first - second, r_low = (first - r) - second;
    double scale = ls_strict_power_of_two((int32_t)(count / 128) - (1 << 13));
    double s = ls_strict_exp_table[2 * i] * scale;
    double factor = ls_strict_exp_table[2 * i + 1];
    double q = ls_strict_exp_rest(r) + (r_low + (factor + factor * r));
    ls_strict_pair less = ls_strict_sum(s, -1);
    ls_strict_pair sum = ls_strict_sum(less.high, r);
    return sum.high + (sum.low + (less.low + (less.high * r + s * q)));
}

double ls_strict_expm1(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (size < SIZE_TO_ROUND_AWAY) {
        return x;
    }
    if (x > 40) {
        return ls_strict_exp(x);
    }
    return x < -40 ? -1 : exp_minus_one(x);
}

/* ---- logarithms: ln x as a pair, of which about 69 bits are right ---- */

/* Of a positive, finite x. It is 2^n * z; z times 1/c from the table is exactly 1 + r with r as a
 * pair, since 1/c and the upper half of z have few bits. */
static ls_strict_pair ls_strict_log_parts(double x)
{
    const double *p = ls_strict_logarithm_terms;
    bool is_subnormal = ls_strict_bits(x) <= LS_STRICT_FRACTION;
    uint64_t bits = ls_strict_bits(is_subnormal ? x * 0x1p54 : x);
    uint64_t apart = bits - LS_STRICT_LOG_START;
    const double *entry = &ls_strict_log_table[3 * (apart >> 45 & 127u)];
    int32_t n = (int32_t)(apart >> 52 ^ 0x800u) - 0x800 - (is_subnormal ? 54 : 0);
    uint64_t z_bits = bits - (apart & ~LS_STRICT_FRACTION);
    double z = ls_strict_of_bits(z_bits);
    double z_high = ls_strict_of_bits(z_bits & UINT64_C(0xffffffff00000000));
    ls_strict_pair r = ls_strict_quick_sum(z_high * entry[0] - 1, (z - z_high) * entry[0]);
    double whole = n * ls_strict_ln2[0] + entry[1];
    double whole_low = n * ls_strict_ln2[1] + entry[2];
    ls_strict_pair square = ls_strict_product(r.high, r.high);
    double s = square.high, fourth = s * s;
    double rest = (p[0] + r.high * p[1]) + s * (p[2] + r.high * p[3]) +
                  fourth * ((p[4] + r.high * p[5]) + s * p[6]);
    ls_strict_pair first = ls_strict_quick_sum(whole, r.high);
    ls_strict_pair second = ls_strict_quick_sum(first.high, -0.5 * s);
    double low = (whole_low + first.low + second.low) + r.high * s * rest;
    low += (r.low - 0.5 * square.low) - r.high * r.low;
    return ls_strict_quick_sum(second.high, low);
}

/* Logarithms: the pair of the natural one, times the pair of the base's. */

#define SIZE_SMALL UINT64_C(0x3e30000000000000) /* 2^-28 */

/* Negative, NaN, 0 or infinite. */
static bool is_limit(double x)
{
    return ls_strict_bits(x) - 1 >= LS_STRICT_INFINITE - 1;
}

static double log_of_limit(double x)
{
    if (ls_strict_size(x) == 0) {
        return -ls_strict_infinity();
    }
    return ls_strict_bits(x) == LS_STRICT_INFINITE ? x : ls_strict_not_a_number();
}

double ls_strict_log(double x)
{
    return is_limit(x) ? log_of_limit(x) : ls_strict_log_parts(x).high;
}

/* `inverse` is 1 / ln(base): 26 bits, and the rest. */
static double log_to_base(double x, const double *inverse)
{
    if (is_limit(x)) {
        return log_of_limit(x);
    }
    ls_strict_pair natural = ls_strict_log_parts(x);
    double high = ls_strict_of_bits(ls_strict_bits(natural.high) & LS_STRICT_UPPER_BITS);
    double low = (natural.high - high) + natural.low;
    return high * inverse[0] + (high * inverse[1] + low * (inverse[0] + inverse[1]));
}

double ls_strict_log2(double x)
{
    return log_to_base(x, ls_strict_ln2_inverse);
}

double ls_strict_log10(double x)
{
    return log_to_base(x, ls_strict_ln10_inverse);
}

double ls_strict_log1p(double x)
{
    if (ls_strict_size(x) < SIZE_SMALL) {
        return x == 0 ? x : x - x * x * (0.5 - x * (1.0 / 3));
    }
    if (!(x > -1) || ls_strict_size(x) >= LS_STRICT_INFINITE) {
        bool is_minus_one = x == -1;
        return is_minus_one ? -ls_strict_infinity() : log_of_limit(x);
    }
    ls_strict_pair sum = ls_strict_sum(1, x);
    ls_strict_pair natural = ls_strict_log_parts(sum.high);
    return natural.high + (natural.low + sum.low / sum.high);
}

/* ---- powers ---- */

#define SIZE_ONE UINT64_C(0x3ff0000000000000)
#define SIZE_POWER_MIN UINT64_C(0x3be0000000000000) /* 2^-65 */
#define SIZE_POWER_MAX UINT64_C(0x4400000000000000) /* 2^65 */

typedef enum parity {
    PARITY_NONE, /* not an integer */
    PARITY_ODD,
    PARITY_EVEN,
} parity;

/* Of a number that is finite and not 0. */
static parity parity_of(double x)
{
    uint64_t bits = ls_strict_bits(x);
    int32_t exponent = (int32_t)(bits >> 52 & 0x7ffu) - LS_STRICT_BIAS;
    if (exponent < 0) {
        return PARITY_NONE;
    }
    if (exponent > LS_STRICT_FRACTION_BITS) {
        return PARITY_EVEN;
    }
    uint64_t one = UINT64_C(1) << (LS_STRICT_FRACTION_BITS - exponent);
    if (bits & (one - 1)) {
        return PARITY_NONE;
    }
    bool is_odd = exponent == 0 || (bits & one) != 0;
    return is_odd ? PARITY_ODD : PARITY_EVEN;
}

/* Where the base is 0 or infinite, or the exponent infinite; none is NaN, the exponent not 0. */
static double power_of_limits(double base, double exponent)
{
    uint64_t size = ls_strict_size(base);
    bool is_positive = !ls_strict_sign(exponent);
    if (ls_strict_size(exponent) == LS_STRICT_INFINITE) {
        if (size == SIZE_ONE) {
            return 1;
        }
        return (size > SIZE_ONE) == is_positive ? ls_strict_infinity() : 0;
    }
    uint64_t sign = parity_of(exponent) == PARITY_ODD ? ls_strict_sign(base) : 0;
    double value = (size != 0) == is_positive ? ls_strict_infinity() : 0;
    return ls_strict_with_sign(value, sign);
}

/* Of a positive, finite base that is not 1. */
static double power_of_positive(double base, double exponent)
{
    uint64_t size = ls_strict_size(exponent);
    if (size < SIZE_POWER_MIN) {
        return 1;
    }
    if (size > SIZE_POWER_MAX) {
        return (base > 1) == (exponent > 0) ? ls_strict_infinity() : 0;
    }
    ls_strict_pair log = ls_strict_log_parts(base);
    ls_strict_pair product = ls_strict_product(log.high, exponent);
    if (product.high > 710) {
        return ls_strict_infinity();
    }
    if (product.high < -746) {
        return 0;
    }
    ls_strict_power power = ls_strict_exp_parts(product.high, product.low + log.low * exponent);
    return ls_strict_power_value(&power);
}

double ls_strict_pow(double base, double exponent)
{
    uint64_t size = ls_strict_size(base), exponent_size = ls_strict_size(exponent);
    if (exponent_size == 0 || ls_strict_bits(base) == SIZE_ONE) {
        return 1;
    }
    if (size > LS_STRICT_INFINITE || exponent_size > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (size == 0 || size == LS_STRICT_INFINITE || exponent_size == LS_STRICT_INFINITE) {
        return power_of_limits(base, exponent);
    }
    if (!ls_strict_sign(base)) {
        return power_of_positive(base, exponent);
    }
    parity kind = parity_of(exponent);
    if (kind == PARITY_NONE) {
        return ls_strict_not_a_number();
    }
    double value = size == SIZE_ONE ? 1 : power_of_positive(-base, exponent);
    return kind == PARITY_ODD ? -value : value;
}

/* Of 1 <= x < 8: Halley's step from a polynomial is good for 26 bits, and Newton's with the term
 * behind it for all, since the cube of so few bits is exact as a pair. */
static double cube_root(double x)
{
    const double *p = ls_strict_cube_root_terms;
    double root = p[0] + x * (p[1] + x * (p[2] + x * (p[3] + x * p[4])));
    double cube = root * root * root;
    root = root * ((cube + 2 * x) / (2 * cube + x));
    root = ls_strict_of_bits(ls_strict_bits(root) & LS_STRICT_UPPER_BITS);
    double square = root * root;
    ls_strict_pair back = ls_strict_product(square, root);
    double step = ((x - back.high) - back.low) / (3 * square);
    return root + (step - step * step / root);
}

double ls_strict_cbrt(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (size == 0 || size == LS_STRICT_INFINITE) {
        return x;
    }
    bool is_subnormal = size <= LS_STRICT_FRACTION;
    if (is_subnormal) {
        size = ls_strict_bits(ls_strict_of_bits(size) * 0x1p54);
    }
    uint32_t exponent = (uint32_t)(size >> 52) + 2 * LS_STRICT_BIAS; /* 3 * BIAS more than it is */
    uint64_t bits = (size & LS_STRICT_FRACTION) + SIZE_ONE + ((uint64_t)(exponent % 3) << 52);
    double root = cube_root(ls_strict_of_bits(bits));
    int32_t third = (int32_t)(exponent / 3) - LS_STRICT_BIAS - (is_subnormal ? 18 : 0);
    return ls_strict_with_sign(root * ls_strict_power_of_two(third), ls_strict_sign(x));
}

/* Of two whose squares are normal: the root of the sum of the squares, as pairs. */
static double length_of(double large, double small)
{
    ls_strict_pair first = ls_strict_product(large, large);
    ls_strict_pair second = ls_strict_product(small, small);
    ls_strict_pair sum = ls_strict_quick_sum(first.high, second.high);
    double low = sum.low + (first.low + second.low);
    double root = sqrt(sum.high);
    ls_strict_pair back = ls_strict_product(root, root);
    return root + (((sum.high - back.high) - back.low) + low) / (2 * root);
}

double ls_strict_hypot(double x, double y)
{
    uint64_t large = ls_strict_size(x), small = ls_strict_size(y);
    if (large == LS_STRICT_INFINITE || small == LS_STRICT_INFINITE) {
        return ls_strict_infinity();
    }
    if (large > LS_STRICT_INFINITE || small > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (large < small) {
        uint64_t kept = large;
        large = small;
        small = kept;
    }
    double a = ls_strict_of_bits(large), b = ls_strict_of_bits(small);
    if ((large >> 52) - (small >> 52) > 60 || small == 0) {
        return a + b;
    }
    if (a > 0x1p500) {
        return length_of(a * 0x1p-600, b * 0x1p-600) * 0x1p600;
    }
    return b < 0x1p-450 ? length_of(a * 0x1p600, b * 0x1p600) * 0x1p-600 : length_of(a, b);
}

/* ---- hyperbolic functions: of small numbers by polynomials, of others by e^x as pairs ---- */

#define SIZE_HALF UINT64_C(0x3fe0000000000000)
#define SIZE_ALMOST_ZERO UINT64_C(0x3e40000000000000) /* 2^-27 */
#define SIZE_QUARTER UINT64_C(0x3fd0000000000000)     /* 1/4 */

#define ALONE_FROM 22.0 /* e^-x is nothing beside e^x */

/* P(square) of eight terms. */
static double eight_terms(const double *p, double square)
{
    double fourth = square * square;
    double first = (p[0] + square * p[1]) + fourth * (p[2] + square * p[3]);
    double second = (p[4] + square * p[5]) + fourth * (p[6] + square * p[7]);
    return first + fourth * fourth * second;
}

/* e^x / 2, |x| <= ALONE_FROM. */
static ls_strict_pair half_exp(double x)
{
    ls_strict_power power = ls_strict_exp_parts(x, 0);
    double scale = ls_strict_power_of_two(power.exponent - 1);
    ls_strict_pair sum = ls_strict_quick_sum(power.high, power.high * power.rest);
    return (ls_strict_pair){sum.high * scale, sum.low * scale};
}

/* x > ALONE_FROM. */
static double large_half_exp(double x)
{
    if (x > 711) {
        return ls_strict_infinity();
    }
    ls_strict_power power = ls_strict_exp_parts(x, 0);
    power.exponent--;
    return ls_strict_power_value(&power);
}

double ls_strict_sinh(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (size < SIZE_ALMOST_ZERO) {
        return x;
    }
    if (size <= SIZE_HALF) {
        return x + x * (x * x) * eight_terms(ls_strict_sinh_terms, x * x);
    }
    double up = ls_strict_of_bits(size), value = 0;
    if (up > ALONE_FROM) {
        value = large_half_exp(up);
    } else {
        ls_strict_pair rising = half_exp(up), falling = half_exp(-up);
        ls_strict_pair sum = ls_strict_quick_sum(rising.high, -falling.high);
        value = sum.high + (sum.low + (rising.low - falling.low));
    }
    return ls_strict_with_sign(value, ls_strict_sign(x));
}

double ls_strict_cosh(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    double up = ls_strict_of_bits(size);
    if (up > ALONE_FROM) {
        return large_half_exp(up);
    }
    ls_strict_pair rising = half_exp(up), falling = half_exp(-up);
    ls_strict_pair sum = ls_strict_quick_sum(rising.high, falling.high);
    return sum.high + (sum.low + (rising.low + falling.low));
}

double ls_strict_tanh(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (size < SIZE_ALMOST_ZERO) {
        return x;
    }
    if (size <= SIZE_QUARTER) {
        return x + x * (x * x) * eight_terms(ls_strict_tanh_terms, x * x);
    }
    double up = ls_strict_of_bits(size);
    if (up > ALONE_FROM) {
        return ls_strict_with_sign(1, ls_strict_sign(x));
    }
    /* 1 - 2 / (e^2x + 1) */
    ls_strict_power power = ls_strict_exp_parts(2 * up, 0);
    double scale = ls_strict_power_of_two(power.exponent);
    ls_strict_pair bottom =
        ls_strict_quick_sum(power.high * scale, power.high * power.rest * scale);
    ls_strict_pair sum = ls_strict_quick_sum(bottom.high, 1);
    sum.low += bottom.low;
    ls_strict_pair less = ls_strict_quotient((ls_strict_pair){2, 0}, sum);
    ls_strict_pair rest = ls_strict_quick_sum(1, -less.high);
    return ls_strict_with_sign(rest.high + (rest.low - less.low), ls_strict_sign(x));
}
