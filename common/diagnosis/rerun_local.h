/* Rerun local: a rerun host that simulates ticks again in the caller's own thread, some 600 steps a
 * second beside the match, one run after another. For virtual time, tests, and games that embed a
 * match whose simulation has no state outside its state block: what it leaves in statics, the live
 * match finds there. Each run is allocated when it starts, and released with its ticket. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_RERUN_LOCAL_H
#define LOCKSTEP_COMMON_DIAGNOSIS_RERUN_LOCAL_H

#include "lockstep/common/diagnosis/rerun_host.h"

LS_C_BEGIN

typedef struct ls_rerun_local ls_rerun_local;

/* NO_MEMORY. The allocator must not be one that a match in mid-tick may not use. */
ls_status ls_rerun_local_create(const ls_allocator *allocator, ls_rerun_local **out);

/* Every ticket has been released. Takes NULL. */
void ls_rerun_local_destroy(ls_rerun_local *local);

/* For the config of a match or a session; good as long as `local`. One host serves several of them
 * when their clocks are the same. */
const ls_rerun_host *ls_rerun_local_host(ls_rerun_local *local);

LS_C_END

#endif
