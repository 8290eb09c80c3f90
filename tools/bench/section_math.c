#include "lockstep/common/base/allocator.h"
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/tools/bench/sections.h"

#include <string.h>

enum {
    NUMBERS = 1024,
    PAIRS = 4096,
};

typedef struct math_numbers {
    ls_fixed a[NUMBERS]; /* -1000 to 1000 */
    ls_fixed b[NUMBERS]; /* 1/16 to 1000 */
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
    ls_release(ls_allocator_heap(), numbers);
    return LS_OK;
}
