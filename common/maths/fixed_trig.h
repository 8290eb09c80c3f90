/* Fixed trig: sine, cosine and arc tangent on binary angles, bit-identical on every machine.
 * Integer arithmetic alone; the stated errors are against the exact value and tested over dense
 * grids with a long double reference. */
#ifndef LOCKSTEP_COMMON_MATHS_FIXED_TRIG_H
#define LOCKSTEP_COMMON_MATHS_FIXED_TRIG_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/maths/fixed.h"

LS_C_BEGIN

/* In [-1, 1]; absolute error at most 2^-31 (1.56 * 2^-32 over all 2^32 angles, so that neighbouring
 * angles may be out of order by a bit). Exact at the four quarter turns; odd and even symmetry
 * hold to the bit: sin(-a) = -sin(a), cos(-a) = cos(a). */
ls_fixed ls_fixed_sin(ls_angle angle);
ls_fixed ls_fixed_cos(ls_angle angle);

/* The unit vector (cos, sin). */
ls_vec2 ls_vec2_from_angle(ls_angle angle);

/* The angle of (x, y); error at most 2^-31 of a turn (1.03 * 2^-32 measured) at any length.
 * Exact on the axes and the diagonals; (0, 0) gives 0. */
ls_angle ls_fixed_atan2(ls_fixed y, ls_fixed x);

/* Radians (rounded to nearest) from an angle read as signed, in [-pi, pi), and back, modulo a
 * turn. For integrating an angular velocity given in radians. */
ls_fixed ls_radians_from_angle(ls_angle angle);
ls_angle ls_angle_from_radians(ls_fixed radians);

LS_C_END

#endif
