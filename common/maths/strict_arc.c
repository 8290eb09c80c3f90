/* Arc functions. An arc tangent is that of the nearest 32nd, from a table, and a polynomial of what
 * is left; both as pairs. */
#include "lockstep/common/maths/strict_math.h"

#include "lockstep/common/maths/strict_parts.h"
#include "lockstep/common/maths/strict_tables.h"

#include <math.h>

enum {
    EXPONENTS_APART_MAX = 60, /* beyond, the smaller of two changes nothing in the sum */
};

#define SIZE_ONE UINT64_C(0x3ff0000000000000)
#define SIZE_TINY UINT64_C(0x3e40000000000000) /* 2^-27 */
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
