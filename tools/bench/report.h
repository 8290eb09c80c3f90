/* Report: the benchmarks' figures, each with its budget: a table while they are made, one JSON
 * object at the end. Knows nothing of how a figure was made. Called by the sections and main. */
#ifndef LOCKSTEP_TOOLS_BENCH_REPORT_H
#define LOCKSTEP_TOOLS_BENCH_REPORT_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/tools/bench/timing.h"

#include <stdio.h>

#define LS_BENCH_FIGURES_MAX 320u

typedef enum ls_bench_rule {
    LS_BENCH_NO_BUDGET,
    LS_BENCH_AT_MOST,
    LS_BENCH_AT_LEAST,
} ls_bench_rule;

typedef struct ls_bench_budget {
    ls_bench_rule rule;
    double value;
} ls_bench_budget;

typedef struct ls_bench_figure {
    const char *section;
    char name[LS_NAME_BYTES_MAX];
    const char *unit; /* "ns", "B/s", "" for a ratio */
    double median;
    double best; /* of all rounds; of a ratio: that of the best times */
    double held; /* what the budget is held against: the median, at the reference's speed */
    ls_bench_budget budget;
} ls_bench_figure;

typedef struct ls_bench_report {
    FILE *table; /* where rows go */
    const char *section;
    double slowdown; /* when the run began */
    bool is_smoke;
    uint32_t count;
    uint32_t missed; /* budgets */
    ls_bench_figure figures[LS_BENCH_FIGURES_MAX];
} ls_bench_report;

/* The table's head. */
void ls_bench_report_begin(ls_bench_report *report, FILE *table, const ls_bench_plan *plan);

/* A section's headline; `name` is a literal. */
void ls_bench_report_section(ls_bench_report *report, const char *name, const char *about);

/* Durations, held against a budget in the same unit: `ns_per_unit` is 1 for "ns". */
void ls_bench_report_times(ls_bench_report *report, const char *name, const char *unit,
                           double ns_per_unit, const ls_bench_times *times, ls_bench_budget budget);

void ls_bench_report_ratios(ls_bench_report *report, const char *name,
                            const ls_bench_ratios *ratios, ls_bench_budget budget);

/* One number that does not vary from round to round. */
void ls_bench_report_number(ls_bench_report *report, const char *name, const char *unit,
                            double value, ls_bench_budget budget);

/* The last line, and the JSON to `json_path` ("-": standard output) unless that is NULL. */
ls_status ls_bench_report_end(const ls_bench_report *report, const char *json_path, ls_text *why);

/* "ok", "MISSED" or "". */
const char *ls_bench_verdict(const ls_bench_figure *figure);

#define LS_BENCH_UNBUDGETED ((ls_bench_budget){LS_BENCH_NO_BUDGET, 0})
#define LS_BENCH_MOST(value) ((ls_bench_budget){LS_BENCH_AT_MOST, (value)})
#define LS_BENCH_LEAST(value) ((ls_bench_budget){LS_BENCH_AT_LEAST, (value)})

#endif
