/* Measures the strict maths functions against MPFR, which rounds correctly to any number of bits:
 * prints the largest error of each over many arguments of every size, in units in the last place of
 * the exact result. Exit codes: 0 all at most 1, 2 usage, 3 a larger one. */
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/support/strict_arguments.h"

#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BITS = 140,
    COUNT_DEFAULT = 1000, /* of each of a function's ranges */
};

typedef int (*exact_unary)(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding);
typedef int (*exact_binary)(mpfr_t result, const mpfr_t x, const mpfr_t y, mpfr_rnd_t rounding);

/* MPFR's functions, in the order of strict_functions. */
static const exact_unary exact_unaries[] = {
    mpfr_sin,   mpfr_cos,  mpfr_tan,   mpfr_asin, mpfr_acos, mpfr_atan,
    mpfr_exp,   mpfr_exp2, mpfr_expm1, mpfr_log,  mpfr_log2, mpfr_log10,
    mpfr_log1p, mpfr_cbrt, mpfr_sinh,  mpfr_cosh, mpfr_tanh};
static const exact_binary exact_binaries[] = {mpfr_atan2, mpfr_pow, mpfr_hypot};

typedef struct worst_error {
    double units;
    double x, y;
} worst_error;

/* In units of the last place that a double of the exact value's size has. */
static double units_between(double found, const mpfr_t exact)
{
    mpfr_t difference;
    mpfr_init2(difference, BITS);
    mpfr_sub_d(difference, exact, found, MPFR_RNDN);
    mpfr_exp_t last = mpfr_zero_p(exact) ? -1074 : mpfr_get_exp(exact) - 53;
    mpfr_mul_2si(difference, difference, last < -1074 ? 1074 : -last, MPFR_RNDN);
    double units = fabs(mpfr_get_d(difference, MPFR_RNDN));
    mpfr_clear(difference);
    return units;
}

static void compare(const strict_function *function, uint32_t index, double x, double y,
                    worst_error *worst)
{
    mpfr_t first, second, exact;
    mpfr_inits2(BITS, first, second, exact, (mpfr_ptr)NULL);
    mpfr_set_d(first, x, MPFR_RNDN);
    mpfr_set_d(second, y, MPFR_RNDN);
    if (function->unary) {
        exact_unaries[index](exact, first, MPFR_RNDN);
    } else {
        exact_binaries[index - sizeof exact_unaries / sizeof exact_unaries[0]](exact, first, second,
                                                                               MPFR_RNDN);
    }
    double found = strict_function_call(function, x, y);
    double rounded = mpfr_get_d(exact, MPFR_RNDN);
    bool is_special = !isfinite(rounded) || !isfinite(found) || rounded == 0;
    double units = 0;
    if (is_special && !(isnan(found) && isnan(rounded)) && found != rounded) {
        /* Next to the largest double both are right. */
        bool is_edge = isinf(rounded) && fabs(found) > 0x1.ffffffffffffep1023;
        bool is_edge_too = isinf(found) && fabs(rounded) > 0x1.ffffffffffffep1023;
        units = is_edge || is_edge_too ? 0
                : rounded == 0         ? fabs(found) * 0x1p1000 * 0x1p74
                                       : (double)INFINITY;
    } else if (!is_special) {
        units = units_between(found, exact);
    }
    if (units > worst->units) {
        *worst = (worst_error){units, x, y};
    }
    mpfr_clears(first, second, exact, (mpfr_ptr)NULL);
}

static worst_error measure(const strict_function *function, uint32_t index, uint32_t count)
{
    worst_error worst = {0, 0, 0};
    ls_rng rng = ls_rng_make(index, count);
    for (uint32_t range = 0; range < STRICT_RANGES_MAX; range++) {
        for (uint32_t i = 0; i < count; i++) {
            double x = strict_argument(&rng, &function->x[range]);
            double y = function->unary ? 0 : strict_argument(&rng, &function->y[range]);
            compare(function, index, x, y, &worst);
        }
    }
    return worst;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    unsigned long count = argc > 1 ? strtoul(argv[1], &end, 10) : COUNT_DEFAULT;
    if (argc > 2 || (end && *end) || count == 0 || count > 100000000) {
        fprintf(stderr, "usage: %s [COUNT]\n  COUNT of arguments in each range\n", argv[0]);
        return 2;
    }
    bool is_bad = false;
    for (uint32_t i = 0; i < STRICT_FUNCTION_COUNT; i++) {
        const strict_function *function = &strict_functions[i];
        worst_error worst = measure(function, i, (uint32_t)count);
        printf("%-6s %.3f at %a", function->name, worst.units, worst.x);
        printf(function->unary ? "\n" : ", %a\n", worst.y);
        is_bad = is_bad || worst.units > 1;
    }
    mpfr_free_cache();
    return is_bad ? 3 : 0;
}
