/* Comparison: the figures of this run beside those that an older build wrote as JSON, and which of
 * them are worse. Figures are held against each other at the reference's speed, as budgets are, so
 * that a slow hour of the machine is no regression. Called by main. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_COMPARISON_H
#define LOCKSTEP_TESTS_LAB_BENCH_COMPARISON_H

#include "lockstep/tests/lab/bench/report.h"

typedef struct bench_comparison {
    uint32_t compared; /* figures that both runs have */
    uint32_t worse;    /* of them, by more than the tolerance */
} bench_comparison;

/* Prints a row for each figure that differs by more than `tolerance` (0.1: a tenth) either way, and
 * a sum. For a figure with a budget more or less is worse as the budget has it; for one without,
 * more of a unit is worse, and a ratio is only shown. IO, or MALFORMED: the file is no report. */
ls_status bench_comparison_print(const bench_report *report, const char *path, double tolerance,
                                 bench_comparison *out, ls_text *why);

#endif
