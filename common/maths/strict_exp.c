/* Exponentials: 2^(i/128) from a table, and a polynomial for what is left. */
#include "lockstep/common/maths/strict_exp.h"

#include "lockstep/common/maths/strict_math.h"

#define SIZE_TINY UINT64_C(0x3c90000000000000) /* 2^-54 */

double ls_strict_exp(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (size < SIZE_TINY) {
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
    if (size < SIZE_TINY) {
        return x;
    }
    if (x > 40) {
        return ls_strict_exp(x);
    }
    return x < -40 ? -1 : exp_minus_one(x);
}
