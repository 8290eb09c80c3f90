/* Jobs: processes that play seeds, each every so many-th of a range, and tell what came of it
 * through shared memory. One that dies is replaced; the seed it died of is noted. Prints nothing.
 * Called by faultsim. */
#ifndef LOCKSTEP_TOOLS_FAULTSIM_JOBS_H
#define LOCKSTEP_TOOLS_FAULTSIM_JOBS_H

#include "lockstep/tools/faultsim/faultsim.h"
#include "lockstep/tools/faultsim/play.h"

#include <sys/types.h>

enum {
    LS_JOB_FAILURES_MAX = 16, /* that are kept of each job */
};

typedef struct ls_job_failure {
    uint64_t seed;
    check_invariant broken;
    ls_text fault;
} ls_job_failure;

typedef struct ls_job {
    pid_t process; /* 0: not running */
    uint64_t seed; /* being played */
    bool is_done;
    bool is_starved; /* of memory */
    uint64_t digest; /* sum over its matches */
    uint64_t failure_count;
    ls_job_failure failures[LS_JOB_FAILURES_MAX];
    ls_play_totals totals;
} ls_job;

typedef struct ls_jobs {
    const ls_faultsim_config *config;
    uint32_t count;
    ls_job *jobs; /* shared with the processes */
} ls_jobs;

/* From now on a match that goes round in circles ends this process: by SIGVTALRM, after far more
 * CPU time than any simulation of ours takes. */
void ls_jobs_limit_time(const ls_faultsim_config *config);

/* NO_MEMORY or IO when processes cannot be had. */
ls_status ls_jobs_start(ls_jobs *jobs, const ls_faultsim_config *config);

/* Sees to processes that have ended; true while any runs. */
bool ls_jobs_watch(ls_jobs *jobs);

/* Ends what still runs, gives the memory back. */
void ls_jobs_stop(ls_jobs *jobs);

#endif
