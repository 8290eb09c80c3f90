/* Log: levelled lines for the person who runs a program. Only programs and I/O adapters log;
 * cores report events instead, so that a log decision can never change a match.
 * A log is passed in; there is no global one. */
#ifndef LOCKSTEP_COMMON_BASE_LOG_H
#define LOCKSTEP_COMMON_BASE_LOG_H

#include "lockstep/common/base/language.h"

#include <stdint.h>

LS_C_BEGIN

typedef enum ls_log_level {
    LS_LOG_ERROR,
    LS_LOG_WARNING,
    LS_LOG_INFO,
    LS_LOG_DEBUG,
} ls_log_level;

typedef struct ls_log {
    ls_log_level level; /* lines above this level are not formatted at all */
    /* Takes one line without its newline. */
    void (*write)(void *user, ls_log_level level, const char *line);
    void *user;
} ls_log;

/* Lines go to standard error as "program: line", with "error: " or "warning: " where it is one.
 * `program` is borrowed for the log's life. */
ls_log ls_log_stderr(const char *program, ls_log_level level);

void ls_log_line(const ls_log *log, ls_log_level level, const char *format, ...) LS_PRINTF(3, 4);

/* ---- budget: how many events of one origin a program shows: some at once, then a few a second.
 * More are counted and left out, so that no peer can fill a log or a disk with lines ---- */

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

/* ---- hidden secrets: people show errors to others, so a sentence loses what lets somebody into a
 * server. Called for errors and warnings, and by the command line ---- */

/* Puts "..." in the place of what stands behind the '#' of an invite, and of such a part that
 * stands alone. */
void ls_hidden_secret_apply(char *sentence);

LS_C_END

#endif
