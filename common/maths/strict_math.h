/* Strict maths: the functions of <math.h> for doubles, with the same bits on every machine,
 * compiler and optimisation: made of + - * / and square roots, which IEEE 754 fixes, without
 * contraction. They are called, never inlined, so that the flags of the code around them
 * (-ffast-math, -mfma) cannot change them. Keep no state, set no errno. A game that calls
 * libm now includes strict_libm.h.
 *
 * A result is less than one unit in the last place from the exact one: docs/writing-a-simulation.md
 * has the measured figures. Special values are those of annex F of the C standard, but a NaN is
 * always the same one, 0x7ff8000000000000, whatever came in. Integers and remainders are
 * exact.
 *
 * Rounding must be to nearest, and denormals must not be flushed to zero: the state in which a
 * program starts. With another one results differ, and nothing else goes wrong. Which exceptions
 * (FE_INEXACT and so on) are raised is left open. */
#ifndef LOCKSTEP_COMMON_MATHS_STRICT_MATH_H
#define LOCKSTEP_COMMON_MATHS_STRICT_MATH_H

#include "lockstep/common/base/language.h"

LS_C_BEGIN

/* Angles are in radians; of any size, since they are reduced by as many bits of pi as it takes. */
double ls_strict_sin(double x);
double ls_strict_cos(double x);
double ls_strict_tan(double x);
/* Both at once: the bits are those of the two alone. */
void ls_strict_sincos(double x, double *sine, double *cosine);

double ls_strict_asin(double x); /* -pi/2 .. pi/2 */
double ls_strict_acos(double x); /* 0 .. pi */
double ls_strict_atan(double x); /* -pi/2 .. pi/2 */
/* The angle of (x, y), -pi .. pi. */
double ls_strict_atan2(double y, double x);

double ls_strict_exp(double x);
double ls_strict_exp2(double x);
double ls_strict_expm1(double x); /* e^x - 1 */
double ls_strict_log(double x);   /* natural */
double ls_strict_log2(double x);
double ls_strict_log10(double x);
double ls_strict_log1p(double x); /* ln(1 + x) */
double ls_strict_pow(double base, double exponent);
double ls_strict_cbrt(double x);
/* Neither overflows nor becomes 0 in between. */
double ls_strict_hypot(double x, double y);

double ls_strict_sinh(double x);
double ls_strict_cosh(double x);
double ls_strict_tanh(double x);

/* Exact. `round` takes halves away from zero, `rint` to the even neighbour. */
double ls_strict_floor(double x);
double ls_strict_ceil(double x);
double ls_strict_trunc(double x);
double ls_strict_round(double x);
double ls_strict_rint(double x);
/* The rest of x / y: with x's sign, and the nearest to zero (of two, that of an even x / y). */
double ls_strict_fmod(double x, double y);
double ls_strict_remainder(double x, double y);

LS_C_END

#endif
