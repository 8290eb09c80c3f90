/* Report: what a fault simulation says at its end: lines for people, one JSON object for programs.
 * Called by faultsim. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_REPORT_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_REPORT_H

#include "lockstep/tests/lab/faultsim/faultsim.h"
#include "lockstep/tests/lab/faultsim/jobs.h"

#include <stdio.h>

typedef struct faultsim_report {
    const faultsim_config *config;
    uint32_t jobs;
    uint64_t elapsed_ns;
    uint64_t cpu_ns; /* that the processes used: what others leave of the machine is not ours */
    uint64_t digest;
    uint64_t failure_count;
    uint32_t failures_kept;
    faultsim_job_failure failures[FAULTSIM_JOB_FAILURES_MAX]; /* of the lowest seeds */
    faultsim_play_totals totals;
} faultsim_report;

void faultsim_report_print(FILE *file, const faultsim_report *report);

/* IO, with the path and the reason in `why`. */
ls_status faultsim_report_write(const faultsim_report *report, const char *path, ls_text *why);

#endif
