/* Powers and roots of sums: pow is e^(y ln x) with ln x as a pair. */
#include "lockstep/common/maths/strict_exp.h"
#include "lockstep/common/maths/strict_parts.h"
#include "lockstep/common/maths/strict_tables.h"

#include "lockstep/common/maths/strict_math.h"

#include <math.h>

/* ---- Strict logarithm: ln x as a pair, of which about 69 bits are right. Included by the strict
 * functions that need ln x to more bits than a double has ---- */

/* Of a positive, finite x. It is 2^n * z; z times 1/c from the table is exactly 1 + r with r as a
 * pair, since 1/c and the upper half of z have few bits. */
static inline ls_strict_pair ls_strict_log_parts(double x)
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
