/* Launch: starts the program again as a perturbed process, with what only exec can change: address
 * layout, environment, how malloc fills memory. Waits for it, and ends it when it stands still.
 * Called by the runner. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_LAUNCH_H
#define LOCKSTEP_TOOLS_SYNCTEST_LAUNCH_H

#include "lockstep/tools/synctest/exchange.h"

typedef struct synctest_launch {
    synctest_exchange *exchange; /* what the process is told, and tells */
    int files[SYNCTEST_FILE_COUNT];
    int words;            /* a file for what it writes to standard error */
    uint32_t changes;     /* of the perturbation; nothing for the reference */
    uint32_t patience_ms; /* without progress, before it is taken for hung */
} synctest_launch;

typedef enum synctest_launch_end {
    SYNCTEST_LAUNCH_TOLD,  /* it got to the end of its task */
    SYNCTEST_LAUNCH_ENDED, /* it is gone without having said anything */
    SYNCTEST_LAUNCH_HUNG,
} synctest_launch_end;

/* IO when no process can be started. `wait_status` is what waitpid gave, `worked_ns` the time for
 * which the process had a processor. */
ls_status synctest_launch_run(const synctest_launch *launch, synctest_launch_end *end,
                              int *wait_status, uint64_t *worked_ns);

/* Whether this system lets a process have the same addresses every time. */
bool synctest_launch_can_fix_addresses(void);

#endif
