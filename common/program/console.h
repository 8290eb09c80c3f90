/* Console: what a program shows while it runs: log lines, and on a terminal a live block of lines
 * below them that is drawn again in place. Writes to standard error, so that standard output stays
 * free for the summary. Called by mains and their drivers, by one thread. */
#ifndef LOCKSTEP_COMMON_PROGRAM_CONSOLE_H
#define LOCKSTEP_COMMON_PROGRAM_CONSOLE_H

#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/log_format.h"
#include "lockstep/common/system/output.h"

#include <stdbool.h>
#include <stdint.h>

#define LS_CONSOLE_QUEUE_BYTES_MAX (64u << 10)

typedef struct ls_console {
    const char *program;  /* borrowed */
    ls_log_format format; /* text at first */
    ls_log log;           /* writes through the console */
    bool is_live;         /* standard error is a terminal and lines may be drawn again */
    uint32_t columns;     /* of the terminal; longer live lines are cut */
    uint32_t rows;        /* likewise; live lines beyond them are left out */
    uint32_t lines_drawn;
    char subject[LS_NAME_BYTES_MAX]; /* stands before each log line's text; empty at first */

    bool never_waits;
    bool is_block_skipped; /* the terminal has not taken what came before the block */
    ls_nonblocking_writer writer;
    uint64_t lines_left_out; /* of the log, and not said yet */
    uint64_t lines_queued;   /* log lines that would be left out with the queue */
    size_t queued;           /* bytes that have not left */
    char queue[LS_CONSOLE_QUEUE_BYTES_MAX];
} ls_console;

/* `console` must stay where it is while its log is used. */
void ls_console_init(ls_console *console, const char *program, ls_log_level level);

/* For a program that plays a match: from now on no line waits for whoever reads standard error, and
 * no reader that ends, of whatever the program writes, ends the program: it ignores SIGPIPE. The
 * console keeps up to LS_CONSOLE_QUEUE_BYTES_MAX that are not read. It counts log lines beyond
 * them, says their number once the reader goes on, and does not draw the live block meanwhile. */
void ls_console_never_wait(ls_console *console);

/* Writes what was kept, as far as it is read now. To be called from time to time. */
void ls_console_flush(ls_console *console);

/* At the program's end: the reader has a second for what was kept. */
void ls_console_deinit(ls_console *console);

/* Of each log line from now on; a live block is drawn beside text alone. */
void ls_console_set_format(ls_console *console, ls_log_format format);

/* One line of the live block: begin, then lines, then end. Nothing is drawn when not live. */
void ls_console_begin(ls_console *console);
void ls_console_line(ls_console *console, const char *format, ...) LS_PRINTF(2, 3);
void ls_console_end(ls_console *console);

/* Whether standard output is a terminal on which a picture can be drawn again in place. */
bool ls_console_can_redraw_output(void);

/* Whether it has more than 256 colours, as such terminals say. */
bool ls_console_has_true_colour(void);

/* Takes the live block off the terminal. */
void ls_console_clear(ls_console *console);

/* ---- exit codes: what every Lockstep program says to its shell. Part of the contract with
 * scripts: a number never changes its meaning. Called by mains and their drivers ---- */

typedef enum ls_exit_code {
    LS_EXIT_CLEAN = 0,
    LS_EXIT_ENVIRONMENT = 1, /* network, files, memory, or the other side refused */
    LS_EXIT_USAGE = 2,       /* the command line cannot be right */
    LS_EXIT_DESYNC = 3,      /* a difference was found */
    LS_EXIT_INTERNAL = 4,
} ls_exit_code;

/* The exit code of a program that ended with this status. A host that cannot be found is the
 * environment's fault: the same line may work in a minute. */
ls_exit_code ls_exit_code_of(ls_status status);

/* The same; unless it is OK the log says why. */
ls_exit_code ls_exit_report(const ls_log *log, ls_status status, const ls_text *why);

#endif
