#include "lockstep/common/program/console.h"

#include "lockstep/common/system/signals.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/common/system/tty.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_DEFAULT = 100,
    ROWS_DEFAULT = 24,
    LEAVING_MS = 1000,
};

/* ---- the queue ---- */

/* False when it does not fit, and then nothing is queued. */
static bool add(ls_console *console, const char *format, ...) LS_PRINTF(2, 3);
static bool add(ls_console *console, const char *format, ...)
{
    size_t room = sizeof console->queue - console->queued;
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(console->queue + console->queued, room, format, arguments);
    va_end(arguments);
    bool fits = size >= 0 && (size_t)size < room;
    console->queued += fits ? (size_t)size : 0;
    return fits;
}

/* Up to the block's first line, then everything below it away. */
static void add_clear(ls_console *console)
{
    if (console->lines_drawn > 0 && add(console, "\033[%uA\r\033[J", console->lines_drawn)) {
        console->lines_drawn = 0;
    }
}

static bool add_entry(ls_console *console, ls_log_level level, const char *subject,
                      const char *message)
{
    const ls_log_entry entry = {.unix_ms = ls_clock_unix_ms(),
                                .level = level,
                                .program = console->program,
                                .subject = subject,
                                .message = message};
    const size_t queued = console->queued;
    const uint32_t drawn = console->lines_drawn;
    add_clear(console);
    size_t size = ls_log_format_write(console->format, &entry, console->queue + console->queued,
                                      sizeof console->queue - console->queued);
    console->queued = size > 0 ? console->queued + size : queued;
    console->lines_drawn = size > 0 ? console->lines_drawn : drawn;
    return size > 0;
}

/* The lines that the sentence counts are left out still when it does not leave. */
static void add_left_out(ls_console *console)
{
    char sentence[96];
    snprintf(sentence, sizeof sentence, "%" PRIu64 " log %s left out while nobody read the output",
             console->lines_left_out, console->lines_left_out == 1 ? "line was" : "lines were");
    if (console->lines_left_out > 0 && add_entry(console, LS_LOG_WARNING, "", sentence)) {
        console->lines_queued += console->lines_left_out;
        console->lines_left_out = 0;
    }
}

static void push(ls_console *console)
{
    if (!console->never_waits) {
        fwrite(console->queue, 1, console->queued, stderr);
        fflush(stderr);
        console->queued = 0;
        return;
    }
    size_t size = ls_nonblocking_writer_write(&console->writer, console->queue, console->queued);
    console->queued -= size;
    memmove(console->queue, console->queue + size, console->queued);
    if (console->writer.has_failed) {
        console->lines_left_out += console->lines_queued;
    }
    console->lines_queued = console->queued > 0 ? console->lines_queued : 0;
}

void ls_console_flush(ls_console *console)
{
    if (console->queued == 0) {
        return;
    }
    push(console);
    if (console->queued == 0 && !console->writer.has_failed && console->lines_left_out > 0) {
        add_left_out(console);
        push(console);
    }
}

static void write_line(void *user, ls_log_level level, const char *line)
{
    ls_console *console = user;
    ls_console_flush(console);
    if (console->queued == 0) {
        add_left_out(console);
    }
    if (add_entry(console, level, console->subject, line)) {
        console->lines_queued++;
    } else {
        console->lines_left_out++;
    }
    ls_console_flush(console);
}

/* ---- life ---- */

static void measure_terminal(ls_console *console)
{
    console->columns = COLUMNS_DEFAULT;
    console->rows = ROWS_DEFAULT;
    (void)ls_tty_measure(LS_TTY_ERRORS, &console->columns, &console->rows);
}

static bool can_redraw(ls_tty stream)
{
    const char *terminal = getenv("TERM");
    return ls_tty_is(stream) && terminal && strcmp(terminal, "dumb") != 0;
}

bool ls_console_can_redraw_output(void)
{
    return can_redraw(LS_TTY_OUTPUT);
}

bool ls_console_has_true_colour(void)
{
    const char *colours = getenv("COLORTERM");
    return colours && (strcmp(colours, "truecolor") == 0 || strcmp(colours, "24bit") == 0);
}

void ls_console_init(ls_console *console, const char *program, ls_log_level level)
{
    memset(console, 0, sizeof *console);
    console->program = program;
    console->log = (ls_log){level, write_line, console};
    console->is_live = level >= LS_LOG_INFO && can_redraw(LS_TTY_ERRORS);
    console->columns = COLUMNS_DEFAULT;
    console->rows = ROWS_DEFAULT;
}

void ls_console_never_wait(ls_console *console)
{
    ls_signals_ignore_broken_pipes();
    console->never_waits = true;
    console->writer = ls_nonblocking_writer_open(LS_TTY_ERRORS);
}

void ls_console_deinit(ls_console *console)
{
    ls_clock clock = ls_clock_system();
    uint64_t now_ns = ls_clock_now_ns(&clock);
    const uint64_t end_ns = now_ns + LEAVING_MS * LS_NS_PER_MS;
    ls_console_flush(console);
    while (console->queued > 0 && now_ns < end_ns) {
        uint64_t left_ms = (end_ns - now_ns + LS_NS_PER_MS - 1) / LS_NS_PER_MS;
        (void)ls_nonblocking_writer_wait(&console->writer, (uint32_t)left_ms);
        ls_console_flush(console);
        now_ns = ls_clock_now_ns(&clock);
    }
    if (console->never_waits) {
        ls_nonblocking_writer_close(&console->writer);
    }
}

void ls_console_set_format(ls_console *console, ls_log_format format)
{
    console->format = format;
    console->is_live = console->is_live && format == LS_LOG_FORMAT_TEXT;
}

/* ---- the live block ---- */

void ls_console_clear(ls_console *console)
{
    add_clear(console);
    ls_console_flush(console);
}

void ls_console_begin(ls_console *console)
{
    ls_console_flush(console);
    console->is_block_skipped = console->queued > 0;
    if (console->is_live && !console->is_block_skipped) {
        add_clear(console);
        measure_terminal(console); /* it may have been resized */
    }
}

void ls_console_line(ls_console *console, const char *format, ...)
{
    /* Lines that have scrolled away cannot be taken back. The cursor stands on a line of its own,
     * and a line above stays: some terminals keep what is cleared from their first line on. */
    if (!console->is_live || console->is_block_skipped ||
        console->lines_drawn + 2 >= console->rows) {
        return;
    }
    char line[LS_TEXT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (add(console, "%.*s\n", (int)console->columns - 1, line)) {
        console->lines_drawn++;
    }
}

void ls_console_end(ls_console *console)
{
    ls_console_flush(console);
}

/* ---- exit codes ---- */

ls_exit_code ls_exit_code_of(ls_status status)
{
    switch (status) {
    case LS_OK:
        return LS_EXIT_CLEAN;
    case LS_BAD_ARGUMENT:
    case LS_UNSUPPORTED:
    case LS_SCHEMA:
    case LS_PLUGIN:
    case LS_SIMULATION_MISMATCH: /* of what a file names and what was given with --sim */
    case LS_SIMULATION_VERSION_MISMATCH:
        return LS_EXIT_USAGE;
    case LS_DESYNCED:
        return LS_EXIT_DESYNC;
    default:
        return LS_EXIT_ENVIRONMENT;
    }
}

ls_exit_code ls_exit_report(const ls_log *log, ls_status status, const ls_text *why)
{
    if (status != LS_OK) {
        ls_log_line(log, LS_LOG_ERROR, "%s", why->bytes[0] ? why->bytes : ls_status_text(status));
    }
    return ls_exit_code_of(status);
}
