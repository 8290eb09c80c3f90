/* Strict arguments: the strict maths functions with rounding, by name, and for each the ranges in
 * which it does different things; numbers from a range are drawn from a seeded generator. Called by
 * the golden program, the unit tests and the measurement of errors. */
#ifndef LOCKSTEP_TESTS_SUPPORT_STRICT_ARGUMENTS_H
#define LOCKSTEP_TESTS_SUPPORT_STRICT_ARGUMENTS_H

#include "lockstep/common/maths/rng.h"
#include "lockstep/common/maths/strict_math.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    STRICT_RANGES_MAX = 6,
    STRICT_FUNCTION_COUNT = 20,
};

/* Numbers of `low` to `high` as often as others; or, with is_by_size, of every power of two from
 * 2^low to 2^high, and of either sign with is_signed. Each lies within 4 last places of a multiple
 * of `near` where that is not 0. */
typedef struct strict_range {
    double low;
    double high;
    bool is_by_size;
    bool is_signed;
    double near;
} strict_range;

typedef struct strict_function {
    const char *name;
    double (*unary)(double x);
    double (*binary)(double x, double y);
    strict_range x[STRICT_RANGES_MAX];
    strict_range y[STRICT_RANGES_MAX];
} strict_function;

/* Of a range's numbers: evenly, by size, by size with either sign, next to multiples. */
#define STRICT_EVEN(low, high)                                                                     \
    {                                                                                              \
        low, high, false, false, 0                                                                 \
    }
#define STRICT_SIZES(low, high)                                                                    \
    {                                                                                              \
        low, high, true, false, 0                                                                  \
    }
#define STRICT_SIGNED(low, high)                                                                   \
    {                                                                                              \
        low, high, true, true, 0                                                                   \
    }
#define STRICT_NEAR(low, high, number)                                                             \
    {                                                                                              \
        low, high, false, false, number                                                            \
    }
#define STRICT_UNARY(name, ...)                                                                    \
    {                                                                                              \
#name, ls_strict_##name, NULL, {__VA_ARGS__ },                                             \
        {                                                                                          \
            {                                                                                      \
                0, 0, false, false, 0                                                              \
            }                                                                                      \
        }                                                                                          \
    }

#define STRICT_ANGLES                                                                              \
    STRICT_EVEN(-7, 7), STRICT_SIGNED(-30, 1023), STRICT_NEAR(-1e6, 1e6, 0x1.921fb54442d18p0),     \
        STRICT_EVEN(-0.79, 0.79), STRICT_SIGNED(-1074, 0), STRICT_SIGNED(19, 22)
#define STRICT_SINES                                                                               \
    STRICT_EVEN(-1, 1), STRICT_SIGNED(-30, 0), STRICT_EVEN(0.499, 0.501),                          \
        STRICT_EVEN(0.999999, 1), STRICT_EVEN(-1, -0.9), STRICT_SIGNED(-1074, 0)
#define STRICT_POSITIVE                                                                            \
    STRICT_EVEN(0.5, 2), STRICT_SIZES(-1074, 1023), STRICT_EVEN(0.99, 1.01),                       \
        STRICT_EVEN(0.9999, 1.0001), STRICT_EVEN(0.68, 0.7), STRICT_EVEN(0, 100)
#define STRICT_RISES                                                                               \
    STRICT_EVEN(-1.1, 1.1), STRICT_SIGNED(-1074, 10), STRICT_EVEN(-23, 23),                        \
        STRICT_EVEN(-711, 711), STRICT_EVEN(0.4, 0.6), STRICT_EVEN(709.5, 711)

static const strict_function strict_functions[STRICT_FUNCTION_COUNT] = {
    STRICT_UNARY(sin, STRICT_ANGLES),
    STRICT_UNARY(cos, STRICT_ANGLES),
    STRICT_UNARY(tan, STRICT_ANGLES),
    STRICT_UNARY(asin, STRICT_SINES),
    STRICT_UNARY(acos, STRICT_SINES),
    STRICT_UNARY(atan, STRICT_EVEN(-1, 1), STRICT_SIGNED(-30, 70), STRICT_EVEN(-40, 40),
                 STRICT_NEAR(-1.1, 1.1, 0x1p-6), STRICT_EVEN(0.98, 1.02),
                 STRICT_SIGNED(-1074, 1023)),
    STRICT_UNARY(exp, STRICT_EVEN(-1, 1), STRICT_EVEN(-745.2, 709.8), STRICT_SIGNED(-60, 10),
                 STRICT_EVEN(-746, -708), STRICT_EVEN(709, 710),
                 STRICT_NEAR(-10, 10, 0x1.62e42fefa39efp-9)),
    STRICT_UNARY(exp2, STRICT_EVEN(-1, 1), STRICT_EVEN(-1076, 1024), STRICT_SIGNED(-60, 10),
                 STRICT_EVEN(-1076, -1020), STRICT_EVEN(1023, 1024.1),
                 STRICT_NEAR(-10, 10, 0x1p-8)),
    STRICT_UNARY(expm1, STRICT_EVEN(-1, 1), STRICT_EVEN(-60, 60), STRICT_SIGNED(-1074, 10),
                 STRICT_EVEN(-0.1, 0.1), STRICT_EVEN(709, 710),
                 STRICT_NEAR(-0.1, 0.1, 0x1.62e42fefa39efp-9)),
    STRICT_UNARY(log, STRICT_POSITIVE),
    STRICT_UNARY(log2, STRICT_POSITIVE),
    STRICT_UNARY(log10, STRICT_POSITIVE),
    STRICT_UNARY(log1p, STRICT_EVEN(-1, 1), STRICT_SIZES(-1074, 1023), STRICT_EVEN(-0.01, 0.01),
                 STRICT_SIGNED(-60, 0), STRICT_EVEN(-1, -0.999), STRICT_EVEN(0, 100)),
    STRICT_UNARY(cbrt, STRICT_EVEN(-8, 8), STRICT_SIGNED(-1074, 1023), STRICT_EVEN(0, 1000),
                 STRICT_EVEN(0.99, 1.01), STRICT_EVEN(7.9, 8.1), STRICT_SIZES(-1074, -1020)),
    STRICT_UNARY(sinh, STRICT_RISES),
    STRICT_UNARY(cosh, STRICT_RISES),
    STRICT_UNARY(tanh, STRICT_EVEN(-1.1, 1.1), STRICT_SIGNED(-1074, 10), STRICT_EVEN(-23, 23),
                 STRICT_EVEN(0.24, 0.6), STRICT_EVEN(0.249, 0.251), STRICT_EVEN(20, 24)),
    {"atan2",
     NULL,
     ls_strict_atan2,
     {STRICT_EVEN(-1, 1), STRICT_SIGNED(-1074, 1023), STRICT_SIGNED(-40, 40), STRICT_EVEN(0.9, 1.1),
      STRICT_SIGNED(-1, 0), STRICT_SIGNED(-5, 5)},
     {STRICT_EVEN(-1, 1), STRICT_SIGNED(-1074, 1023), STRICT_SIGNED(-40, 40),
      STRICT_EVEN(-1.1, -0.9), STRICT_EVEN(0.5, 1), STRICT_SIGNED(-5, 5)}},
    {"pow",
     NULL,
     ls_strict_pow,
     {STRICT_EVEN(0, 10), STRICT_SIZES(-1074, 1023), STRICT_EVEN(0.99, 1.01),
      STRICT_EVEN(1, 1.0001), STRICT_SIZES(-10, 10), STRICT_EVEN(0, 100)},
     {STRICT_EVEN(-10, 10), STRICT_SIGNED(-10, 10), STRICT_EVEN(-1000, 1000),
      STRICT_EVEN(-7e6, 7e6), STRICT_EVEN(-100, 100), STRICT_NEAR(-3, 3, 0.5)}},
    {"hypot",
     NULL,
     ls_strict_hypot,
     {STRICT_EVEN(-1, 1), STRICT_SIGNED(-1074, 1023), STRICT_SIGNED(-40, 40), STRICT_EVEN(0.9, 1.1),
      STRICT_SIZES(-1074, -1000), STRICT_SIZES(1020, 1023)},
     {STRICT_EVEN(-1, 1), STRICT_SIGNED(-1074, 1023), STRICT_SIGNED(-40, 40),
      STRICT_EVEN(-1.1, -0.9), STRICT_SIZES(-1074, -1000), STRICT_SIZES(1020, 1023)}},
};

static inline double strict_function_call(const strict_function *function, double x, double y)
{
    return function->unary ? function->unary(x) : function->binary(x, y);
}

static inline uint64_t strict_value_bits(double x)
{
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double strict_value_of(uint64_t bits)
{
    double x = 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 0 <= x < 1 */
static inline double strict_unit(ls_rng *rng)
{
    uint64_t high = ls_rng_next(rng), low = ls_rng_next(rng);
    return (double)((high << 32 | low) >> 11) * 0x1p-53;
}

static inline double strict_argument(ls_rng *rng, const strict_range *range)
{
    double unit = strict_unit(rng);
    if (range->is_by_size) {
        uint64_t low = (uint64_t)(range->low + 1076), high = (uint64_t)(range->high + 1076);
        uint64_t exponent = low + ls_rng_below(rng, (uint32_t)(high - low + 1));
        bool is_subnormal = exponent < 54; /* 2^-1022 is 54 */
        uint64_t shift = is_subnormal ? 54 - exponent : 0;
        uint64_t biased = is_subnormal ? 0 : exponent - 53;
        uint64_t fraction = (uint64_t)(unit * 0x1p52);
        fraction = is_subnormal ? (fraction | UINT64_C(1) << 52) >> shift : fraction;
        uint64_t sign = range->is_signed ? (uint64_t)(ls_rng_next(rng) & 1u) << 63 : 0;
        return strict_value_of(sign | biased << 52 | fraction);
    }
    double x = range->low + unit * (range->high - range->low);
    if (range->near != 0) {
        x = ls_strict_rint(x / range->near) * range->near;
        x = strict_value_of(strict_value_bits(x) + ls_rng_below(rng, 9) - 4);
    }
    return x;
}

#endif
