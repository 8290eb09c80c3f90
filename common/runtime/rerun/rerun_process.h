/* Rerun process: a rerun host whose runs are helper processes: this executable once more, with the
 * plug-in freshly loaded, so that the simulation of the live matches is not touched by them and a
 * plug-in that crashes or hangs there costs a diagnosis and no match. Two helpers run at a time, at
 * the lowest priority, and more wait. Shared by all matches of one simulation in one loop. Owned
 * by programs, which give ls_rerun_process_host to their matches or session. */
#ifndef LOCKSTEP_COMMON_RUNTIME_RERUN_RERUN_PROCESS_H
#define LOCKSTEP_COMMON_RUNTIME_RERUN_RERUN_PROCESS_H

#include "lockstep/common/diagnosis/rerun_host.h"
#include "lockstep/common/runtime/event_loop.h"

LS_C_BEGIN

typedef struct ls_rerun_process_config {
    const char *executable; /* its main calls ls_rerun_helper_run; NULL: this process's own */
    const char *name; /* the plug-in's file, borrowed; NULL: the simulation of a run is built in */
} ls_rerun_process_config;

typedef struct ls_rerun_process ls_rerun_process;

/* NO_MEMORY, or BAD_ARGUMENT for a name that is too long. */
ls_status ls_rerun_process_create(const ls_rerun_process_config *config,
                                  const ls_allocator *allocator, ls_rerun_process **out);
void ls_rerun_process_destroy(ls_rerun_process *process); /* detached, or never attached; or NULL */

/* The loop that runs are started from; before that start gives IO. */
void ls_rerun_process_attach(ls_rerun_process *process, ls_event_loop *loop);

/* Ends the helpers that still run, waits for that, and forgets all runs. Before the loop is
 * destroyed, by its own thread. NULL, or one that is not attached, is left alone. */
void ls_rerun_process_detach(ls_rerun_process *process);

/* The host, as good as `process`; start gives FULL when too many runs wait. */
const ls_rerun_host *ls_rerun_process_host(const ls_rerun_process *process);

LS_C_END

#endif
