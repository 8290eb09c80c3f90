#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/lab/bench/timing.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/system_clock.h"

#include <time.h>

enum {
    REFERENCE_STEPS = 1000,
    REFERENCE_TRIES = 16,
    CLOCK_TRIES = 1000,
};

/* ---- samples ---- */

void bench_series_add(bench_series *series, double value)
{
    if (series->count < BENCH_ROUNDS_MAX) {
        series->values[series->count++] = value;
    }
}

double bench_series_median(const bench_series *series)
{
    if (series->count == 0) {
        return 0;
    }
    double sorted[BENCH_ROUNDS_MAX];
    for (uint32_t i = 0; i < series->count; i++) {
        uint32_t place = i;
        for (; place > 0 && sorted[place - 1] > series->values[i]; place--) {
            sorted[place] = sorted[place - 1];
        }
        sorted[place] = series->values[i];
    }
    uint32_t middle = series->count / 2;
    return series->count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double bench_series_min(const bench_series *series)
{
    double least = series->count > 0 ? series->values[0] : 0;
    for (uint32_t i = 1; i < series->count; i++) {
        least = LS_MIN(series->values[i], least);
    }
    return least;
}

void bench_times_add(bench_times *times, double ns, double slowdown)
{
    bench_series_add(&times->ns, ns);
    bench_series_add(&times->reference_speed_ns, ns / slowdown);
}

/* ---- clock and reference ---- */

void bench_pause_ns(uint64_t ns)
{
    const struct timespec time = {.tv_sec = (time_t)(ns / LS_NS_PER_SECOND),
                                  .tv_nsec = (long)(ns % LS_NS_PER_SECOND)};
    nanosleep(&time, NULL);
}

uint64_t bench_now_ns(void)
{
    const ls_clock clock = ls_clock_system();
    return ls_clock_now_ns(&clock);
}

uint64_t bench_processor_ns(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    LS_ASSERT(failed == 0);
    return (uint64_t)now.tv_sec * LS_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t bench_clock_cost_ns(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < CLOCK_TRIES; i++) {
        uint64_t start = bench_now_ns();
        uint64_t cost = bench_now_ns() - start;
        least = LS_MIN(cost, least);
    }
    return least;
}

void bench_keep(uint64_t value)
{
    static volatile uint64_t kept;
    kept = kept + value;
}

/* Not linear: of a linear step a compiler makes one of several steps. */
static double reference_ns(void)
{
    uint64_t value = bench_now_ns();
    uint64_t start = bench_now_ns();
    for (int i = 0; i < REFERENCE_STEPS; i++) {
        value = (value ^ value >> 32) * UINT64_C(6364136223846793005);
    }
    bench_keep(value);
    return (double)(bench_now_ns() - start);
}

/* The best of a few: an interrupt in one of them says nothing about the work beside it. */
double bench_slowdown(void)
{
    double least = reference_ns();
    for (int i = 1; i < REFERENCE_TRIES; i++) {
        double ns = reference_ns();
        least = LS_MIN(ns, least);
    }
    return least / BENCH_REFERENCE_NS;
}

/* ---- work ---- */

/* At least a nanosecond, so that it can be divided by. */
static uint64_t time_work(bench_work work, uint64_t repetitions)
{
    uint64_t start = bench_processor_ns();
    work.run(work.user, repetitions);
    uint64_t taken_ns = bench_processor_ns() - start;
    return taken_ns > 0 ? taken_ns : 1;
}

/* As many repetitions as fill a round; warms the caches on the way. */
static uint64_t fit_repetitions(const bench_plan *plan, bench_work work)
{
    uint64_t repetitions = 1;
    while (time_work(work, repetitions) < plan->round_ns && repetitions < UINT64_C(1) << 40) {
        repetitions *= 2;
    }
    return repetitions;
}

bench_times bench_measure(const bench_plan *plan, bench_work work)
{
    bench_times times = {{0}, {0}};
    uint64_t repetitions = fit_repetitions(plan, work);
    for (uint32_t round = 0; round < plan->rounds; round++) {
        double slowdown = bench_slowdown();
        double ns = (double)time_work(work, repetitions) / (double)repetitions;
        bench_times_add(&times, ns, slowdown);
    }
    return times;
}

bench_ratios bench_compare(const bench_plan *plan, bench_work work, bench_work yardstick)
{
    bench_ratios ratios = {{0}, 0};
    uint64_t repetitions = fit_repetitions(plan, work);
    double best_work_ns = 0;
    double best_yardstick_ns = 0;
    for (uint32_t round = 0; round < plan->rounds; round++) {
        double yardstick_ns = (double)time_work(yardstick, repetitions);
        double work_ns = (double)time_work(work, repetitions);
        bench_series_add(&ratios.rounds, yardstick_ns / work_ns);
        best_work_ns = round == 0 || work_ns < best_work_ns ? work_ns : best_work_ns;
        best_yardstick_ns =
            round == 0 || yardstick_ns < best_yardstick_ns ? yardstick_ns : best_yardstick_ns;
    }
    ratios.of_bests = best_yardstick_ns / best_work_ns;
    return ratios;
}
