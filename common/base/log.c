#include "lockstep/common/base/log.h"

#include "lockstep/common/base/hidden_secret.h"
#include "lockstep/common/base/limits.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

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
