/* Faultsim: plays the matches of a range of seeds on several processes, watches them, and reports:
 * what broke, with seed, invariant and the last events, and the totals of all matches. A seed that
 * broke is played again with its log: it does the same. A process that dies is a broken invariant
 * of the seed it was playing. Called by the main and by tests. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_FAULTSIM_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_FAULTSIM_H

#include "lockstep/common/program/console.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/tests/lab/faultsim/play.h"
#include "lockstep/tests/lab/faultsim/scenario.h"

#include <stdio.h>

enum {
    FAULTSIM_JOBS_MAX = 256
};

typedef struct faultsim_config {
    faultsim_scenario_options scenario;
    uint64_t first_seed;
    uint64_t last_seed;    /* included */
    uint32_t jobs;         /* 1 .. FAULTSIM_JOBS_MAX */
    bool is_replay;        /* of one seed, with all that happens in it */
    const char *json_path; /* NULL: none; "-": standard output */
    const char *again;     /* the options that play the same matches, for whoever wants one again */
} faultsim_config;

/* DESYNC when an invariant broke, INTERNAL when nothing was compared. */
ls_exit_code faultsim_run(const faultsim_config *config, ls_console *console);

/* ---- jobs: processes that play seeds, each every so many-th of a range, and report through shared
 * memory. A job that dies is replaced, and the seed that it died of is noted ---- */

enum {
    FAULTSIM_JOB_FAILURES_MAX = 16, /* that are kept of each job */
};

typedef struct faultsim_job_failure {
    uint64_t seed;
    check_invariant broken;
    ls_text fault;
} faultsim_job_failure;

typedef struct faultsim_job {
    ls_child_process process;
    uint64_t seed; /* being played */
    bool is_done;
    bool is_starved; /* of memory */
    uint64_t digest; /* sum over its matches */
    uint64_t failure_count;
    faultsim_job_failure failures[FAULTSIM_JOB_FAILURES_MAX];
    faultsim_play_totals totals;
} faultsim_job;

typedef struct faultsim_jobs {
    const faultsim_config *config;
    uint32_t count;
    faultsim_job *jobs; /* shared with the processes */
} faultsim_jobs;

/* From now on a match that goes round in circles ends this process: by SIGVTALRM, after far more
 * CPU time than any simulation of ours takes. */
void faultsim_jobs_limit_time(const faultsim_config *config);

/* NO_MEMORY or IO when processes cannot be had. */
ls_status faultsim_jobs_start(faultsim_jobs *jobs, const faultsim_config *config);

/* Sees to processes that have ended; true while any runs. */
bool faultsim_jobs_watch(faultsim_jobs *jobs);

/* Ends what still runs, gives the memory back. */
void faultsim_jobs_stop(faultsim_jobs *jobs);

/* ---- report: lines for people, one JSON object for programs ---- */

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
