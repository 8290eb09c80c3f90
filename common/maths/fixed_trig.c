#include "lockstep/common/maths/fixed_trig.h"

#include <stdbool.h>

#define QUARTER_MASK (LS_ANGLE_QUARTER - 1u)

/* Minimax coefficients (Remez) of sin(pi/2 x) = x*(C1 - C3 x^2 + C5 x^4 - ...) on [0, 1]; the
 * polynomial's own error is 2^-36. Each is scaled to fill 32 bits; Q33 means times 2^33. The first
 * three are 2, 1 and 3 below the nearest, against the bias of the rounded products: without that
 * ten angles near the quarter turn have a sine above 1. */
#define SIN_1_Q33 UINT64_C(13493037701)
#define SIN_3_Q32 UINT64_C(2774394651)
#define SIN_5_Q35 UINT64_C(2738216448)
#define SIN_7_Q39 UINT64_C(2573748006)
#define SIN_9_Q44 UINT64_C(2818571608)
#define SIN_11_Q50 UINT64_C(3848565827)

/* The sine of a first-quarter angle below LS_ANGLE_QUARTER; every product fits in 64 bits. */
static uint64_t sine_of_quarter(uint64_t angle)
{
    uint64_t square = (angle * angle) >> 28; /* Q60 to Q32 */
    uint64_t sum = SIN_9_Q44 - ((square * SIN_11_Q50) >> 38);
    sum = SIN_7_Q39 - ((square * sum) >> 37);
    sum = SIN_5_Q35 - ((square * sum) >> 36);
    sum = SIN_3_Q32 - ((square * sum) >> 35);
    sum = SIN_1_Q33 - ((square * sum) >> 31);
    return (angle * sum + (UINT64_C(1) << 30)) >> 31;
}

ls_fixed ls_fixed_sin(ls_angle angle)
{
    /* Fold the second quarter onto the first, the lower half turn onto the upper. */
    ls_angle folded = angle & QUARTER_MASK;
    if (angle & LS_ANGLE_QUARTER) {
        folded = LS_ANGLE_QUARTER - folded;
    }
    ls_fixed sine = folded == LS_ANGLE_QUARTER ? LS_FIXED_ONE : (ls_fixed)sine_of_quarter(folded);
    return angle & LS_ANGLE_HALF ? -sine : sine;
}

ls_fixed ls_fixed_cos(ls_angle angle)
{
    return ls_fixed_sin(angle + LS_ANGLE_QUARTER);
}

ls_vec2 ls_vec2_from_angle(ls_angle angle)
{
    return (ls_vec2){ls_fixed_cos(angle), ls_fixed_sin(angle)};
}

/* Minimax coefficients of atan(t)/(2 pi) = t*(C1 - C3 t^2 + C5 t^4 - ...) on [0, tan(pi/8)]; the
 * polynomial's own error is 2^-35.6 of a turn. */
#define ATAN_1_Q34 UINT64_C(2734261092)
#define ATAN_3_Q36 UINT64_C(3645674664)
#define ATAN_5_Q36 UINT64_C(2187083300)
#define ATAN_7_Q37 UINT64_C(3111405532)
#define ATAN_9_Q37 UINT64_C(2292534724)
#define ATAN_11_Q38 UINT64_C(2553926504)

/* The angle of the slope numerator/denominator, up to tan(pi/8); both below 2^33. */
static ls_angle angle_of_slope(uint64_t numerator, uint64_t denominator)
{
    uint64_t slope = (numerator << 32) / denominator;
    uint64_t square = (slope * slope) >> 32;
    uint64_t sum = ATAN_9_Q37 - ((square * ATAN_11_Q38) >> 33);
    sum = ATAN_7_Q37 - ((square * sum) >> 32);
    sum = ATAN_5_Q36 - ((square * sum) >> 33);
    sum = ATAN_3_Q36 - ((square * sum) >> 32);
    sum = ATAN_1_Q34 - ((square * sum) >> 34);
    return (ls_angle)((slope * sum + (UINT64_C(1) << 33)) >> 34);
}

/* The angle of (large, small) in the first eighth turn, 0 <= small <= large, large > 0. */
static ls_angle angle_in_octant(uint64_t large, uint64_t small)
{
    int zeros = ls_leading_zeros(large); /* bring the larger one to exactly 32 bits */
    large = (large << zeros) >> 32;
    small = (small << zeros) >> 32;
    if (small * 70 <= large * 29) { /* a little above tan(pi/8) */
        return angle_of_slope(small, large);
    }
    return LS_ANGLE_QUARTER / 2 - angle_of_slope(large - small, large + small);
}

ls_angle ls_fixed_atan2(ls_fixed y, ls_fixed x)
{
    uint64_t width = ls_magnitude(x);
    uint64_t height = ls_magnitude(y);
    if ((width | height) == 0) {
        return 0;
    }
    ls_angle angle = width >= height ? angle_in_octant(width, height)
                                     : LS_ANGLE_QUARTER - angle_in_octant(height, width);
    angle = x < 0 ? LS_ANGLE_HALF - angle : angle;
    return y < 0 ? 0u - angle : angle;
}

/* 2 pi = 6.487ed511 0b4611a6... in hexadecimal, 1/(2 pi) = 0.28be60db 9391054a 7f09d5f4... */
#define TWO_PI_INTEGER UINT64_C(6)
#define TWO_PI_Q32 UINT64_C(0x487ed511)
#define TWO_PI_Q64 UINT64_C(0x0b4611a6)
#define PER_TWO_PI_Q32 UINT64_C(0x28be60db)
#define PER_TWO_PI_Q64 UINT64_C(0x9391054a)
#define PER_TWO_PI_Q96 UINT64_C(0x7f09d5f4)
#define HALF_Q32 UINT64_C(0x80000000)

ls_fixed ls_radians_from_angle(ls_angle angle)
{
    bool is_negative = angle >= LS_ANGLE_HALF;
    uint64_t turn = is_negative ? 0u - angle : angle;
    uint64_t fraction = turn * TWO_PI_Q32 + ((turn * TWO_PI_Q64) >> 32);
    uint64_t radians = turn * TWO_PI_INTEGER + ((fraction + HALF_Q32) >> 32);
    return is_negative ? -(ls_fixed)radians : (ls_fixed)radians;
}

ls_angle ls_angle_from_radians(ls_fixed radians)
{
    uint64_t size = ls_magnitude(radians);
    uint64_t high = size >> 32, low = size & UINT32_MAX;
    if (high == 0) { /* as for what turns in a tick */
        uint64_t part = low * PER_TWO_PI_Q32 + ((low * PER_TWO_PI_Q64) >> 32);
        ls_angle small = (ls_angle)((part + HALF_Q32) >> 32);
        return radians < 0 ? 0u - small : small;
    }
    /* Whole turns are the bits above 64 and wrap away; the angle is the upper half. */
    uint64_t turns = ((high * PER_TWO_PI_Q32) << 32) + low * PER_TWO_PI_Q32 +
                     high * PER_TWO_PI_Q64 + ((low * PER_TWO_PI_Q64) >> 32) +
                     ((high * PER_TWO_PI_Q96) >> 32);
    ls_angle angle = (ls_angle)((turns + HALF_Q32) >> 32);
    return radians < 0 ? 0u - angle : angle;
}
