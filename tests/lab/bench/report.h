/* Report: the benchmarks' figures, each with its budget: a table while they are made, one JSON
 * object at the end. Knows nothing of how a figure was made. Called by the sections and main. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_REPORT_H
#define LOCKSTEP_TESTS_LAB_BENCH_REPORT_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <stdio.h>

typedef enum bench_rule {
    BENCH_NO_BUDGET,
    BENCH_AT_MOST,
    BENCH_AT_LEAST,
} bench_rule;

typedef struct bench_budget {
    bench_rule rule;
    double value;
} bench_budget;

typedef struct bench_figure {
    const char *section;
    char name[LS_NAME_BYTES_MAX];
    const char *unit; /* "ns", "B/s", "" for a ratio */
    double median;
    double best; /* of all rounds; of a ratio: that of the best times */
    double held; /* what the budget is held against: the median, at the reference's speed */
    bench_budget budget;
} bench_figure;

typedef struct bench_report {
    FILE *table; /* where rows go */
    const char *section;
    double slowdown; /* when the run began */
    bool is_smoke;
    uint32_t count;
    uint32_t capacity;
    uint32_t missed; /* budgets */
    bench_figure *figures;
} bench_report;

/* The table's head. */
void bench_report_begin(bench_report *report, FILE *table, const bench_plan *plan);

/* A section's headline; `name` is a literal. */
void bench_report_section(bench_report *report, const char *name, const char *about);

/* Durations, held against a budget in the same unit: `ns_per_unit` is 1 for "ns". */
void bench_report_times(bench_report *report, const char *name, const char *unit,
                        double ns_per_unit, const bench_times *times, bench_budget budget);

void bench_report_ratios(bench_report *report, const char *name, const bench_ratios *ratios,
                         bench_budget budget);

/* One number that does not vary from round to round. */
void bench_report_number(bench_report *report, const char *name, const char *unit, double value,
                         bench_budget budget);

/* The last line, and the JSON to `json_path` ("-": standard output) unless that is NULL. */
ls_status bench_report_end(const bench_report *report, const char *json_path, ls_text *why);

void bench_report_release(bench_report *report);

#define BENCH_UNBUDGETED ((bench_budget){BENCH_NO_BUDGET, 0})
#define BENCH_MOST(value) ((bench_budget){BENCH_AT_MOST, (value)})
#define BENCH_LEAST(value) ((bench_budget){BENCH_AT_LEAST, (value)})

/* Draws how costs grow with players, state and rooms, from what a run of lockstep-bench wrote as
 * JSON: the same file gives the same pictures. From NAME.json writes NAME-players.svg,
 * NAME-state.svg and NAME-rooms.svg. IO; MALFORMED: a figure of a picture is not there. */
ls_status bench_pictures_draw(const char *json_path, ls_text *why);

#endif
