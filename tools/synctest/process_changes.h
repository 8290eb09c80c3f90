/* Process changes: what a system must let a process have otherwise
 * (LS_ABILITY_PERTURBED_PROCESSES): its addresses, environment and cores before it starts, then
 * what the C library says and does. Where it does not let it, nothing is changed. Called by runner,
 * and by the perturbed process. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_PROCESS_CHANGES_H
#define LOCKSTEP_TOOLS_SYNCTEST_PROCESS_CHANGES_H

#include "lockstep/common/system/child_process.h"
#include "lockstep/tools/synctest/exchange.h"

/* The program is started again as a perturbed process with this. */
typedef struct synctest_launch {
    synctest_exchange *exchange; /* what the process is told, and tells */
    int files[SYNCTEST_FILE_COUNT];
    const char *const *program; /* in the place of this one, up to NULL; NULL: this one */
    int words;                  /* a file for what it writes to standard error */
    uint32_t changes;           /* of the perturbation; nothing for the reference */
    uint32_t patience_ms;       /* without progress, before it is taken for hung */
} synctest_launch;

/* Fills in how the process begins; it is borrowed by the thread until its next call. */
void synctest_process_changes_prepare(const synctest_launch *launch,
                                      ls_child_process_config *config);

/* In the process, before the simulation is loaded. */
void synctest_process_changes_enter(uint32_t changes, uint32_t variant);

/* Right behind that: the simulation's memory from the heap holds noise where it was not set, or
 * zeroes. */
void synctest_process_changes_fill_heap(uint32_t changes, uint32_t variant);

/* Before the tick is stepped, each time. */
void synctest_process_changes_begin_tick(ls_tick tick);

/* Whether this system lets a process have the same addresses every time. */
bool synctest_process_changes_can_fix_addresses(void);

/* Whether the C library has functions for processors with FMA, and this is one. */
bool synctest_process_changes_can_change_cpu(void);

/* ---- Foreign locale: a locale that writes a decimal comma, made here, since the machine that
 * tests has often none installed ---- */

/* Numbers of this process have a decimal comma from now on, where the C library is GNU's and files
 * can be written; else nothing is changed. */
void synctest_foreign_locale_enter(void);

#endif
