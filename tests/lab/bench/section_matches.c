#include "lockstep/tests/lab/bench/counted_memory.h"
#include "lockstep/tests/lab/bench/match_crowd.h"
#include "lockstep/tests/lab/bench/sections.h"

enum {
    COLD_MATCHES = 512,
    SMOKE_MATCHES = 8,
    WARM_TICKS = 1100, /* every ring of a match has been written to once */
    SMOKE_TICKS = 20,
    HOT_ROUND_TICKS = 200,
    COLD_ROUND_TICKS = 2,
};

#define IDLE_BUDGET_BYTES (64 << 10)

/* ---- memory ---- */

static ls_status measure_bytes(const bench_plan *plan, bench_report *report, ls_text *why)
{
    bench_counted_memory counted;
    bench_match_crowd *crowd = NULL;
    bench_counted_memory_init(&counted);
    ls_status status = bench_match_crowd_create(1, &counted.allocator, &crowd, why);
    if (status != LS_OK) {
        return status;
    }
    bench_report_number(report, "4 players, 256 B: before anybody comes", "B",
                        (double)counted.bytes, BENCH_MOST(IDLE_BUDGET_BYTES));
    bench_match_crowd_start(crowd);
    bench_match_crowd_run(crowd, plan->is_smoke ? SMOKE_TICKS : WARM_TICKS);
    bench_report_number(report, "4 players, 256 B: while they play", "B", (double)counted.bytes,
                        BENCH_UNBUDGETED);
    status = bench_match_crowd_check(crowd, why);
    bench_match_crowd_destroy(crowd);
    return status;
}

/* ---- time ---- */

typedef struct crowds {
    bench_match_crowd *hot;
    bench_match_crowd *cold;
    uint32_t cold_matches;
} crowds;

static double client_tick_ns(bench_match_crowd *crowd, uint32_t matches, uint32_t ticks)
{
    uint64_t took_ns = bench_match_crowd_run(crowd, ticks);
    return (double)took_ns / ((double)matches * ticks * BENCH_CROWD_PLAYERS);
}

static void report_rounds(const crowds *both, const bench_plan *plan, bench_report *report)
{
    bench_times hot = {{0}, {0}};
    bench_times cold = {{0}, {0}};
    bench_ratios ratios = {{0}, 0};
    uint32_t hot_ticks = plan->is_smoke ? SMOKE_TICKS : HOT_ROUND_TICKS;
    for (uint32_t round = 0; round < plan->rounds; round++) {
        double slowdown = bench_slowdown();
        double hot_ns = client_tick_ns(both->hot, 1, hot_ticks);
        double cold_ns = client_tick_ns(both->cold, both->cold_matches, COLD_ROUND_TICKS);
        bench_times_add(&hot, hot_ns, slowdown);
        bench_times_add(&cold, cold_ns, slowdown);
        bench_series_add(&ratios.rounds, cold_ns / hot_ns);
    }
    ratios.of_bests = bench_series_min(&cold.ns) / bench_series_min(&hot.ns);
    bench_report_times(report, "one match: a client and tick", "ns", 1, &hot, BENCH_UNBUDGETED);
    bench_report_times(report, "512 matches in turn: a client and tick", "ns", 1, &cold,
                       BENCH_UNBUDGETED);
    bench_report_ratios(report, "the same, times that of one match", &ratios, BENCH_UNBUDGETED);
}

static ls_status begin_crowd(uint32_t matches, const bench_plan *plan, bench_match_crowd **out,
                             ls_text *why)
{
    ls_status status = bench_match_crowd_create(matches, ls_allocator_heap(), out, why);
    if (status == LS_OK) {
        bench_match_crowd_start(*out);
        bench_match_crowd_run(*out, plan->is_smoke ? SMOKE_TICKS : WARM_TICKS);
    }
    return status;
}

static ls_status measure_time(const bench_plan *plan, bench_report *report, ls_text *why)
{
    crowds both = {.cold_matches = plan->is_smoke ? SMOKE_MATCHES : COLD_MATCHES};
    ls_status status = begin_crowd(1, plan, &both.hot, why);
    if (status == LS_OK) {
        status = begin_crowd(both.cold_matches, plan, &both.cold, why);
    }
    if (status == LS_OK) {
        report_rounds(&both, plan, report);
        status = bench_match_crowd_check(both.hot, why);
    }
    status = status == LS_OK ? bench_match_crowd_check(both.cold, why) : status;
    bench_match_crowd_destroy(both.cold);
    bench_match_crowd_destroy(both.hot);
    return status;
}

ls_status bench_matches(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = measure_bytes(plan, report, why);
    return status == LS_OK ? measure_time(plan, report, why) : status;
}
