#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <string.h>

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
