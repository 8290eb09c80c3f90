#include "lockstep/common/base/allocator.h"
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/maths/strict_math.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NUMBERS = 1024,
    PAIRS = 4096,
};

/* A strict maths function is to take at most three times as long as the C library's. */
#define SPEED_OF_LIBM_MIN (1.0 / 3)

typedef struct math_numbers {
    ls_fixed a[NUMBERS]; /* -1000 to 1000 */
    ls_fixed b[NUMBERS]; /* 1/16 to 1000 */
    double x[NUMBERS];   /* -10 to 10 */
    double y[NUMBERS];   /* 1/16 to 10 */
    ls_rng rng;
    ls_key_index unsorted[PAIRS];
    ls_key_index pairs[PAIRS];
    ls_key_index scratch[PAIRS];
} math_numbers;

static void make_numbers(math_numbers *numbers)
{
    ls_rng rng = ls_rng_make(1, 1);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        numbers->a[i] = LS_FIXED_INT(ls_rng_between(&rng, -1000, 999));
        numbers->a[i] += ls_rng_unit(&rng);
        numbers->b[i] = LS_FIXED_INT(ls_rng_between(&rng, 0, 999)) + LS_FIXED_RATIO(1, 16);
        numbers->b[i] += ls_rng_unit(&rng) / 2;
        numbers->x[i] = (double)numbers->a[i] * 0x1p-32 / 100;
        numbers->y[i] = (double)numbers->b[i] * 0x1p-32 / 100 + 1.0 / 16;
    }
    for (uint32_t i = 0; i < PAIRS; i++) {
        numbers->unsorted[i] = (ls_key_index){ls_rng_below(&rng, PAIRS), i};
    }
    numbers->rng = rng;
}

/* A repetition is one call of `expression`; i runs over the numbers. */
#define DEFINE_WORK(name, expression)                                                              \
    static void name(void *user, uint64_t repetitions)                                             \
    {                                                                                              \
        math_numbers *n = user;                                                                    \
        uint64_t sum = 0;                                                                          \
        for (uint64_t r = 0; r < repetitions; r++) {                                               \
            uint32_t i = (uint32_t)(r % NUMBERS);                                                  \
            sum += (uint64_t)(expression);                                                         \
        }                                                                                          \
        bench_keep(sum);                                                                           \
    }

DEFINE_WORK(add, ls_fixed_add(n->a[i], n->b[i]))
DEFINE_WORK(multiply, ls_fixed_mul(n->a[i], n->b[i]))
DEFINE_WORK(divide, ls_fixed_div(n->a[i], n->b[i]))
DEFINE_WORK(square_root, ls_fixed_sqrt(n->b[i]))
DEFINE_WORK(sine, ls_fixed_sin((ls_angle)n->a[i]))
DEFINE_WORK(arc_tangent, ls_fixed_atan2(n->a[i], n->b[i]))
DEFINE_WORK(length, ls_vec2_length((ls_vec2){n->a[i], n->b[i]}))
DEFINE_WORK(random_next, ls_rng_next(&n->rng) + i)
DEFINE_WORK(random_below, ls_rng_below(&n->rng, 1000 + i))

/* The same in double: a repetition is one call, whose result is added up. */
#define DEFINE_DOUBLE_WORK(name, expression)                                                       \
    static void name(void *user, uint64_t repetitions)                                             \
    {                                                                                              \
        const math_numbers *n = user;                                                              \
        double sum = 0;                                                                            \
        for (uint64_t r = 0; r < repetitions; r++) {                                               \
            uint32_t i = (uint32_t)(r % NUMBERS);                                                  \
            sum += (expression);                                                                   \
        }                                                                                          \
        bench_keep(sum > 0);                                                                       \
    }

DEFINE_DOUBLE_WORK(strict_sin, ls_strict_sin(n->x[i]))
DEFINE_DOUBLE_WORK(libm_sin, sin(n->x[i]))
DEFINE_DOUBLE_WORK(strict_cos, ls_strict_cos(n->x[i]))
DEFINE_DOUBLE_WORK(libm_cos, cos(n->x[i]))
DEFINE_DOUBLE_WORK(strict_exp, ls_strict_exp(n->x[i]))
DEFINE_DOUBLE_WORK(libm_exp, exp(n->x[i]))
DEFINE_DOUBLE_WORK(strict_log, ls_strict_log(n->y[i]))
DEFINE_DOUBLE_WORK(libm_log, log(n->y[i]))
DEFINE_DOUBLE_WORK(strict_pow, ls_strict_pow(n->y[i], n->x[i]))
DEFINE_DOUBLE_WORK(libm_pow, pow(n->y[i], n->x[i]))
DEFINE_DOUBLE_WORK(strict_atan2, ls_strict_atan2(n->x[i], n->y[i]))
DEFINE_DOUBLE_WORK(libm_atan2, atan2(n->x[i], n->y[i]))

/* Each strict function beside the C library's. */
static void measure_strict(math_numbers *numbers, const bench_plan *plan, bench_report *report)
{
    static const struct {
        const char *name;
        void (*strict)(void *user, uint64_t repetitions);
        void (*libm)(void *user, uint64_t repetitions);
    } rows[] = {
        {"sin", strict_sin, libm_sin}, {"cos", strict_cos, libm_cos},
        {"exp", strict_exp, libm_exp}, {"log", strict_log, libm_log},
        {"pow", strict_pow, libm_pow}, {"atan2", strict_atan2, libm_atan2},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[LS_NAME_BYTES_MAX];
        bench_work strict = {rows[i].strict, numbers}, libm = {rows[i].libm, numbers};
        bench_times strict_times = bench_measure(plan, strict);
        bench_times libm_times = bench_measure(plan, libm);
        bench_ratios ratios = bench_compare(plan, strict, libm);
        snprintf(name, sizeof name, "strict %s", rows[i].name);
        bench_report_times(report, name, "ns", 1, &strict_times, BENCH_UNBUDGETED);
        snprintf(name, sizeof name, "libm %s", rows[i].name);
        bench_report_times(report, name, "ns", 1, &libm_times, BENCH_UNBUDGETED);
        snprintf(name, sizeof name, "strict %s against libm", rows[i].name);
        bench_report_ratios(report, name, &ratios, BENCH_LEAST(SPEED_OF_LIBM_MIN));
    }
}

static int compare_pairs(const void *a, const void *b, const void *context)
{
    (void)context;
    const ls_key_index *first = a;
    const ls_key_index *second = b;
    return (first->key > second->key) - (first->key < second->key);
}

static void sort_by_comparing(void *user, uint64_t repetitions)
{
    math_numbers *n = user;
    for (uint64_t r = 0; r < repetitions; r++) {
        memcpy(n->pairs, n->unsorted, sizeof n->pairs);
        ls_stable_sort(n->pairs, PAIRS, sizeof n->pairs[0], n->scratch, compare_pairs, NULL);
        bench_keep(n->pairs[0].index);
    }
}

static void sort_by_key(void *user, uint64_t repetitions)
{
    math_numbers *n = user;
    for (uint64_t r = 0; r < repetitions; r++) {
        memcpy(n->pairs, n->unsorted, sizeof n->pairs);
        ls_stable_sort_keys(n->pairs, PAIRS, n->scratch);
        bench_keep(n->pairs[0].index);
    }
}

ls_status bench_math(const bench_plan *plan, bench_report *report, ls_text *why)
{
    static const struct {
        const char *name;
        void (*run)(void *user, uint64_t repetitions);
        uint32_t items; /* of a repetition */
    } rows[] = {
        {"fixed add", add, 1},
        {"fixed mul", multiply, 1},
        {"fixed div", divide, 1},
        {"fixed sqrt", square_root, 1},
        {"fixed sin", sine, 1},
        {"fixed atan2", arc_tangent, 1},
        {"vec2 length", length, 1},
        {"rng next", random_next, 1},
        {"rng below", random_below, 1},
        {"stable sort by comparing, 4096 pairs: one", sort_by_comparing, PAIRS},
        {"stable sort by key, 4096 pairs: one", sort_by_key, PAIRS},
    };
    math_numbers *numbers = ls_allocate(ls_allocator_heap(), sizeof *numbers);
    if (!numbers) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    make_numbers(numbers);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench_times times = bench_measure(plan, (bench_work){rows[i].run, numbers});
        bench_report_times(report, rows[i].name, "ns", rows[i].items, &times, BENCH_UNBUDGETED);
    }
    measure_strict(numbers, plan, report);
    ls_release(ls_allocator_heap(), numbers);
    return LS_OK;
}
