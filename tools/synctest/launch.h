/* Launch: starts the program again as a perturbed process, waits for it, and ends it when it stands
 * still. Called by the runner. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_LAUNCH_H
#define LOCKSTEP_TOOLS_SYNCTEST_LAUNCH_H

#include "lockstep/common/system/child_process.h"
#include "lockstep/tools/synctest/exchange.h"

typedef struct synctest_launch {
    synctest_exchange *exchange; /* what the process is told, and tells */
    int files[SYNCTEST_FILE_COUNT];
    const char *const *program; /* in the place of this one, up to NULL; NULL: this one */
    int words;                  /* a file for what it writes to standard error */
    uint32_t changes;           /* of the perturbation; nothing for the reference */
    uint32_t patience_ms;       /* without progress, before it is taken for hung */
} synctest_launch;

typedef enum synctest_launch_end {
    SYNCTEST_LAUNCH_TOLD,  /* it got to the end of its task */
    SYNCTEST_LAUNCH_ENDED, /* it is gone without having said anything */
    SYNCTEST_LAUNCH_HUNG,
} synctest_launch_end;

/* As ls_child_process_start, when no process can be started. */
ls_status synctest_launch_run(const synctest_launch *launch, synctest_launch_end *how,
                              ls_child_process_end *end);

#endif
