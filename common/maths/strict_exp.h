/* Strict exponential: e^x as a number from a table, what it is to be multiplied by, and a power of
 * two. Included by the strict functions that need e^x to more bits than a double has. */
#ifndef LOCKSTEP_COMMON_MATHS_STRICT_EXP_H
#define LOCKSTEP_COMMON_MATHS_STRICT_EXP_H

#include "lockstep/common/maths/strict_parts.h"
#include "lockstep/common/maths/strict_tables.h"

/* 2^exponent * (high + high * rest); 1 <= high < 2 and |rest| < 0.0028. */
typedef struct ls_strict_power {
    double high;
    double rest;
    int32_t exponent;
} ls_strict_power;

/* e^x = 1 + x + this, for |x| <= ln 2 / 256. */
static inline double ls_strict_exp_rest(double x)
{
    const double *p = ls_strict_exponential_terms;
    double square = x * x;
    return square * ((p[0] + x * p[1]) + square * ((p[2] + x * p[3]) + square * p[4]));
}

/* e^(high + low) for |high| < 800 and |low| < 2^-20. */
static inline ls_strict_power ls_strict_exp_parts(double high, double low)
{
    double shifted = high * ls_strict_scalars[1] + LS_STRICT_ROUNDER;
    double steps = shifted - LS_STRICT_ROUNDER;
    uint32_t count = (uint32_t)ls_strict_bits(shifted) + (1u << 20), i = count % 128;
    double x = (high - steps * ls_strict_exp_step[0]) - steps * ls_strict_exp_step[1] + low;
    double rest = x + (ls_strict_exp_table[2 * i + 1] + ls_strict_exp_rest(x));
    return (ls_strict_power){ls_strict_exp_table[2 * i], rest, (int32_t)(count / 128) - (1 << 13)};
}

static inline double ls_strict_power_value(const ls_strict_power *power)
{
    double value = power->high + power->high * power->rest;
    bool is_normal = power->exponent > -1021 && power->exponent < 1023;
    return is_normal ? value * ls_strict_power_of_two(power->exponent)
                     : ls_strict_scale(value, power->exponent);
}

#endif
