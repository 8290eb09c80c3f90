/* Shims: functions of the C library that this program defines itself, so that a plug-in gets them
 * instead of the library's: the clock, the environment, the number of cores, memcpy,
 * memcmp, qsort and their kin. They behave as usual until they are told otherwise. Must never be
 * relied on by the program's own logic. Told by the perturbed process; called by plug-ins. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_SHIMS_H
#define LOCKSTEP_TOOLS_SYNCTEST_SHIMS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct synctest_shims {
    bool is_clock_made_up;   /* every call of the clock moves it on by clock_step_ns, */
    uint64_t clock_begin_ns; /* and each tick has a begin of its own */
    uint64_t clock_step_ns;
    bool is_environment_turned; /* variables that are set are not, and those that are not are "1" */
    bool are_ties_shuffled;     /* qsort leaves elements that compare equal in any order */
    bool are_copies_backward;   /* memcpy begins at the end */
    bool are_comparisons_scaled; /* memcmp and its kin return other numbers of the same sign */
    uint32_t cores;              /* processor cores that the machine says it has; 0: as it is */
} synctest_shims;

void synctest_shims_set(const synctest_shims *shims);

/* Whenever the tick is stepped the made-up clock says the same: what goes by the time alone differs
 * under another clock alone. */
void synctest_shims_begin_tick(uint32_t tick);

/* ---- The shims for files that a plug-in names without a folder: those that are there are not, and
 * those that are not are ---- */

/* From now on. Called by process_changes, in the folder that the plug-in's user is in. */
void synctest_shims_files_turn(void);

#endif
