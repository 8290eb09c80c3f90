#include "lockstep/common/base/log.h"

#include "lockstep/common/base/limits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void stderr_write(void *user, ls_log_level level, const char *line)
{
    const char *program = user;
    const char *kind = level == LS_LOG_ERROR     ? "error: "
                       : level == LS_LOG_WARNING ? "warning: "
                                                 : "";
    fprintf(stderr, "%s: %s%s\n", program, kind, line);
}

ls_log ls_log_stderr(const char *program, ls_log_level level)
{
    /* The sink only reads the name back as const. */
    return (ls_log){level, stderr_write, (void *)(uintptr_t)program};
}

void ls_log_line(const ls_log *log, ls_log_level level, const char *format, ...)
{
    if (level > log->level) {
        return;
    }
    char line[2 * LS_TEXT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (level <= LS_LOG_WARNING) {
        ls_hidden_secret_apply(line);
    }
    log->write(log->user, level, line);
}

/* ---- budget: how many events of one origin a program shows: some at once, then a few a second.
 * More are counted and left out, so that no peer can fill a log or a disk with lines ---- */

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

/* ---- hidden secrets ---- */

/* Of an invite's parts (protocol/sealed/invite.h). */
enum {
    KEY_CHARACTERS = 43,
    SECRET_CHARACTERS = 22,
};

void ls_hidden_secret_apply(char *sentence)
{
    static const char fragment[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    for (char *at = sentence; *at != '\0';) {
        size_t size = strspn(at, fragment);
        bool is_behind = at > sentence && at[-1] == '#' && size >= SECRET_CHARACTERS;
        bool is_alone = size > KEY_CHARACTERS + SECRET_CHARACTERS && at[KEY_CHARACTERS] == '.' &&
                        strcspn(at + KEY_CHARACTERS + 1, ".") >= SECRET_CHARACTERS;
        if (is_behind || is_alone) {
            memcpy(at, "...", 3);
            memmove(at + 3, at + size, strlen(at + size) + 1);
            size = 3;
        }
        at += size + (at[size] != '\0');
    }
}
