#include "lockstep/common/simulations/tumble/vec3.h"

/* No length is less than its largest part, nor more than twice that. */
bool ls_vec3_is_within(ls_vec3 a, ls_fixed most)
{
    uint64_t x = ls_magnitude(a.x);
    uint64_t y = ls_magnitude(a.y);
    uint64_t z = ls_magnitude(a.z);
    uint64_t largest = LS_MAX(LS_MAX(x, y), z);
    if (largest <= (uint64_t)most / 2 || largest > (uint64_t)most) {
        return largest <= (uint64_t)most;
    }
    return ls_vec3_length(a) <= most;
}

ls_vec3 ls_vec3_normal(ls_vec3 a)
{
    ls_fixed length = ls_vec3_length(a);
    if (length == 0) {
        return (ls_vec3){0, 0, LS_FIXED_ONE};
    }
    return (ls_vec3){ls_fixed_div(a.x, length), ls_fixed_div(a.y, length),
                     ls_fixed_div(a.z, length)};
}

/* The axis of the world that `a` is furthest from lying along gives the first. */
void ls_vec3_tangents(ls_vec3 a, ls_vec3 out[2])
{
    ls_fixed x = ls_fixed_abs(a.x);
    ls_fixed y = ls_fixed_abs(a.y);
    ls_fixed z = ls_fixed_abs(a.z);
    ls_vec3 other = {0, 0, LS_FIXED_ONE};
    if (x <= y && x <= z) {
        other = (ls_vec3){LS_FIXED_ONE, 0, 0};
    } else if (y <= z) {
        other = (ls_vec3){0, LS_FIXED_ONE, 0};
    }
    out[0] = ls_vec3_normal(ls_vec3_cross(a, other));
    out[1] = ls_vec3_cross(a, out[0]);
}

/* 2*a*b. */
static ls_fixed twice(ls_fixed a, ls_fixed b)
{
    ls_fixed once = ls_fixed_mul(a, b);
    return ls_fixed_add(once, once);
}

static ls_fixed one_less(ls_fixed a, ls_fixed b)
{
    return ls_fixed_sub(ls_fixed_sub(LS_FIXED_ONE, a), b);
}

ls_axes ls_axes_of(ls_quaternion q)
{
    ls_fixed xx = twice(q.x, q.x);
    ls_fixed yy = twice(q.y, q.y);
    ls_fixed zz = twice(q.z, q.z);
    ls_fixed xy = twice(q.x, q.y);
    ls_fixed xz = twice(q.x, q.z);
    ls_fixed yz = twice(q.y, q.z);
    ls_fixed wx = twice(q.w, q.x);
    ls_fixed wy = twice(q.w, q.y);
    ls_fixed wz = twice(q.w, q.z);
    return (ls_axes){{
        {one_less(yy, zz), ls_fixed_add(xy, wz), ls_fixed_sub(xz, wy)},
        {ls_fixed_sub(xy, wz), one_less(xx, zz), ls_fixed_add(yz, wx)},
        {ls_fixed_add(xz, wy), ls_fixed_sub(yz, wx), one_less(xx, yy)},
    }};
}

/* q + turn*q/2: the derivative of a rotation (turn as a quaternion without w). */
ls_quaternion ls_quaternion_turned(ls_quaternion q, ls_vec3 turn)
{
    ls_vec3 half = {turn.x / 2, turn.y / 2, turn.z / 2};
    ls_vec3 v = {q.x, q.y, q.z};
    ls_vec3 change = ls_vec3_add(ls_vec3_scale(half, q.w), ls_vec3_cross(half, v));
    ls_vec3 sum = ls_vec3_add(v, change);
    ls_fixed w = ls_fixed_sub(q.w, ls_vec3_dot(half, v));
    ls_fixed length = ls_vec2_length((ls_vec2){w, ls_vec3_length(sum)});
    return (ls_quaternion){ls_fixed_div(w, length), ls_fixed_div(sum.x, length),
                           ls_fixed_div(sum.y, length), ls_fixed_div(sum.z, length)};
}
