/* Interpolate: blends of two states' values, for drawing only. Nothing here may reach a state.
 * alpha is the share of `to`, from 0 (all `from`) to LS_FIXED_ONE (all `to`), and is exact at both
 * ends. */
#ifndef LOCKSTEP_COMMON_MATHS_INTERPOLATE_H
#define LOCKSTEP_COMMON_MATHS_INTERPOLATE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/maths/fixed.h"

LS_C_BEGIN

/* Unit quaternion, w + xi + yj + zk. */
typedef struct ls_quaternion {
    ls_fixed w;
    ls_fixed x;
    ls_fixed y;
    ls_fixed z;
} ls_quaternion;

ls_fixed ls_lerp(ls_fixed from, ls_fixed to, ls_fixed alpha);
ls_vec2 ls_lerp_vec2(ls_vec2 from, ls_vec2 to, ls_fixed alpha);

/* Along the shorter way round; from a half turn apart, towards increasing angle. */
ls_angle ls_lerp_angle(ls_angle from, ls_angle to, ls_fixed alpha);

/* Constant angular speed along the shorter great arc (Shoemake, "Animating Rotation with
 * Quaternion Curves", 1985); nearly parallel ones are blended linearly and normalised.
 * Length 1 and the place on the arc are right to 2^-28 (of a radian), but alpha = LS_FIXED_ONE
 * gives `to` as it came, even if the shorter arc leads to its negative, which is the same rotation.
 */
ls_quaternion ls_slerp(ls_quaternion from, ls_quaternion to, ls_fixed alpha);

LS_C_END

#endif
