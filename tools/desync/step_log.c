#include "lockstep/tools/desync/step_log.h"

#include <stdlib.h>

ls_status explain_step_log_init(explain_step_log *log)
{
    *log = (explain_step_log){.list = calloc(EXPLAIN_LOG_KEPT, sizeof *log->list)};
    return log->list ? LS_OK : LS_NO_MEMORY;
}

void explain_step_log_deinit(explain_step_log *log)
{
    free(log->list);
    *log = (explain_step_log){0};
}

bool explain_step_log_append(explain_step_log *log, explain_logged_step **out)
{
    if (log->count >= EXPLAIN_LOG_MAX) {
        return false;
    }
    *out = &log->list[log->count++ % EXPLAIN_LOG_KEPT];
    return true;
}

const explain_logged_step *explain_step_log_at(const explain_step_log *log, uint64_t back)
{
    bool is_kept = back < log->count && back < EXPLAIN_LOG_KEPT;
    return is_kept ? &log->list[(log->count - 1 - back) % EXPLAIN_LOG_KEPT] : NULL;
}

bool explain_span_meets(const explain_span *span, uint64_t begin, uint64_t end)
{
    return begin < span->end && end > span->begin;
}
