/* Powers and roots of sums: pow is e^(y ln x) with ln x as a pair. */
#include "lockstep/common/maths/strict_exp.h"

#include "lockstep/common/maths/strict_log.h"
#include "lockstep/common/maths/strict_math.h"

#include <math.h>

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
