/* Sine, cosine and tangent: the angle is brought to within an eighth of a turn of a multiple of a
 * quarter, as a pair, and polynomials do the rest. */
#include "lockstep/common/maths/strict_math.h"
#include "lockstep/common/maths/strict_parts.h"

#include <math.h>

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

/* Arc functions. An arc tangent is that of the nearest 32nd, from a table, and a polynomial of what
 * is left; both as pairs. */

enum {
    EXPONENTS_APART_MAX = 60, /* beyond, the smaller of two changes nothing in the sum */
};

#define SIZE_ONE UINT64_C(0x3ff0000000000000)
#define SIZE_HALF UINT64_C(0x3fe0000000000000)

/* atan(small / large) for 0 <= small <= large, both between 2^-500 and 2^500. */
static ls_strict_pair arc_tangent(double small, double large)
{
    const double *p = ls_strict_arc_tangent_terms;
    uint32_t i = (uint32_t)(small / large * 32 + 0.5);
    double step = i / 32.0;
    ls_strict_pair over = ls_strict_product(step, large);
    ls_strict_pair across = ls_strict_product(step, small);
    ls_strict_pair top = ls_strict_sum(small, -over.high);
    top = ls_strict_quick_sum(top.high, top.low - over.low);
    ls_strict_pair bottom = ls_strict_quick_sum(large, across.high);
    bottom.low += across.low;
    ls_strict_pair x = ls_strict_quotient(top, bottom);
    double square = x.high * x.high, fourth = square * square;
    double rest = (p[0] + square * p[1]) + fourth * ((p[2] + square * p[3]) + fourth * p[4]);
    ls_strict_pair sum = ls_strict_quick_sum(ls_strict_arc_table[2 * i], x.high);
    rest = ls_strict_arc_table[2 * i + 1] + (x.low + x.high * square * rest);
    return ls_strict_quick_sum(sum.high, sum.low + rest);
}

/* `whole` is a pair from the tables. */
static ls_strict_pair subtract_from(const double *whole, ls_strict_pair angle)
{
    ls_strict_pair sum = ls_strict_quick_sum(whole[0], -angle.high);
    return ls_strict_quick_sum(sum.high, sum.low + (whole[1] - angle.low));
}

double ls_strict_atan(double x)
{
    uint64_t size = ls_strict_size(x), sign = ls_strict_sign(x);
    if (size > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (size < SIZE_TINY) {
        return x;
    }
    if (size >= SIZE_ONE + ((uint64_t)EXPONENTS_APART_MAX << 52)) {
        return ls_strict_with_sign(ls_strict_half_pi[0], sign);
    }
    double distance = ls_strict_of_bits(size);
    ls_strict_pair angle = size > SIZE_ONE
                               ? subtract_from(ls_strict_half_pi, arc_tangent(1, distance))
                               : arc_tangent(distance, 1);
    return ls_strict_with_sign(angle.high, sign);
}

/* One of the two is 0 or infinite, and none is NaN; the result without y's sign. */
static double angle_of_limits(double y, double x)
{
    uint64_t y_size = ls_strict_size(y), x_size = ls_strict_size(x);
    bool is_left = ls_strict_sign(x) != 0;
    if (y_size == LS_STRICT_INFINITE && x_size == LS_STRICT_INFINITE) {
        ls_strict_pair quarter = {0.25 * ls_strict_pi[0], 0.25 * ls_strict_pi[1]};
        return is_left ? subtract_from(ls_strict_pi, quarter).high : quarter.high;
    }
    if (y_size == 0 || x_size == LS_STRICT_INFINITE) {
        return is_left ? ls_strict_pi[0] : 0;
    }
    return ls_strict_half_pi[0];
}

/* Both finite and not 0: 2^600, 1 or 2^-600, so that products of the two are exact. */
static double scale_of(double small, double large)
{
    if (large > 0x1p500) {
        return 0x1p-600;
    }
    return small < 0x1p-450 ? 0x1p600 : 1;
}

double ls_strict_atan2(double y, double x)
{
    uint64_t y_size = ls_strict_size(y), x_size = ls_strict_size(x), sign = ls_strict_sign(y);
    if (y_size > LS_STRICT_INFINITE || x_size > LS_STRICT_INFINITE) {
        return ls_strict_not_a_number();
    }
    if (y_size == 0 || x_size == 0 || y_size == LS_STRICT_INFINITE ||
        x_size == LS_STRICT_INFINITE) {
        return ls_strict_with_sign(angle_of_limits(y, x), sign);
    }
    double up = ls_strict_of_bits(y_size), across = ls_strict_of_bits(x_size);
    bool is_left = ls_strict_sign(x) != 0, is_steep = up > across;
    int32_t apart = (int32_t)(x_size >> 52) - (int32_t)(y_size >> 52);
    ls_strict_pair angle = {0, 0};
    if (apart > EXPONENTS_APART_MAX) {
        angle.high = is_left ? 0 : up / across;
    } else if (apart >= -EXPONENTS_APART_MAX) {
        double small = is_steep ? across : up, large = is_steep ? up : across;
        double scale = scale_of(small, large);
        angle = arc_tangent(small * scale, large * scale);
    }
    if (is_steep) {
        angle = subtract_from(ls_strict_half_pi, angle);
    }
    if (is_left) {
        angle = subtract_from(ls_strict_pi, angle);
    }
    return ls_strict_with_sign(angle.high, sign);
}

/* asin(root) = root + root * this, for root^2 = square, up to a half. */
static double arc_sine_rest(double square)
{
    const double *p = ls_strict_arc_sine_terms;
    double fourth = square * square, eighth = fourth * fourth;
    double first = (p[0] + square * p[1]) + fourth * (p[2] + square * p[3]);
    double second = (p[4] + square * p[5]) + fourth * (p[6] + square * p[7]);
    double third = (p[8] + square * p[9]) + fourth * ((p[10] + square * p[11]) + fourth * p[12]);
    return square * (first + eighth * (second + eighth * third));
}

/* acos(x) = 2 asin(sqrt((1 - x) / 2)), for x from 1/2 to 1. */
static ls_strict_pair arc_cosine_near_one(double x)
{
    double square = 0.5 * (1 - x);
    if (square == 0) {
        return (ls_strict_pair){0, 0};
    }
    double root = sqrt(square);
    ls_strict_pair back = ls_strict_product(root, root);
    double low = ((square - back.high) - back.low) / (2 * root);
    return (ls_strict_pair){2 * root, 2 * (low + root * arc_sine_rest(square))};
}

double ls_strict_asin(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size > SIZE_ONE) {
        return ls_strict_not_a_number();
    }
    if (size < SIZE_TINY) {
        return x;
    }
    if (size <= SIZE_HALF) {
        return x + x * arc_sine_rest(x * x);
    }
    ls_strict_pair other = arc_cosine_near_one(ls_strict_of_bits(size));
    ls_strict_pair angle = subtract_from(ls_strict_half_pi, other);
    return ls_strict_with_sign(angle.high, ls_strict_sign(x));
}

double ls_strict_acos(double x)
{
    uint64_t size = ls_strict_size(x);
    if (size > SIZE_ONE) {
        return ls_strict_not_a_number();
    }
    if (size <= SIZE_HALF) {
        ls_strict_pair sine = {x, x * arc_sine_rest(x * x)};
        return subtract_from(ls_strict_half_pi, sine).high;
    }
    ls_strict_pair angle = arc_cosine_near_one(ls_strict_of_bits(size));
    return ls_strict_sign(x) ? subtract_from(ls_strict_pi, angle).high : angle.high + angle.low;
}
