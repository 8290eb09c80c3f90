/* The strict maths functions, on numbers of every range in which they do different things. */
#include "lockstep/tests/golden/golden.h"

#include "lockstep/tests/support/strict_arguments.h"

enum {
    ROUNDS = 1500, /* of each range */
};

/* Numbers at which something changes. */
static const double special_values[] = {0.0,    0x1p-1074, 0x1p-1022, 0x1p-27,
                                        0.25,   0.5,       1.0,       1.5,
                                        2.0,    3.0,       22.0,      40.0,
                                        709.0,  710.0,     0x1p20,    0x1p52,
                                        0x1p53, 0x1p65,    0x1p500,   0x1.fffffffffffffp1023};

enum {
    SPECIAL_COUNT = sizeof special_values / sizeof special_values[0],
};

static uint64_t fold(uint64_t sum, double value)
{
    return golden_fold(sum, strict_value_bits(value));
}

/* Infinities and NaN as well, of either sign. */
static double special_value(uint32_t index)
{
    uint64_t sign = (uint64_t)(index & 1u) << 63;
    uint32_t half = index / 2;
    uint64_t bits = half < SPECIAL_COUNT ? strict_value_bits(special_values[half])
                                         : UINT64_C(0x7ff0000000000000) + half - SPECIAL_COUNT;
    return strict_value_of(bits | sign);
}

static uint64_t special_sum(const strict_function *function, uint64_t sum)
{
    uint32_t count = 2 * (SPECIAL_COUNT + 2);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < (function->unary ? 1 : count); j++) {
            sum = fold(sum, strict_function_call(function, special_value(i), special_value(j)));
        }
    }
    return sum;
}

static uint64_t function_sum(const strict_function *function)
{
    ls_rng rng = ls_rng_make(12, 4);
    uint64_t sum = special_sum(function, GOLDEN_START);
    for (uint32_t range = 0; range < STRICT_RANGES_MAX; range++) {
        for (uint32_t i = 0; i < ROUNDS; i++) {
            double x = strict_argument(&rng, &function->x[range]);
            double y = function->unary ? 0 : strict_argument(&rng, &function->y[range]);
            sum = fold(sum, strict_function_call(function, x, y));
        }
    }
    return sum;
}

/* Functions that round to integers, and remainders. */
static uint64_t exact_sum(void)
{
    static const strict_range wide = STRICT_SIGNED(-1074, 1023);
    static const strict_range around = STRICT_NEAR(-100, 100, 0.5);
    static double (*const rounding[])(double) = {ls_strict_floor, ls_strict_ceil, ls_strict_trunc,
                                                 ls_strict_round, ls_strict_rint};
    ls_rng rng = ls_rng_make(12, 5);
    uint64_t sum = GOLDEN_START;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        double x = strict_argument(&rng, &around), y = strict_argument(&rng, &wide);
        double z = strict_argument(&rng, &wide);
        for (size_t f = 0; f < sizeof rounding / sizeof rounding[0]; f++) {
            sum = fold(fold(sum, rounding[f](x)), rounding[f](special_value(i % 44)));
        }
        sum = fold(fold(sum, ls_strict_fmod(y, z)), ls_strict_remainder(y, z));
        sum = fold(fold(sum, ls_strict_fmod(y, x)), ls_strict_remainder(y, x));
    }
    return sum;
}

static uint64_t both_sum(void)
{
    ls_rng rng = ls_rng_make(12, 6);
    uint64_t sum = GOLDEN_START;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        double sine = 0, cosine = 0;
        ls_strict_sincos(strict_argument(&rng, &strict_functions[0].x[i % 6]), &sine, &cosine);
        sum = fold(fold(sum, sine), cosine);
    }
    return sum;
}

void golden_strict_math(void)
{
    for (uint32_t i = 0; i < STRICT_FUNCTION_COUNT; i++) {
        golden_line_of("strict", strict_functions[i].name, function_sum(&strict_functions[i]));
    }
    golden_line_of("strict", "sincos", both_sum());
    golden_line_of("strict", "exact", exact_sum());
}
