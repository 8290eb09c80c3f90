#define _DEFAULT_SOURCE
#include "lockstep/common/program/console.h"

#include "lockstep/common/base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    COLUMNS_DEFAULT = 100,
    ROWS_DEFAULT = 24
};

static void write_line(void *user, ls_log_level level, const char *line)
{
    ls_console *console = user;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    const ls_log_entry entry = {.unix_ms = (uint64_t)now.tv_sec * 1000 +
                                           (uint64_t)now.tv_nsec / LS_NS_PER_MS,
                                .level = level,
                                .program = console->program,
                                .subject = console->subject,
                                .message = line};
    ls_console_clear(console);
    ls_log_format_write(console->format, &entry, stderr);
}

static void measure_terminal(ls_console *console)
{
    struct winsize size;
    bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
    console->columns = is_known && size.ws_col > 0 ? size.ws_col : COLUMNS_DEFAULT;
    console->rows = is_known && size.ws_row > 0 ? size.ws_row : ROWS_DEFAULT;
}

static bool can_redraw(int descriptor)
{
    const char *terminal = getenv("TERM");
    return isatty(descriptor) && terminal && strcmp(terminal, "dumb") != 0;
}

bool ls_console_can_redraw_output(void)
{
    return can_redraw(STDOUT_FILENO);
}

void ls_console_init(ls_console *console, const char *program, ls_log_level level)
{
    memset(console, 0, sizeof *console);
    console->program = program;
    console->log = (ls_log){level, write_line, console};
    console->is_live = level >= LS_LOG_INFO && can_redraw(STDERR_FILENO);
    console->columns = COLUMNS_DEFAULT;
    console->rows = ROWS_DEFAULT;
}

void ls_console_set_format(ls_console *console, ls_log_format format)
{
    console->format = format;
    console->is_live = console->is_live && format == LS_LOG_FORMAT_TEXT;
}

void ls_console_clear(ls_console *console)
{
    if (console->lines_drawn > 0) {
        /* Up to the block's first line, then everything below it away. */
        fprintf(stderr, "\033[%uA\r\033[J", console->lines_drawn);
        console->lines_drawn = 0;
        fflush(stderr);
    }
}

void ls_console_begin(ls_console *console)
{
    ls_console_clear(console);
    if (console->is_live) {
        measure_terminal(console); /* it may have been resized */
    }
}

void ls_console_line(ls_console *console, const char *format, ...)
{
    /* Lines that have scrolled away cannot be taken back. The cursor stands on a line of its own,
     * and a line above stays: some terminals keep what is cleared from their first line on. */
    if (!console->is_live || console->lines_drawn + 2 >= console->rows) {
        return;
    }
    char line[LS_TEXT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%.*s\n", (int)console->columns - 1, line);
    console->lines_drawn++;
}

void ls_console_end(ls_console *console)
{
    if (console->is_live) {
        fflush(stderr);
    }
}
