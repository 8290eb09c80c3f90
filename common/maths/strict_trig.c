/* Sine, cosine and tangent: the angle is brought to within an eighth of a turn of a multiple of a
 * quarter, as a pair, and polynomials do the rest. */
#include "lockstep/common/maths/strict_math.h"

#include "lockstep/common/maths/strict_parts.h"
#include "lockstep/common/maths/strict_tables.h"

enum {
    WINDOW_WORDS = 6,
};

#define SIZE_TINY UINT64_C(0x3e40000000000000)   /* 2^-27 */
#define SIZE_EIGHTH UINT64_C(0x3fe921fb54442d18) /* pi / 4 */
#define SIZE_LARGE UINT64_C(0x4130000000000000)  /* 2^20 */

/* The angle is this one and so many quarter turns. */
typedef struct reduced_angle {
    double high;
    double low;
    uint32_t quarters; /* modulo 2^32, of which the last two bits matter */
} reduced_angle;

/* Below 2^20 a multiple of a part of pi / 2 is exact, since both have few bits. */
static reduced_angle reduce_medium(double x)
{
    double shifted = x * ls_strict_scalars[0] + LS_STRICT_ROUNDER;
    double quarters = shifted - LS_STRICT_ROUNDER;
    double rest = x - quarters * ls_strict_half_pi_parts[0];
    ls_strict_pair second = ls_strict_sum(rest, -(quarters * ls_strict_half_pi_parts[1]));
    ls_strict_pair third = ls_strict_sum(second.high, -(quarters * ls_strict_half_pi_parts[2]));
    double low = (second.low + third.low) - quarters * ls_strict_half_pi_parts[3];
    ls_strict_pair angle = ls_strict_quick_sum(third.high, low);
    return (reduced_angle){angle.high, angle.low, (uint32_t)ls_strict_bits(shifted)};
}

/* x is mantissa * 2^exponent. Payne and Hanek's: bits of 2 / pi that only add whole turns are left
 * out, and so are those behind what can matter. The product modulo four quarter turns, of which the
 * first word has the most significant bits. */
static void multiply_by_two_over_pi(uint64_t mantissa, int32_t exponent, uint64_t product[3])
{
    uint32_t start = (uint32_t)(exponent + 62); /* 64 zeros come first */
    uint32_t shift = start % 32, window[WINDOW_WORDS] = {0}, words[WINDOW_WORDS] = {0};
    const uint32_t *bits = &ls_strict_two_over_pi_words[start / 32];
    for (uint32_t i = 0; i < WINDOW_WORDS; i++) {
        uint64_t both = (uint64_t)bits[i] << 32 | bits[i + 1];
        window[WINDOW_WORDS - 1 - i] = (uint32_t)(both << shift >> 32);
    }
    for (uint32_t part = 0; part < 2; part++) {
        uint32_t factor = (uint32_t)(mantissa >> (32 * part));
        uint64_t carry = 0;
        for (uint32_t i = 0; i + part < WINDOW_WORDS; i++) {
            carry += (uint64_t)window[i] * factor + words[i + part];
            words[i + part] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        product[i] = (uint64_t)words[WINDOW_WORDS - 1 - 2 * i] << 32;
        product[i] |= words[WINDOW_WORDS - 2 - 2 * i];
    }
}

static void shift_left(uint64_t words[3], uint32_t count)
{
    words[0] = words[0] << count | words[1] >> (64 - count);
    words[1] = words[1] << count | words[2] >> (64 - count);
    words[2] <<= count;
}

static reduced_angle reduce_large(double x)
{
    uint64_t size = ls_strict_size(x), words[3] = {0};
    uint64_t mantissa = (size & LS_STRICT_FRACTION) | (LS_STRICT_FRACTION + 1);
    int32_t exponent = (int32_t)(size >> 52) - LS_STRICT_BIAS - LS_STRICT_FRACTION_BITS;
    multiply_by_two_over_pi(mantissa, exponent, words);
    uint32_t quarters = (uint32_t)(words[0] >> 62);
    shift_left(words, 2);
    uint64_t sign = ls_strict_sign(x);
    if (words[0] >> 63) { /* beyond the half: back from the next quarter */
        quarters++;
        sign ^= LS_STRICT_SIGN;
        words[2] = ~words[2] + 1;
        words[1] = ~words[1] + (words[2] == 0);
        words[0] = ~words[0] + (words[2] == 0 && words[1] == 0);
    }
    int32_t scale = -53;
    for (; !(words[0] >> 63) && scale > -200; scale--) {
        shift_left(words, 1);
    }
    double high = (double)(words[0] >> 11) * ls_strict_power_of_two(scale);
    double low = (double)((words[0] & 0x7ffu) << 42 | words[1] >> 22);
    low *= ls_strict_power_of_two(scale - 53);
    ls_strict_pair angle = ls_strict_product(high, ls_strict_half_pi[0]);
    angle.low += high * ls_strict_half_pi[1] + low * ls_strict_half_pi[0];
    angle = ls_strict_quick_sum(angle.high, angle.low);
    quarters = ls_strict_sign(x) ? 0u - quarters : quarters;
    return (reduced_angle){ls_strict_with_sign(angle.high, sign),
                           ls_strict_with_sign(angle.low, sign), quarters};
}

/* Of a finite angle. */
static inline reduced_angle reduce(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size <= SIZE_EIGHTH) {
        return (reduced_angle){x, 0, 0};
    }
    return size < SIZE_LARGE ? reduce_medium(x) : reduce_large(x);
}

/* Of the reduced angle: in `low` what is to be added. */
static inline ls_strict_pair sine_of(const reduced_angle *angle)
{
    const double *s = ls_strict_sine_terms;
    double x = angle->high, square = x * x, fourth = square * square, cube = square * x;
    double rest = (s[1] + square * s[2]) + fourth * ((s[3] + square * s[4]) + fourth * s[5]);
    double low = angle->low - 0.5 * square * angle->low;
    return (ls_strict_pair){x, (cube * square * rest + low) + cube * s[0]};
}

static inline ls_strict_pair cosine_of(const reduced_angle *angle)
{
    const double *c = ls_strict_cosine_terms;
    ls_strict_pair exact = ls_strict_product(angle->high, angle->high);
    double x = angle->high, square = exact.high, fourth = square * square;
    double rest = (c[0] + square * c[1]) +
                  fourth * ((c[2] + square * c[3]) + fourth * (c[4] + square * c[5]));
    ls_strict_pair sum = ls_strict_quick_sum(1, -0.5 * square);
    double low = 0.5 * exact.low + x * angle->low;
    return (ls_strict_pair){sum.high, sum.low + (fourth * rest - low)};
}

/* The sine of the whole angle, with `quarters` more of them. */
static inline double sine_at(const reduced_angle *angle, uint32_t quarters)
{
    quarters += angle->quarters;
    ls_strict_pair sum = quarters & 1u ? cosine_of(angle) : sine_of(angle);
    return ls_strict_with_sign(sum.high + sum.low, (uint64_t)(quarters & 2u) << 62);
}

double ls_strict_sin(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size >= LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (size < SIZE_TINY) {
        return x;
    }
    reduced_angle angle = reduce(x);
    return sine_at(&angle, 0);
}

double ls_strict_cos(double x)
{
    if (ls_strict_size(x) >= LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    reduced_angle angle = reduce(x);
    return sine_at(&angle, 1);
}

void ls_strict_sincos(double x, double *sine, double *cosine)
{
    uint64_t size = ls_strict_size(x);
    if (size >= LS_STRICT_INFINITE) {
        *sine = *cosine = ls_strict_not_a_number();
        return;
    }
    reduced_angle angle = reduce(x);
    ls_strict_pair sines = sine_of(&angle), cosines = cosine_of(&angle);
    double s = sines.high + sines.low, c = cosines.high + cosines.low;
    uint64_t sine_sign = (uint64_t)(angle.quarters & 2u) << 62;
    uint64_t cosine_sign = (uint64_t)((angle.quarters + 1) & 2u) << 62;
    *sine = ls_strict_with_sign(angle.quarters & 1u ? c : s, sine_sign);
    *cosine = ls_strict_with_sign(angle.quarters & 1u ? s : c, cosine_sign);
    if (size < SIZE_TINY) {
        *sine = x;
    }
}

double ls_strict_tan(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size >= LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (size < SIZE_TINY) {
        return x;
    }
    reduced_angle angle = reduce(x);
    ls_strict_pair sine = sine_of(&angle), cosine = cosine_of(&angle);
    sine = ls_strict_quick_sum(sine.high, sine.low);
    cosine = ls_strict_quick_sum(cosine.high, cosine.low);
    ls_strict_pair quotient =
        angle.quarters & 1u ? ls_strict_quotient(cosine, sine) : ls_strict_quotient(sine, cosine);
    uint64_t sign = (uint64_t)(angle.quarters & 1u) << 63;
    return ls_strict_with_sign(quotient.high + quotient.low, sign);
}
