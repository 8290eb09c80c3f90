#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/maths/strict_math.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ==== section_math ==== */

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

/* ==== section_hash ==== */

#define MEBIBYTE (UINT32_C(1) << 20)
#define BUDGET 0.95 /* for large states; a small one pays for the chunks as well */
#define WRITTEN_BUDGET 10

typedef struct hash_specimen {
    const char *name;
    const ls_simulation *(*simulation)(void);
    uint32_t size; /* the first parameter: bytes, bodies, units */
    bool has_budget;
    uint32_t scattered; /* of the pad: words that a step changes */
} hash_specimen;

static const hash_specimen specimens[] = {
    {"64 B", bench_pad_simulation, 64, false, 0},
    {"16 KiB", bench_pad_simulation, MEBIBYTE / 64, false, 0},
    {"1 MiB", bench_pad_simulation, MEBIBYTE, true, 0},
    {"16 MiB", bench_pad_simulation, 16 * MEBIBYTE, true, 0},
    {"64 MiB", bench_pad_simulation, 64 * MEBIBYTE, true, 0},
    {"arena, 200 bodies", ls_arena_simulation, 200, false, 0},
    {"arena, 20000 bodies", ls_arena_simulation, 20000, true, 0},
    {"units, 1500 units", ls_units_simulation, 1500, false, 0},
    {"units, 20000 units", ls_units_simulation, 20000, true, 0},
};

typedef struct bench_state {
    ls_sim_instance *instance;
    size_t bytes;
    uint8_t *saved;
} bench_state;

static void hash_hash(void *user, uint64_t repetitions)
{
    bench_state *state = user;
    for (uint64_t i = 0; i < repetitions; i++) {
        bench_keep(ls_sim_instance_hash(state->instance));
    }
}

static void hash_raw(void *user, uint64_t repetitions)
{
    const bench_state *state = user;
    for (uint64_t i = 0; i < repetitions; i++) {
        bench_keep(ls_hash_bytes(ls_sim_instance_view(state->instance), state->bytes, 0));
    }
}

/* The least that a hash of all bytes can cost: reading each word once. */
static void read_all(void *user, uint64_t repetitions)
{
    const bench_state *state = user;
    for (uint64_t i = 0; i < repetitions; i++) {
        const uint64_t *words = ls_sim_instance_view(state->instance);
        uint64_t sum = 0;
        for (size_t word = 0; word < state->bytes / sizeof *words; word++) {
            sum += words[word];
        }
        bench_keep(sum);
    }
}

static void save(void *user, uint64_t repetitions)
{
    bench_state *state = user;
    for (uint64_t i = 0; i < repetitions; i++) {
        bench_keep((uint64_t)ls_sim_instance_save(state->instance, state->saved));
    }
}

static void load(void *user, uint64_t repetitions)
{
    bench_state *state = user;
    for (uint64_t i = 0; i < repetitions; i++) {
        bench_keep((uint64_t)ls_sim_instance_load(state->instance, state->saved, state->bytes, 0));
    }
}

static void copy_out(void *user, uint64_t repetitions)
{
    bench_state *state = user;
    for (uint64_t i = 0; i < repetitions; i++) {
        memcpy(state->saved, ls_sim_instance_view(state->instance), state->bytes);
        bench_keep(state->saved[i % state->bytes]);
    }
}

static void copy_in(void *user, uint64_t repetitions)
{
    bench_state *state = user;
    for (uint64_t i = 0; i < repetitions; i++) {
        memcpy(ls_sim_instance_state(state->instance), state->saved, state->bytes);
        bench_keep(*(const uint8_t *)ls_sim_instance_view(state->instance));
    }
}

static void measure(const hash_specimen *specimen, bench_state *state, const bench_plan *plan,
                    bench_report *report)
{
    const struct {
        const char *what;
        void (*run)(void *user, uint64_t repetitions);
        void (*yardstick)(void *user, uint64_t repetitions);
        bool has_budget;
    } pairs[] = {
        {"state hash against XXH3", hash_hash, hash_raw, specimen->has_budget},
        {"state hash against reading", hash_hash, read_all, false},
        {"save against memcpy", save, copy_out, specimen->has_budget},
        {"load against memcpy", load, copy_in, specimen->has_budget},
    };
    char name[LS_NAME_BYTES_MAX];
    bench_times state_hash = bench_measure(plan, (bench_work){hash_hash, state});
    snprintf(name, sizeof name, "%s: state hash", specimen->name);
    bench_report_times(report, name, "ns", 1, &state_hash, BENCH_UNBUDGETED);
    for (uint32_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        bench_budget budget = pairs[i].has_budget ? BENCH_LEAST(BUDGET) : BENCH_UNBUDGETED;
        bench_ratios ratios = bench_compare(plan, (bench_work){pairs[i].run, state},
                                            (bench_work){pairs[i].yardstick, state});
        snprintf(name, sizeof name, "%s: %s", specimen->name, pairs[i].what);
        bench_report_ratios(report, name, &ratios, budget);
    }
}

static ls_status create_state(const hash_specimen *specimen, bench_state *state, ls_text *why)
{
    const ls_allocator *heap = ls_allocator_heap();
    ls_sim_config config = ls_sim_config_default(specimen->simulation());
    config.params[0] = specimen->size;
    if (specimen->scattered > 0) {
        config.params[2] = specimen->scattered;
    }
    ls_status status =
        ls_sim_instance_create(specimen->simulation(), &config, heap, &state->instance, why);
    if (status != LS_OK) {
        return status;
    }
    state->bytes = ls_sim_instance_state_bytes(state->instance);
    state->saved = ls_allocate(heap, state->bytes);
    if (!state->saved) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    return ls_sim_instance_save(state->instance, state->saved);
}

static void destroy_state(bench_state *state)
{
    ls_release(ls_allocator_heap(), state->saved);
    ls_sim_instance_destroy(state->instance);
}

/* ---- pages of 2 MiB ---- */

static const hash_specimen large = {"64 MiB", bench_pad_simulation, 64 * MEBIBYTE, true, 0};

static ls_status measure_pages(const bench_plan *plan, bench_report *report, ls_text *why)
{
    bench_state as_allotted = {0};
    bench_state enlarged = {0};
    ls_status status = create_state(&large, &as_allotted, why);
    LS_THEN(status, create_state(&large, &enlarged, why));
    if (status == LS_OK) {
        ls_pages_enlarge(ls_sim_instance_view(enlarged.instance), enlarged.bytes);
        bench_ratios ratios = bench_compare(plan, (bench_work){hash_hash, &enlarged},
                                            (bench_work){hash_hash, &as_allotted});
        bench_report_ratios(report, "64 MiB: state hash in pages of 2 MiB", &ratios,
                            BENCH_UNBUDGETED);
    }
    destroy_state(&as_allotted);
    destroy_state(&enlarged);
    return status;
}

/* ---- what the simulation says it has written ---- */

static const hash_specimen written = {"64 MiB", bench_pad_simulation, 64 * MEBIBYTE, true,
                                      64 * MEBIBYTE / 4096 / 100};

static void step_and_hash(void *user, uint64_t repetitions)
{
    const bench_state *state = user;
    ls_slot_input none[LS_PLAYERS_MAX] = {{0}};
    for (uint64_t i = 0; i < repetitions; i++) {
        uint32_t players = ls_sim_instance_config(state->instance)->players;
        ls_tick tick = ls_sim_instance_tick(state->instance);
        ls_sim_instance_step(state->instance, &(ls_tick_inputs){tick, players, none});
        bench_keep(ls_sim_instance_hash(state->instance));
    }
}

/* With the hash of all bytes that is due once a second, and the step, on both sides. */
static ls_status measure_written(const bench_plan *plan, bench_report *report, ls_text *why)
{
    bench_state trusted = {0};
    bench_state whole = {0};
    ls_status status = create_state(&written, &trusted, why);
    LS_THEN(status, create_state(&written, &whole, why));
    LS_THEN(status, ls_sim_instance_trust_writes(trusted.instance));
    if (status == LS_OK) {
        bench_ratios ratios = bench_compare(plan, (bench_work){step_and_hash, &trusted},
                                            (bench_work){step_and_hash, &whole});
        bench_report_ratios(report, "64 MiB, 1 % written: --trust-writes", &ratios,
                            BENCH_LEAST(WRITTEN_BUDGET));
    }
    destroy_state(&trusted);
    destroy_state(&whole);
    return status;
}

ls_status bench_hash(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < sizeof specimens / sizeof specimens[0]; i++) {
        bench_state state = {0};
        status = create_state(&specimens[i], &state, why);
        if (status == LS_OK) {
            measure(&specimens[i], &state, plan, report);
        }
        destroy_state(&state);
    }
    LS_THEN(status, measure_pages(plan, report, why));
    LS_THEN(status, measure_written(plan, report, why));
    return status;
}

/* ==== section_timestep ==== */

enum {
    FRAMES = 1024
};

/* Frames of a display of about 144 Hz, one in 256 of them a hitch of 0.3 s. */
typedef struct frame_trace {
    ls_timestep timestep;
    uint64_t frames_ns[FRAMES];
} frame_trace;

static void make_frames(frame_trace *trace)
{
    ls_rng rng = ls_rng_make(1, 1);
    for (uint32_t i = 0; i < FRAMES; i++) {
        uint64_t jitter_ns = ls_rng_below(&rng, 2 * (uint32_t)LS_NS_PER_MS);
        bool is_hitch = i % 256 == 255;
        trace->frames_ns[i] = is_hitch ? 300 * LS_NS_PER_MS : 6 * LS_NS_PER_MS + jitter_ns;
    }
}

static void advance(void *user, uint64_t repetitions)
{
    frame_trace *trace = user;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < repetitions; i++) {
        sum += ls_timestep_advance(&trace->timestep, trace->frames_ns[i % FRAMES]).step_count;
    }
    bench_keep(sum);
}

ls_status bench_timestep(const bench_plan *plan, bench_report *report, ls_text *why)
{
    (void)why;
    frame_trace trace;
    make_frames(&trace);
    for (int strategy = 0; strategy < LS_TIMESTEP_STRATEGY_COUNT; strategy++) {
        ls_timestep_config config = ls_timestep_config_default(60);
        config.strategy = (ls_timestep_strategy)strategy;
        config.steps_max = 6;
        trace.timestep = ls_timestep_make(&config);
        bench_times times = bench_measure(plan, (bench_work){advance, &trace});
        bench_report_times(report, ls_timestep_strategy_name(config.strategy), "ns", 1, &times,
                           BENCH_UNBUDGETED);
    }
    return LS_OK;
}
