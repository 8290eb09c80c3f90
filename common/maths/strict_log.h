/* Strict logarithm: ln x as a pair, of which about 69 bits are right. Included by the strict
 * functions that need ln x to more bits than a double has. */
#ifndef LOCKSTEP_COMMON_MATHS_STRICT_LOG_H
#define LOCKSTEP_COMMON_MATHS_STRICT_LOG_H

#include "lockstep/common/maths/strict_parts.h"
#include "lockstep/common/maths/strict_tables.h"

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

#endif
