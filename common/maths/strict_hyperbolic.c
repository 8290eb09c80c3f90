/* Hyperbolic functions: of small numbers by polynomials, of others by e^x as pairs. */
#include "lockstep/common/maths/strict_exp.h"

#include "lockstep/common/maths/strict_math.h"

#define SIZE_HALF UINT64_C(0x3fe0000000000000)
#define SIZE_TINY UINT64_C(0x3e40000000000000)    /* 2^-27 */
#define SIZE_QUARTER UINT64_C(0x3fd0000000000000) /* 1/4 */

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
    if (size < SIZE_TINY) {
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
    if (size < SIZE_TINY) {
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
