/* Rerun process: a rerun host whose runs are helper processes: this executable once more, with the
 * plug-in freshly loaded, so that the simulation of the live matches is not touched by them and a
 * plug-in that crashes or hangs there costs a diagnosis and no match. Two helpers run at a time, at
 * the lowest priority, and more wait. Shared by all matches of one configuration in one loop. Owned
 * by programs, which give ls_rerun_process_host to their matches or session. */
#ifndef LOCKSTEP_PROTOCOL_LOOP_RERUN_PROCESS_H
#define LOCKSTEP_PROTOCOL_LOOP_RERUN_PROCESS_H

#include "lockstep/common/diagnosis/rerun_host.h"
#include "lockstep/protocol/loop/event_loop.h"

LS_C_BEGIN

typedef struct ls_rerun_process_config {
    const char *executable; /* its main calls ls_rerun_helper_run; NULL: this process's own */
    const char *name;       /* as ls_simulation_load takes it: a built-in or a plug-in's file */
    const ls_simulation *simulation; /* as it was loaded; borrowed */
    ls_sim_config sim;
    uint32_t time_max_ms; /* of one run, 1 or more */
} ls_rerun_process_config;

typedef struct ls_rerun_process ls_rerun_process;

/* NO_MEMORY, or BAD_ARGUMENT for a name that is too long. Starts nothing yet. */
ls_status ls_rerun_process_create(ls_event_loop *loop, const ls_rerun_process_config *config,
                                  const ls_allocator *allocator, ls_rerun_process **out);

/* Ends helpers that still run, and waits for that. Before the loop is destroyed. NULL is allowed.
 */
void ls_rerun_process_destroy(ls_rerun_process *process);

/* The host; start gives FULL when too many runs wait. */
ls_rerun_host ls_rerun_process_host(ls_rerun_process *process);

LS_C_END

#endif
