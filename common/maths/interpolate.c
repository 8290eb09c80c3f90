#include "lockstep/common/maths/interpolate.h"

#include "lockstep/common/maths/fixed_trig.h"

/* Below this angle (2^-12 of a turn) slerp and a normalised blend differ by less than 2^-32. */
#define SLERP_ANGLE_MIN (UINT32_C(1) << 20)

/* span*alpha/2^32, toward zero; 0 <= alpha < LS_FIXED_ONE, so that every product fits. */
static uint64_t share(uint64_t span, ls_fixed alpha)
{
    uint64_t part = (uint64_t)alpha;
    return (span >> 32) * part + (((span & UINT32_MAX) * part) >> 32);
}

ls_fixed ls_lerp(ls_fixed from, ls_fixed to, ls_fixed alpha)
{
    if (alpha <= 0) {
        return from;
    }
    if (alpha >= LS_FIXED_ONE) {
        return to;
    }
    /* The span of two distant values fits in 64 unsigned bits, but not in a signed difference. */
    if (from <= to) {
        uint64_t span = (uint64_t)to - (uint64_t)from;
        return ls_signed_from_bits((uint64_t)from + share(span, alpha));
    }
    uint64_t span = (uint64_t)from - (uint64_t)to;
    return ls_signed_from_bits((uint64_t)from - share(span, alpha));
}

ls_vec2 ls_lerp_vec2(ls_vec2 from, ls_vec2 to, ls_fixed alpha)
{
    return (ls_vec2){ls_lerp(from.x, to.x, alpha), ls_lerp(from.y, to.y, alpha)};
}

ls_angle ls_lerp_angle(ls_angle from, ls_angle to, ls_fixed alpha)
{
    if (alpha <= 0) {
        return from;
    }
    if (alpha >= LS_FIXED_ONE) {
        return to;
    }
    ls_angle forward = to - from;
    if (forward <= LS_ANGLE_HALF) {
        return from + (ls_angle)share(forward, alpha);
    }
    ls_angle backward = from - to;
    return from - (ls_angle)share(backward, alpha);
}

/* a*scale_a + b*scale_b. */
static ls_quaternion blend(ls_quaternion a, ls_fixed scale_a, ls_quaternion b, ls_fixed scale_b)
{
    return (ls_quaternion){
        ls_fixed_add(ls_fixed_mul(a.w, scale_a), ls_fixed_mul(b.w, scale_b)),
        ls_fixed_add(ls_fixed_mul(a.x, scale_a), ls_fixed_mul(b.x, scale_b)),
        ls_fixed_add(ls_fixed_mul(a.y, scale_a), ls_fixed_mul(b.y, scale_b)),
        ls_fixed_add(ls_fixed_mul(a.z, scale_a), ls_fixed_mul(b.z, scale_b)),
    };
}

static ls_fixed length(ls_quaternion a)
{
    ls_vec2 halves = {ls_vec2_length((ls_vec2){a.w, a.x}), ls_vec2_length((ls_vec2){a.y, a.z})};
    return ls_vec2_length(halves);
}

static ls_fixed dot(ls_quaternion a, ls_quaternion b)
{
    return ls_fixed_add(ls_vec2_dot((ls_vec2){a.w, a.x}, (ls_vec2){b.w, b.x}),
                        ls_vec2_dot((ls_vec2){a.y, a.z}, (ls_vec2){b.y, b.z}));
}

ls_quaternion ls_slerp(ls_quaternion from, ls_quaternion to, ls_fixed alpha)
{
    if (alpha <= 0) {
        return from;
    }
    if (alpha >= LS_FIXED_ONE) {
        return to;
    }
    /* q and -q turn alike; the nearer one is on the shorter arc. */
    ls_fixed nearer = dot(from, to) < 0 ? -LS_FIXED_ONE : LS_FIXED_ONE;
    ls_fixed apart = length(blend(from, LS_FIXED_ONE, to, -nearer));
    ls_fixed together = length(blend(from, LS_FIXED_ONE, to, nearer));
    ls_angle angle = 2u * ls_fixed_atan2(apart, together); /* exact where acos of the dot is not */

    ls_fixed weight = alpha;
    ls_fixed rest = LS_FIXED_ONE - alpha;
    if (angle >= SLERP_ANGLE_MIN) {
        ls_angle turned = (ls_angle)share(angle, alpha);
        weight = ls_fixed_div(ls_fixed_sin(turned), ls_fixed_sin(angle));
        rest = ls_fixed_div(ls_fixed_sin(angle - turned), ls_fixed_sin(angle));
    }
    ls_quaternion sum = blend(from, rest, to, ls_fixed_mul(weight, nearer));
    ls_fixed size = length(sum); /* 1 for slerp but for rounding, less for a blend */
    return (ls_quaternion){ls_fixed_div(sum.w, size), ls_fixed_div(sum.x, size),
                           ls_fixed_div(sum.y, size), ls_fixed_div(sum.z, size)};
}
