/* Log budget: how many events of one origin a program shows: some at once, then a few a second.
 * More are counted and left out, so that no peer can fill a log or a disk with lines. */
#ifndef LOCKSTEP_COMMON_BASE_LOG_BUDGET_H
#define LOCKSTEP_COMMON_BASE_LOG_BUDGET_H

#include "lockstep/common/base/log.h"

#include <stdint.h>

#define LS_LOG_BUDGET_EVENTS 40u                    /* at once */
#define LS_LOG_BUDGET_REFILL_NS UINT64_C(500000000) /* until there is one more */

/* All zero: nothing was shown yet. */
typedef struct ls_log_budget {
    uint32_t spent;
    uint32_t hidden; /* since the last one that was shown */
    uint64_t refilled_ns;
} ls_log_budget;

/* Of an event that is about to be logged. When it is one too many the log is mute, until the caller
 * puts back what is returned. When it is the first one again, the log says how many were not. */
ls_log ls_log_budget_begin(ls_log_budget *budget, ls_log *log, uint64_t now_ns);

#endif
