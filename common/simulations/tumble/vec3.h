/* Vec3: vectors and rotations in space, in fixed point. Overflow wraps as ls_fixed does; lengths up
 * to 2^15 are safe everywhere. Called by tumble. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_VEC3_H
#define LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_VEC3_H

#include "lockstep/common/maths/fixed.h"
#include "lockstep/common/maths/interpolate.h"

#include <stdbool.h>

typedef struct ls_vec3 {
    ls_fixed x;
    ls_fixed y;
    ls_fixed z;
} ls_vec3;

/* The axes of a body in the world: the columns of its rotation. */
typedef struct ls_axes {
    ls_vec3 axis[3];
} ls_axes;

static inline ls_vec3 ls_vec3_add(ls_vec3 a, ls_vec3 b)
{
    return (ls_vec3){ls_fixed_add(a.x, b.x), ls_fixed_add(a.y, b.y), ls_fixed_add(a.z, b.z)};
}

static inline ls_vec3 ls_vec3_sub(ls_vec3 a, ls_vec3 b)
{
    return (ls_vec3){ls_fixed_sub(a.x, b.x), ls_fixed_sub(a.y, b.y), ls_fixed_sub(a.z, b.z)};
}

static inline ls_vec3 ls_vec3_scale(ls_vec3 a, ls_fixed factor)
{
    return (ls_vec3){ls_fixed_mul(a.x, factor), ls_fixed_mul(a.y, factor),
                     ls_fixed_mul(a.z, factor)};
}

/* a + b*factor. */
static inline ls_vec3 ls_vec3_along(ls_vec3 a, ls_vec3 b, ls_fixed factor)
{
    return ls_vec3_add(a, ls_vec3_scale(b, factor));
}

static inline ls_vec3 ls_vec3_negate(ls_vec3 a)
{
    return (ls_vec3){ls_fixed_negate(a.x), ls_fixed_negate(a.y), ls_fixed_negate(a.z)};
}

static inline ls_fixed ls_vec3_dot(ls_vec3 a, ls_vec3 b)
{
    ls_fixed flat = ls_fixed_add(ls_fixed_mul(a.x, b.x), ls_fixed_mul(a.y, b.y));
    return ls_fixed_add(flat, ls_fixed_mul(a.z, b.z));
}

static inline ls_vec3 ls_vec3_cross(ls_vec3 a, ls_vec3 b)
{
    return (ls_vec3){
        ls_fixed_sub(ls_fixed_mul(a.y, b.z), ls_fixed_mul(a.z, b.y)),
        ls_fixed_sub(ls_fixed_mul(a.z, b.x), ls_fixed_mul(a.x, b.z)),
        ls_fixed_sub(ls_fixed_mul(a.x, b.y), ls_fixed_mul(a.y, b.x)),
    };
}

static inline ls_fixed ls_vec3_length(ls_vec3 a)
{
    return ls_vec2_length((ls_vec2){ls_vec2_length((ls_vec2){a.x, a.y}), a.z});
}

/* Whether ls_vec3_length(a) <= most; most >= 0. Without a square root where that is plain to see.
 */
bool ls_vec3_is_within(ls_vec3 a, ls_fixed most);

/* By number, 0 .. 2. */
static inline ls_fixed ls_vec3_part(ls_vec3 a, uint32_t axis)
{
    return axis == 0 ? a.x : axis == 1 ? a.y : a.z;
}

/* Of length 1; (0, 0, 1) for no direction at all. */
ls_vec3 ls_vec3_normal(ls_vec3 a);

/* Two directions at right angles to the unit vector `a` and to each other. */
void ls_vec3_tangents(ls_vec3 a, ls_vec3 out[2]);

ls_axes ls_axes_of(ls_quaternion orientation);

/* From the body's own directions to the world's, and back. */
static inline ls_vec3 ls_axes_to_world(const ls_axes *axes, ls_vec3 a)
{
    ls_vec3 flat = ls_vec3_along(ls_vec3_scale(axes->axis[0], a.x), axes->axis[1], a.y);
    return ls_vec3_along(flat, axes->axis[2], a.z);
}

static inline ls_vec3 ls_axes_to_body(const ls_axes *axes, ls_vec3 a)
{
    return (ls_vec3){ls_vec3_dot(axes->axis[0], a), ls_vec3_dot(axes->axis[1], a),
                     ls_vec3_dot(axes->axis[2], a)};
}

/* Turned by `turn` (radians about each axis of the world, small), of length 1 again. */
ls_quaternion ls_quaternion_turned(ls_quaternion from, ls_vec3 turn);

#endif
