/* Fixed: Q32.32 fixed-point numbers and binary angles, bit-identical on every machine.
 * Never uses floating point, never traps, never depends on the compiler's treatment of overflow.
 *
 * Range -2147483648 to 2147483647.99999999977, resolution 2^-32 (2.3e-10).
 * Overflow: addition, subtraction, negation and multiplication wrap modulo 2^64 of the raw value;
 * division and conversions saturate. Rounding: stated by each function. */
#ifndef LOCKSTEP_COMMON_MATHS_FIXED_H
#define LOCKSTEP_COMMON_MATHS_FIXED_H

#include "lockstep/common/base/language.h"

#include <stdint.h>

LS_C_BEGIN

typedef int64_t ls_fixed;

/* A turn is 2^32: it wraps by itself, and the shortest arc is a signed difference.
 * 0 points along +x, a quarter turn (2^30) along +y. */
typedef uint32_t ls_angle;

typedef struct ls_vec2 {
    ls_fixed x;
    ls_fixed y;
} ls_vec2;

#define LS_FIXED_ONE INT64_C(0x100000000)
#define LS_FIXED_HALF INT64_C(0x80000000)
#define LS_FIXED_MAX INT64_MAX
#define LS_FIXED_MIN INT64_MIN

#define LS_ANGLE_QUARTER UINT32_C(0x40000000)
#define LS_ANGLE_HALF UINT32_C(0x80000000)

/* An exact integer, or an exact fraction of integers for constants: the quotient is rounded
 * toward zero. |numerator| < 2^31, denominator in 1..2^31-1. */
#define LS_FIXED_INT(integer) ((ls_fixed)(integer)*LS_FIXED_ONE)
#define LS_FIXED_RATIO(numerator, denominator) (LS_FIXED_INT(numerator) / (denominator))

/* The two's complement reading of a raw pattern, without implementation-defined conversion. */
static inline int64_t ls_signed_from_bits(uint64_t bits)
{
    return bits <= (uint64_t)INT64_MAX ? (int64_t)bits : -(int64_t)(~bits) - 1;
}

/* The absolute value, which fits for INT64_MIN as well. */
static inline uint64_t ls_magnitude(int64_t a)
{
    return a < 0 ? 0u - (uint64_t)a : (uint64_t)a;
}

/* Zero bits above the highest one bit, 0 to 63; bits > 0. */
static inline int ls_leading_zeros(uint64_t bits)
{
#if defined(__GNUC__) && !defined(LS_FIXED_PORTABLE)
    return __builtin_clzll(bits);
#else
    int zeros = 0;
    for (int step = 32; step > 0; step /= 2) {
        if (bits >> (64 - step) == 0) {
            bits <<= step;
            zeros += step;
        }
    }
    return zeros;
#endif
}

static inline ls_fixed ls_fixed_add(ls_fixed a, ls_fixed b)
{
    return ls_signed_from_bits((uint64_t)a + (uint64_t)b);
}

static inline ls_fixed ls_fixed_sub(ls_fixed a, ls_fixed b)
{
    return ls_signed_from_bits((uint64_t)a - (uint64_t)b);
}

static inline ls_fixed ls_fixed_negate(ls_fixed a)
{
    return ls_signed_from_bits(0u - (uint64_t)a);
}

/* |LS_FIXED_MIN| wraps to LS_FIXED_MIN. */
static inline ls_fixed ls_fixed_abs(ls_fixed a)
{
    return a < 0 ? ls_fixed_negate(a) : a;
}

static inline ls_fixed ls_fixed_min(ls_fixed a, ls_fixed b)
{
    return a < b ? a : b;
}

static inline ls_fixed ls_fixed_max(ls_fixed a, ls_fixed b)
{
    return a > b ? a : b;
}

/* low <= high. */
static inline ls_fixed ls_fixed_clamp(ls_fixed a, ls_fixed low, ls_fixed high)
{
    return a < low ? low : a > high ? high : a;
}

/* Where pointers have 32 bits a product of 128 is a call, and takes longer than by limbs.
 * LS_FIXED_PORTABLE builds what a machine without compiler extensions runs, for tests. */
#if defined(__SIZEOF_INT128__) && UINTPTR_MAX > UINT32_MAX && !defined(LS_FIXED_PORTABLE)
#define LS_HAS_INT128 1
__extension__ typedef __int128 ls_int128;
__extension__ typedef unsigned __int128 ls_uint128;
#else
#define LS_HAS_INT128 0
#endif

/* By 32-bit limbs, for machines without a 128-bit integer: the same bits as ls_fixed_mul,
 * ls_fixed_div and ls_mul_div, which a test checks; public so that the test can. */
static inline ls_fixed ls_fixed_mul_limbs(ls_fixed a, ls_fixed b)
{
    uint64_t a_low = (uint64_t)a & UINT32_MAX, b_low = (uint64_t)b & UINT32_MAX;
    /* The high limbs carry the sign, extended to 64 bits; all sums wrap as the result does. */
    uint64_t a_high = ((uint64_t)a >> 32 ^ LS_ANGLE_HALF) - LS_ANGLE_HALF;
    uint64_t b_high = ((uint64_t)b >> 32 ^ LS_ANGLE_HALF) - LS_ANGLE_HALF;
    uint64_t rounded = (a_low * b_low + UINT32_C(0x80000000)) >> 32;
    return ls_signed_from_bits(a_high * (uint64_t)b + a_low * b_high + rounded);
}
ls_fixed ls_fixed_div_limbs(ls_fixed a, ls_fixed b);
int64_t ls_mul_div_limbs(int64_t a, int64_t b, int64_t c);

/* Rounds to nearest, half toward positive infinity: floor(a*b/2^32 + 1/2), wrapping. */
static inline ls_fixed ls_fixed_mul(ls_fixed a, ls_fixed b)
{
#if LS_HAS_INT128 && defined(__x86_64__)
    /* The shift leaves the bit that rounds in the carry. No compiler finds this, and the shift of
     * two registers that they choose instead is slow on many processors. */
    ls_uint128 product = (ls_uint128)((ls_int128)a * b);
    uint64_t high = (uint64_t)(product >> 64) << 32;
    uint64_t low = (uint64_t)product;
    __asm__("{shrq $32, %0|shr %0, 32}\n\t{adcq %1, %0|adc %0, %1}" : "+r"(low) : "r"(high) : "cc");
    return ls_signed_from_bits(low);
#elif LS_HAS_INT128
    ls_uint128 product = (ls_uint128)((ls_int128)a * b);
    return ls_signed_from_bits((uint64_t)((product + UINT32_C(0x80000000)) >> 32));
#else
    return ls_fixed_mul_limbs(a, b);
#endif
}

/* The whole units of ls_fixed_mul, of factors that are not negative: the quickest way to them. */
static inline uint32_t ls_fixed_mul_whole(ls_fixed a, ls_fixed b)
{
#if LS_HAS_INT128
    ls_uint128 product = (ls_uint128)((ls_int128)a * b);
    return (uint32_t)((product + UINT32_C(0x80000000)) >> 64);
#else
    return (uint32_t)((uint64_t)ls_fixed_mul_limbs(a, b) >> 32);
#endif
}

/* The same, for factors whose raw values' product is below 2^63 - 2^31 either way: values whose
 * product is below 0.49, as a way is that something goes in a tick. A third of the instructions. */
static inline ls_fixed ls_fixed_mul_small(ls_fixed a, ls_fixed b)
{
    uint64_t product = (uint64_t)a * (uint64_t)b + UINT32_C(0x80000000);
    /* Shifted as if it were not negative, which rounds it down. */
    uint64_t bias = UINT64_C(1) << 63;
    return (ls_fixed)((product + bias) >> 32) - LS_FIXED_HALF;
}

/* The same, for a share from 0 to 1. */
static inline ls_fixed ls_fixed_mul_share(ls_fixed a, ls_fixed share)
{
    uint64_t low = (uint64_t)a & UINT32_MAX;
    uint64_t high = ((uint64_t)a >> 32 ^ LS_ANGLE_HALF) - LS_ANGLE_HALF; /* with the sign */
    uint64_t rounded = (low * (uint64_t)share + UINT32_C(0x80000000)) >> 32;
    return ls_signed_from_bits(high * (uint64_t)share + rounded);
}

/* Rounds toward zero; saturates. x/0 is LS_FIXED_MAX for x > 0, LS_FIXED_MIN for x < 0 and 0 for
 * x = 0. */
ls_fixed ls_fixed_div(ls_fixed a, ls_fixed b);

/* a*b/c with the full product, rounded toward zero; saturates, and treats c = 0 as ls_fixed_div
 * does. The arguments may be any integers: the scale of b and c cancels. */
int64_t ls_mul_div(int64_t a, int64_t b, int64_t c);

/* Floor of the square root to 2^-32 (error in [0, 2^-32)); 0 for a <= 0. */
ls_fixed ls_fixed_sqrt(ls_fixed a);

/* Integer part toward negative infinity. */
static inline int32_t ls_fixed_floor(ls_fixed a)
{
    return (int32_t)(a >= 0 ? a / LS_FIXED_ONE : -(-(a + 1) / LS_FIXED_ONE) - 1);
}

/* For drawing and reports only: never inside a step. Exact to 53 bits. */
static inline double ls_fixed_to_double(ls_fixed a)
{
    return (double)a * (1.0 / 4294967296.0);
}

/* For configuration and drawing only: rounds toward zero, saturates, NaN gives 0. */
ls_fixed ls_fixed_from_double(double value);

static inline ls_vec2 ls_vec2_add(ls_vec2 a, ls_vec2 b)
{
    return LS_LITERAL(ls_vec2){ls_fixed_add(a.x, b.x), ls_fixed_add(a.y, b.y)};
}

static inline ls_vec2 ls_vec2_sub(ls_vec2 a, ls_vec2 b)
{
    return LS_LITERAL(ls_vec2){ls_fixed_sub(a.x, b.x), ls_fixed_sub(a.y, b.y)};
}

static inline ls_vec2 ls_vec2_scale(ls_vec2 a, ls_fixed factor)
{
    return LS_LITERAL(ls_vec2){ls_fixed_mul(a.x, factor), ls_fixed_mul(a.y, factor)};
}

static inline ls_fixed ls_vec2_dot(ls_vec2 a, ls_vec2 b)
{
    return ls_fixed_add(ls_fixed_mul(a.x, b.x), ls_fixed_mul(a.y, b.y));
}

/* The z of the 3D cross product. */
static inline ls_fixed ls_vec2_cross(ls_vec2 a, ls_vec2 b)
{
    return ls_fixed_sub(ls_fixed_mul(a.x, b.y), ls_fixed_mul(a.y, b.x));
}

/* The length without intermediate overflow, floor to 2^-32; saturates. */
ls_fixed ls_vec2_length(ls_vec2 a);

LS_C_END

#endif
