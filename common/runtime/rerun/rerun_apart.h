/* Rerun apart: runs ticks once more in processes of their own: as they are, since addresses, seeds
 * and time are other in each process, and with the surroundings changed. It adds their results
 * to the figures of the run before. It waits, so it is called from the thread of a job. Called by
 * rerun_process. */
#ifndef LOCKSTEP_COMMON_RUNTIME_RERUN_RERUN_APART_H
#define LOCKSTEP_COMMON_RUNTIME_RERUN_RERUN_APART_H

#include "lockstep/common/diagnosis/rerun.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct ls_rerun_apart_config {
    const char *executable;
    const char *plugin; /* its file; NULL: the simulation is built in */
    uint8_t *request;   /* ls_rerun_pipe_write_request; its surroundings are written over */
    size_t request_bytes;
    uint32_t state_bytes;
    uint32_t time_max_ms; /* for all processes; what is not known by then stays unknown */
    const atomic_bool *is_stopped;
} ls_rerun_apart_config;

/* Sets `apart`; where every run on this machine gave the result of the match, `tried` and `moved`
 * as well. */
void ls_rerun_apart_run(const ls_rerun_apart_config *config, ls_rerun_figures *figures);

#endif
