/* Strict libm: included last, in place of <math.h> or <cmath>, it turns calls of sin(), powf() and
 * std::exp() into those of strict_math.h. Functions of floats compute in double and round once
 * more. Names without parentheses, as in a table of functions, stay libm's: the lint of
 * lockstep-synctest finds them, and the functions that have no strict one. Functions that IEEE 754
 * fixes to the bit (sqrt, fabs, floor, fma, frexp, ...) are left alone. Called by plug-ins, in C
 * and C++. */
#ifndef LOCKSTEP_COMMON_MATHS_STRICT_LIBM_H
#define LOCKSTEP_COMMON_MATHS_STRICT_LIBM_H

#include "lockstep/common/maths/strict_math.h"

#ifdef __cplusplus
#include <cmath>
#else
#include <math.h>
#endif

LS_C_BEGIN

#define LS_STRICT_FLOAT(name)                                                                      \
    static inline float name##f(float x)                                                           \
    {                                                                                              \
        return (float)name((double)x);                                                             \
    }
#define LS_STRICT_FLOATS(name)                                                                     \
    static inline float name##f(float x, float y)                                                  \
    {                                                                                              \
        return (float)name((double)x, (double)y);                                                  \
    }

LS_STRICT_FLOAT(ls_strict_sin)
LS_STRICT_FLOAT(ls_strict_cos)
LS_STRICT_FLOAT(ls_strict_tan)
LS_STRICT_FLOAT(ls_strict_asin)
LS_STRICT_FLOAT(ls_strict_acos)
LS_STRICT_FLOAT(ls_strict_atan)
LS_STRICT_FLOATS(ls_strict_atan2)
LS_STRICT_FLOAT(ls_strict_exp)
LS_STRICT_FLOAT(ls_strict_exp2)
LS_STRICT_FLOAT(ls_strict_expm1)
LS_STRICT_FLOAT(ls_strict_log)
LS_STRICT_FLOAT(ls_strict_log2)
LS_STRICT_FLOAT(ls_strict_log10)
LS_STRICT_FLOAT(ls_strict_log1p)
LS_STRICT_FLOATS(ls_strict_pow)
LS_STRICT_FLOAT(ls_strict_cbrt)
LS_STRICT_FLOATS(ls_strict_hypot)
LS_STRICT_FLOAT(ls_strict_sinh)
LS_STRICT_FLOAT(ls_strict_cosh)
LS_STRICT_FLOAT(ls_strict_tanh)
LS_STRICT_FLOATS(ls_strict_fmod)
LS_STRICT_FLOATS(ls_strict_remainder)

static inline void ls_strict_sincosf(float x, float *sine, float *cosine)
{
    double s = 0, c = 0;
    ls_strict_sincos((double)x, &s, &c);
    *sine = (float)s;
    *cosine = (float)c;
}

LS_C_END

#ifdef __cplusplus
namespace std
{ /* for std::sin(x) */
#define LS_STRICT_IN_STD(name)                                                                     \
    using ::name;                                                                                  \
    using ::name##f;
LS_STRICT_IN_STD(ls_strict_sin)
LS_STRICT_IN_STD(ls_strict_cos)
LS_STRICT_IN_STD(ls_strict_tan)
LS_STRICT_IN_STD(ls_strict_asin)
LS_STRICT_IN_STD(ls_strict_acos)
LS_STRICT_IN_STD(ls_strict_atan)
LS_STRICT_IN_STD(ls_strict_atan2)
LS_STRICT_IN_STD(ls_strict_exp)
LS_STRICT_IN_STD(ls_strict_exp2)
LS_STRICT_IN_STD(ls_strict_expm1)
LS_STRICT_IN_STD(ls_strict_log)
LS_STRICT_IN_STD(ls_strict_log2)
LS_STRICT_IN_STD(ls_strict_log10)
LS_STRICT_IN_STD(ls_strict_log1p)
LS_STRICT_IN_STD(ls_strict_pow)
LS_STRICT_IN_STD(ls_strict_cbrt)
LS_STRICT_IN_STD(ls_strict_hypot)
LS_STRICT_IN_STD(ls_strict_sinh)
LS_STRICT_IN_STD(ls_strict_cosh)
LS_STRICT_IN_STD(ls_strict_tanh)
LS_STRICT_IN_STD(ls_strict_fmod)
LS_STRICT_IN_STD(ls_strict_remainder)
} // namespace std
#endif

#undef sin
#define sin(x) ls_strict_sin(x)
#undef sinf
#define sinf(x) ls_strict_sinf(x)
#undef cos
#define cos(x) ls_strict_cos(x)
#undef cosf
#define cosf(x) ls_strict_cosf(x)
#undef tan
#define tan(x) ls_strict_tan(x)
#undef tanf
#define tanf(x) ls_strict_tanf(x)
#undef asin
#define asin(x) ls_strict_asin(x)
#undef asinf
#define asinf(x) ls_strict_asinf(x)
#undef acos
#define acos(x) ls_strict_acos(x)
#undef acosf
#define acosf(x) ls_strict_acosf(x)
#undef atan
#define atan(x) ls_strict_atan(x)
#undef atanf
#define atanf(x) ls_strict_atanf(x)
#undef exp
#define exp(x) ls_strict_exp(x)
#undef expf
#define expf(x) ls_strict_expf(x)
#undef exp2
#define exp2(x) ls_strict_exp2(x)
#undef exp2f
#define exp2f(x) ls_strict_exp2f(x)
#undef expm1
#define expm1(x) ls_strict_expm1(x)
#undef expm1f
#define expm1f(x) ls_strict_expm1f(x)
#undef log
#define log(x) ls_strict_log(x)
#undef logf
#define logf(x) ls_strict_logf(x)
#undef log2
#define log2(x) ls_strict_log2(x)
#undef log2f
#define log2f(x) ls_strict_log2f(x)
#undef log10
#define log10(x) ls_strict_log10(x)
#undef log10f
#define log10f(x) ls_strict_log10f(x)
#undef log1p
#define log1p(x) ls_strict_log1p(x)
#undef log1pf
#define log1pf(x) ls_strict_log1pf(x)
#undef cbrt
#define cbrt(x) ls_strict_cbrt(x)
#undef cbrtf
#define cbrtf(x) ls_strict_cbrtf(x)
#undef sinh
#define sinh(x) ls_strict_sinh(x)
#undef sinhf
#define sinhf(x) ls_strict_sinhf(x)
#undef cosh
#define cosh(x) ls_strict_cosh(x)
#undef coshf
#define coshf(x) ls_strict_coshf(x)
#undef tanh
#define tanh(x) ls_strict_tanh(x)
#undef tanhf
#define tanhf(x) ls_strict_tanhf(x)
#undef atan2
#define atan2(y, x) ls_strict_atan2(y, x)
#undef atan2f
#define atan2f(y, x) ls_strict_atan2f(y, x)
#undef pow
#define pow(x, y) ls_strict_pow(x, y)
#undef powf
#define powf(x, y) ls_strict_powf(x, y)
#undef hypot
#define hypot(x, y) ls_strict_hypot(x, y)
#undef hypotf
#define hypotf(x, y) ls_strict_hypotf(x, y)
#undef fmod
#define fmod(x, y) ls_strict_fmod(x, y)
#undef fmodf
#define fmodf(x, y) ls_strict_fmodf(x, y)
#undef remainder
#define remainder(x, y) ls_strict_remainder(x, y)
#undef remainderf
#define remainderf(x, y) ls_strict_remainderf(x, y)
#undef sincos
#define sincos(x, sine, cosine) ls_strict_sincos(x, sine, cosine)
#undef sincosf
#define sincosf(x, sine, cosine) ls_strict_sincosf(x, sine, cosine)

#endif
