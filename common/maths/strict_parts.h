/* Strict parts: what the strict maths functions are made of: the bits of a double, sums and
 * products whose rounding error is known, scaling. Needs rounding to nearest. Used by strict_*.c
 * alone. */
#ifndef LOCKSTEP_COMMON_MATHS_STRICT_PARTS_H
#define LOCKSTEP_COMMON_MATHS_STRICT_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LS_STRICT_SIGN UINT64_C(0x8000000000000000)
#define LS_STRICT_INFINITE UINT64_C(0x7ff0000000000000)
#define LS_STRICT_NOT_A_NUMBER UINT64_C(0x7ff8000000000000)
#define LS_STRICT_FRACTION UINT64_C(0x000fffffffffffff)
#define LS_STRICT_UPPER_BITS UINT64_C(0xfffffffff8000000) /* the first 26 bits of the number */

/* Added to and subtracted from a number below 2^51, it leaves the nearest integer, whose lowest 32
 * bits are those of the sum in between. */
#define LS_STRICT_ROUNDER 0x1.8p52

enum {
    LS_STRICT_BIAS = 1023,
    LS_STRICT_FRACTION_BITS = 52,
};

/* A number as the sum of two: the second is at most half a unit of the first one's last place. */
typedef struct ls_strict_pair {
    double high;
    double low;
} ls_strict_pair;

static inline uint64_t ls_strict_bits(double x)
{
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double ls_strict_of_bits(uint64_t bits)
{
    double x = 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double ls_strict_not_a_number(void)
{
    return ls_strict_of_bits(LS_STRICT_NOT_A_NUMBER);
}

static inline double ls_strict_infinity(void)
{
    return ls_strict_of_bits(LS_STRICT_INFINITE);
}

/* The bits without the sign: those of larger numbers are larger. */
static inline uint64_t ls_strict_size(double x)
{
    return ls_strict_bits(x) & ~LS_STRICT_SIGN;
}

static inline uint64_t ls_strict_sign(double x)
{
    return ls_strict_bits(x) & LS_STRICT_SIGN;
}

static inline bool ls_strict_is_not_a_number(double x)
{
    return ls_strict_size(x) > LS_STRICT_INFINITE;
}

/* `x` with the sign bit flipped where `sign` has it. */
static inline double ls_strict_with_sign(double x, uint64_t sign)
{
    return ls_strict_of_bits(ls_strict_bits(x) ^ sign);
}

/* 2^exponent, -1022 .. 1023. */
static inline double ls_strict_power_of_two(int32_t exponent)
{
    return ls_strict_of_bits((uint64_t)(exponent + LS_STRICT_BIAS) << LS_STRICT_FRACTION_BITS);
}

/* x * 2^exponent for 2^-970 < |x| < 2^970 and |exponent| < 2000: rounded once. */
static inline double ls_strict_scale(double x, int32_t exponent)
{
    int32_t half = exponent / 2;
    return x * ls_strict_power_of_two(half) * ls_strict_power_of_two(exponent - half);
}

/* Where |a| >= |b|, or a is 0, or both are multiples of b's last place and far below 2^53 of it. */
static inline ls_strict_pair ls_strict_quick_sum(double a, double b)
{
    double sum = a + b;
    return (ls_strict_pair){sum, b - (sum - a)};
}

static inline ls_strict_pair ls_strict_sum(double a, double b)
{
    double sum = a + b;
    double part = sum - a;
    return (ls_strict_pair){sum, (a - (sum - part)) + (b - part)};
}

/* Dekker's: exact while nothing overflows or becomes subnormal. */
static inline ls_strict_pair ls_strict_product(double a, double b)
{
    double a_wide = 134217729.0 * a, b_wide = 134217729.0 * b;
    double a_high = a_wide - (a_wide - a), b_high = b_wide - (b_wide - b);
    double a_low = a - a_high, b_low = b - b_high;
    double product = a * b;
    double error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return (ls_strict_pair){product, error};
}

/* a / b, where neither 1 / b nor the quotient comes near the ends of the range. */
static inline ls_strict_pair ls_strict_quotient(ls_strict_pair a, ls_strict_pair b)
{
    double inverse = 1 / b.high;
    double quotient = a.high * inverse;
    ls_strict_pair back = ls_strict_product(quotient, b.high);
    double rest = ((a.high - back.high) - back.low) + (a.low - quotient * b.low);
    return ls_strict_quick_sum(quotient, rest * inverse);
}

/* ---- tables: what the strict functions look up, by tools/maths/strict_tables.py ---- */

extern const double ls_strict_sine_terms[6];
extern const double ls_strict_cosine_terms[6];
extern const double ls_strict_arc_tangent_terms[5];
extern const double ls_strict_arc_sine_terms[13];
extern const double ls_strict_exponential_terms[5];
extern const double ls_strict_power_of_two_terms[5];
extern const double ls_strict_logarithm_terms[7];
extern const double ls_strict_sinh_terms[8];
extern const double ls_strict_tanh_terms[8];
extern const double ls_strict_cube_root_terms[5];

extern const double ls_strict_half_pi_parts[4]; /* three of 33 bits, and the rest */
extern const double ls_strict_half_pi[2];
extern const double ls_strict_pi[2];
extern const double ls_strict_exp_step[2];     /* ln 2 / 128: 34 bits, and the rest */
extern const double ls_strict_ln2[2];          /* 42 bits, and the rest */
extern const double ls_strict_ln10_inverse[2]; /* 1 / ln 10: 26 bits, and the rest */
extern const double ls_strict_ln2_inverse[2];
extern const double ls_strict_scalars[2]; /* 2 / pi, 128 / ln 2 */

/* 64 zeros, then the bits of 2 / pi behind the point. */
extern const uint32_t ls_strict_two_over_pi_words[42];

/* 2^(i/128) is [2i] * (1 + [2i + 1]). */
extern const double ls_strict_exp_table[256];

/* For the i-th of 128 intervals from LS_STRICT_LOG_START on, of 2^45 units in a double's bits: 1/c
 * in 16 bits for a c in its middle, and -ln of that as a multiple of 2^-42 and a rest. 1 is in the
 * middle of the interval whose c is 1. */
#define LS_STRICT_LOG_START UINT64_C(0x3fe5f00000000000)
extern const double ls_strict_log_table[384];

/* atan(i/32), pairs. */
extern const double ls_strict_arc_table[66];

#endif
