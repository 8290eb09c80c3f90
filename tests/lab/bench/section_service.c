/* A service of many rooms: lockstep-server --config on two workers, its players beside it. How late
 * it closes ticks, with few rooms and with many, and whether two workers have the players of two
 * for each processor second that one has. */
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/language.h"
#include "lockstep/tests/lab/bench/sections.h"
#include "lockstep/tests/lab/bench/service_stage.h"

#include <stdio.h>

enum {
    WORKERS = 2,
    FEW_ROOMS = 10,
    MANY_ROOMS = 200,
    SHARED_ROOMS = 60, /* of each worker, where their time is compared */
    ROUNDS = 3,
    SMOKE_ROOMS = 2,
    WINDOWS_MAX = 20, /* on a machine that has no time for the players */
};

#define RATE_HZ 60.0
#define WARM_NS (4 * LS_NS_PER_SECOND) /* the first inputs, and the workers' next report */
#define WINDOW_NS (10 * LS_NS_PER_SECOND)
#define SMOKE_NS LS_NS_PER_SECOND
#define BEYOND_BUDGET_MS 2.0
#define SCALING_BUDGET 1.9
#define KEPT_UP_MIN 0.97

typedef struct outcome {
    double late_ms[2]; /* the median, and that of 99 % */
    double ticks_share;
    double cpu_ns; /* of a player and tick */
} outcome;

static ls_status measure(const bench_service_plan *service, const bench_plan *plan, outcome *out,
                         ls_text *why)
{
    bench_service_stage *stage = NULL;
    bench_service_figures before = {0};
    bench_service_figures after = {0};
    ls_status status = bench_service_stage_start(service, &stage, why);
    if (status == LS_OK) {
        bench_pause_ns(plan->is_smoke ? SMOKE_NS : WARM_NS);
        status = bench_service_stage_read(stage, &before, why);
    }
    for (uint32_t i = 0; status == LS_OK && i < WINDOWS_MAX && after.ticks <= before.ticks; i++) {
        bench_pause_ns(plan->is_smoke ? SMOKE_NS : WINDOW_NS);
        status = bench_service_stage_read(stage, &after, why);
    }
    bench_service_stage_stop(stage);
    if (status == LS_OK && after.ticks <= before.ticks) {
        return ls_fail(LS_TIMED_OUT, why, "the rooms close no ticks");
    }
    double seconds = (double)(after.taken_ns - before.taken_ns) / 1e9;
    double ticks = (double)(after.ticks - before.ticks);
    *out = (outcome){.late_ms = {bench_service_lateness_ms(&before, &after, 0.5),
                                 bench_service_lateness_ms(&before, &after, 0.99)},
                     .ticks_share = ticks / (seconds * service->rooms * RATE_HZ),
                     .cpu_ns = 1e9 * (after.cpu_s - before.cpu_s) / (ticks * BENCH_ROOM_PLAYERS)};
    return status;
}

/* ---- how late ticks are ---- */

static void report_lateness(const outcome *found, uint32_t rooms, bench_report *report)
{
    char name[LS_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%u rooms of 4: late, median of ticks", (unsigned)rooms);
    bench_report_number(report, name, "ms", found->late_ms[0], BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%u rooms of 4: late, 99 %% of ticks", (unsigned)rooms);
    bench_report_number(report, name, "ms", found->late_ms[1], BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%u rooms of 4: ticks closed of those due", (unsigned)rooms);
    bench_report_number(report, name, "", found->ticks_share, BENCH_UNBUDGETED);
}

/* A machine that is too small for so many rooms and their players says nothing about lateness. */
static ls_status compare_lateness(const bench_plan *plan, bench_report *report, ls_text *why)
{
    const uint32_t rooms[] = {FEW_ROOMS, MANY_ROOMS};
    outcome found[2];
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < 2; i++) {
        const bench_service_plan service = {.workers = WORKERS,
                                            .rooms = plan->is_smoke ? SMOKE_ROOMS : rooms[i],
                                            .gives_way = !plan->is_smoke};
        status = measure(&service, plan, &found[i], why);
        if (status == LS_OK) {
            report_lateness(&found[i], rooms[i], report);
        }
    }
    if (status == LS_OK) {
        bool is_kept_up = found[1].ticks_share >= KEPT_UP_MIN;
        bench_report_number(report, "99 % of ticks: later with the many", "ms",
                            found[1].late_ms[1] - found[0].late_ms[1],
                            is_kept_up ? BENCH_MOST(BEYOND_BUDGET_MS) : BENCH_UNBUDGETED);
    }
    return status;
}

/* ---- one worker and two ---- */

/* How many players two workers have for the processor time of one. */
static ls_status compare_workers(const bench_plan *plan, bench_report *report, ls_text *why)
{
    bench_series ratios = {0};
    bench_series of_one = {0};
    ls_status status = LS_OK;
    for (uint32_t round = 0; status == LS_OK && round < (plan->is_smoke ? 1 : ROUNDS); round++) {
        outcome found[2];
        for (uint32_t i = 0; status == LS_OK && i < 2; i++) {
            uint32_t workers = (i == round % 2) ? 1 : 2;
            uint32_t each = plan->is_smoke ? SMOKE_ROOMS : SHARED_ROOMS;
            const bench_service_plan service = {
                .workers = workers, .rooms = workers * each, .gives_way = !plan->is_smoke};
            status = measure(&service, plan, &found[workers - 1], why);
        }
        if (status == LS_OK) {
            bench_series_add(&of_one, found[0].cpu_ns);
            bench_series_add(&ratios, 2 * found[0].cpu_ns / found[1].cpu_ns);
        }
    }
    if (status == LS_OK) {
        bench_report_number(report, "one worker: a player and tick", "us",
                            bench_series_median(&of_one) / 1e3, BENCH_UNBUDGETED);
        bench_report_number(report, "two workers: players against one's", "",
                            bench_series_median(&ratios), BENCH_LEAST(SCALING_BUDGET));
    }
    return status;
}

ls_status bench_service(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = compare_lateness(plan, report, why);
    return status == LS_OK ? compare_workers(plan, report, why) : status;
}
