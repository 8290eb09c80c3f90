/* Strict libm: included last, in place of <math.h> or <cmath>, it turns calls of sin(), powf() and
 * std::exp() into those of strict_math.h. Functions of floats compute in double and round once
 * more. Names without parentheses, as in a table of functions, stay libm's: the lint of
 * lockstep-synctest finds them, and the functions that have no strict one. Functions that IEEE 754
 * fixes to the bit (sqrt, fabs, floor, fma, frexp, ...) are left alone. A C++ method called log()
 * has to be declared and called on the same side of the include. */
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
#define sin(...) ls_strict_sin(__VA_ARGS__)
#undef sinf
#define sinf(...) ls_strict_sinf(__VA_ARGS__)
#undef cos
#define cos(...) ls_strict_cos(__VA_ARGS__)
#undef cosf
#define cosf(...) ls_strict_cosf(__VA_ARGS__)
#undef tan
#define tan(...) ls_strict_tan(__VA_ARGS__)
#undef tanf
#define tanf(...) ls_strict_tanf(__VA_ARGS__)
#undef asin
#define asin(...) ls_strict_asin(__VA_ARGS__)
#undef asinf
#define asinf(...) ls_strict_asinf(__VA_ARGS__)
#undef acos
#define acos(...) ls_strict_acos(__VA_ARGS__)
#undef acosf
#define acosf(...) ls_strict_acosf(__VA_ARGS__)
#undef atan
#define atan(...) ls_strict_atan(__VA_ARGS__)
#undef atanf
#define atanf(...) ls_strict_atanf(__VA_ARGS__)
#undef exp
#define exp(...) ls_strict_exp(__VA_ARGS__)
#undef expf
#define expf(...) ls_strict_expf(__VA_ARGS__)
#undef exp2
#define exp2(...) ls_strict_exp2(__VA_ARGS__)
#undef exp2f
#define exp2f(...) ls_strict_exp2f(__VA_ARGS__)
#undef expm1
#define expm1(...) ls_strict_expm1(__VA_ARGS__)
#undef expm1f
#define expm1f(...) ls_strict_expm1f(__VA_ARGS__)
#undef log
#define log(...) ls_strict_log(__VA_ARGS__)
#undef logf
#define logf(...) ls_strict_logf(__VA_ARGS__)
#undef log2
#define log2(...) ls_strict_log2(__VA_ARGS__)
#undef log2f
#define log2f(...) ls_strict_log2f(__VA_ARGS__)
#undef log10
#define log10(...) ls_strict_log10(__VA_ARGS__)
#undef log10f
#define log10f(...) ls_strict_log10f(__VA_ARGS__)
#undef log1p
#define log1p(...) ls_strict_log1p(__VA_ARGS__)
#undef log1pf
#define log1pf(...) ls_strict_log1pf(__VA_ARGS__)
#undef cbrt
#define cbrt(...) ls_strict_cbrt(__VA_ARGS__)
#undef cbrtf
#define cbrtf(...) ls_strict_cbrtf(__VA_ARGS__)
#undef sinh
#define sinh(...) ls_strict_sinh(__VA_ARGS__)
#undef sinhf
#define sinhf(...) ls_strict_sinhf(__VA_ARGS__)
#undef cosh
#define cosh(...) ls_strict_cosh(__VA_ARGS__)
#undef coshf
#define coshf(...) ls_strict_coshf(__VA_ARGS__)
#undef tanh
#define tanh(...) ls_strict_tanh(__VA_ARGS__)
#undef tanhf
#define tanhf(...) ls_strict_tanhf(__VA_ARGS__)
#undef atan2
#define atan2(...) ls_strict_atan2(__VA_ARGS__)
#undef atan2f
#define atan2f(...) ls_strict_atan2f(__VA_ARGS__)
#undef pow
#define pow(...) ls_strict_pow(__VA_ARGS__)
#undef powf
#define powf(...) ls_strict_powf(__VA_ARGS__)
#undef hypot
#define hypot(...) ls_strict_hypot(__VA_ARGS__)
#undef hypotf
#define hypotf(...) ls_strict_hypotf(__VA_ARGS__)
#undef fmod
#define fmod(...) ls_strict_fmod(__VA_ARGS__)
#undef fmodf
#define fmodf(...) ls_strict_fmodf(__VA_ARGS__)
#undef remainder
#define remainder(...) ls_strict_remainder(__VA_ARGS__)
#undef remainderf
#define remainderf(...) ls_strict_remainderf(__VA_ARGS__)
#undef sincos
#define sincos(...) ls_strict_sincos(__VA_ARGS__)
#undef sincosf
#define sincosf(...) ls_strict_sincosf(__VA_ARGS__)

#endif
