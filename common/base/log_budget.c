#include "lockstep/common/base/log_budget.h"

#include <inttypes.h>

static void drop_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

static void refill(ls_log_budget *budget, uint64_t now_ns)
{
    uint64_t count = (now_ns - budget->refilled_ns) / LS_LOG_BUDGET_REFILL_NS;
    budget->spent -= count < budget->spent ? (uint32_t)count : budget->spent;
    budget->refilled_ns += count * LS_LOG_BUDGET_REFILL_NS;
}

ls_log ls_log_budget_begin(ls_log_budget *budget, ls_log *log, uint64_t now_ns)
{
    const ls_log before = *log;
    refill(budget, now_ns);
    if (budget->spent >= LS_LOG_BUDGET_EVENTS) {
        budget->hidden++;
        log->write = drop_line;
        return before;
    }
    budget->spent++;
    if (budget->hidden > 0) {
        ls_log_line(log, LS_LOG_WARNING, "%" PRIu32 " events of the same origin were not shown",
                    budget->hidden);
        budget->hidden = 0;
    }
    return before;
}
