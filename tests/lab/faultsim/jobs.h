/* Jobs: processes that play seeds, each every so many-th of a range, and tell what came of it
 * through shared memory. One that dies is replaced; the seed it died of is noted. Prints nothing.
 * Called by faultsim. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_JOBS_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_JOBS_H

#include "lockstep/common/system/child_process.h"
#include "lockstep/tests/lab/faultsim/faultsim.h"
#include "lockstep/tests/lab/faultsim/play.h"

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

#endif
