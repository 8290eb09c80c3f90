/* Timing: how long a piece of work takes, in rounds, each beside a small reference loop that is
 * timed in the same moment: a machine that others use as well slows both down alike. The only
 * place of the benchmarks that reads a clock. Called by the sections. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_TIMING_H
#define LOCKSTEP_TESTS_LAB_BENCH_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#define BENCH_ROUNDS_MAX 101u

/* The time that 1,000 steps of the reference loop (a shift, an exclusive-or and a multiplication,
 * each waiting for the one before) took on the machine that the budgets were measured on, when it
 * was alone. */
#define BENCH_REFERENCE_NS 1362.0

typedef struct bench_plan {
    uint32_t rounds;   /* 1 .. BENCH_ROUNDS_MAX */
    uint64_t round_ns; /* each round lasts about so long */
    bool is_smoke;     /* show that everything runs; the figures mean nothing */
} bench_plan;

/* One figure's samples, one a round. */
typedef struct bench_series {
    uint32_t count;
    double values[BENCH_ROUNDS_MAX];
} bench_series;

/* Samples beyond the maximum are left out. */
void bench_series_add(bench_series *series, double value);

/* 0 without samples. */
double bench_series_median(const bench_series *series);
double bench_series_min(const bench_series *series);

/* Durations as they were, and as they would have been on the budgets' machine. */
typedef struct bench_times {
    bench_series ns;
    bench_series reference_speed_ns;
} bench_times;

/* `slowdown` as the reference gave it in this round. */
void bench_times_add(bench_times *times, double ns, double slowdown);

uint64_t bench_now_ns(void);

/* Sleeps for so long, or until a signal comes. */
void bench_pause_ns(uint64_t ns);

/* Processor time of this thread: what others do meanwhile does not count. Costs a system call, so
 * it is for work of many microseconds that cannot be cut into short rounds. */
uint64_t bench_processor_ns(void);

/* The time that reading the clock twice adds to a duration. */
uint64_t bench_clock_cost_ns(void);

/* How many times slower than BENCH_REFERENCE_NS the reference runs now; takes about 20 us. */
double bench_slowdown(void);

/* Keeps the compiler from leaving out work whose result nobody needs. */
void bench_keep(uint64_t value);

typedef struct bench_work {
    void (*run)(void *user, uint64_t repetitions);
    void *user;
} bench_work;

/* Nanoseconds of one repetition. */
bench_times bench_measure(const bench_plan *plan, bench_work work);

/* How fast one thing is for another: 1 is as fast, 0.5 takes twice as long. */
typedef struct bench_ratios {
    bench_series rounds;
    double of_bests; /* the shortest time of one against the shortest time of the other */
} bench_ratios;

/* `work` against `yardstick`, repetition for repetition, timed in turns. */
bench_ratios bench_compare(const bench_plan *plan, bench_work work, bench_work yardstick);

#endif
