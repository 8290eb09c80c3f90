#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/loopback/hosted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void open_hosted(void)
{
    hosted_open();
    setenv("TERM", "xterm", 1);
}

TestSuite(programs_terminal, .init = open_hosted, .fini = hosted_close);

/* ---- what a terminal makes of it ---- */

enum {
    ROWS_MAX = 256,
    COLUMNS_MAX = 128
};

typedef struct screen {
    char rows[ROWS_MAX][COLUMNS_MAX + 1];
    uint32_t columns;
    uint32_t row;
    uint32_t column;
} screen;

static void erase_below(screen *shown)
{
    memset(&shown->rows[shown->row][shown->column], 0, COLUMNS_MAX - shown->column);
    for (uint32_t row = shown->row + 1; row < ROWS_MAX; row++) {
        memset(shown->rows[row], 0, sizeof shown->rows[row]);
    }
}

static void put(screen *shown, char byte)
{
    if (shown->column == shown->columns) {
        shown->row++; /* too long a line goes on below */
        shown->column = 0;
    }
    cr_assert_lt(shown->row, ROWS_MAX);
    shown->rows[shown->row][shown->column++] = byte;
}

/* The two sequences that a console uses: up, and erase all below. Returns what follows. */
static const char *read_escape(screen *shown, const char *next)
{
    unsigned rows = 0;
    int size = 0;
    char kind = 0;
    if (sscanf(next, "\033[%u%c%n", &rows, &kind, &size) == 2 && kind == 'A') {
        shown->row -= rows < shown->row ? rows : shown->row;
        return next + size;
    }
    cr_assert(strncmp(next, "\033[J", 3) == 0, "an unknown sequence: %.10s", next + 1);
    erase_below(shown);
    return next + 3;
}

static const screen *show(const char *text, const char *end)
{
    static screen shown;
    memset(&shown, 0, sizeof shown);
    shown.columns = hosted.terminal_columns;
    while (text < end) {
        if (*text == '\033') {
            text = read_escape(&shown, text);
            continue;
        }
        if (*text == '\r') {
            shown.column = 0;
        } else if (*text == '\n') {
            cr_assert_lt(++shown.row, ROWS_MAX);
        } else {
            put(&shown, *text);
        }
        text++;
    }
    return &shown;
}

static bool is_shown(const screen *shown, const char *words)
{
    for (uint32_t row = 0; row < ROWS_MAX; row++) {
        if (strstr(shown->rows[row], words)) {
            return true;
        }
    }
    return false;
}

/* The screen just before the live block was taken off for the last time. */
static const screen *show_last_block(const char *text)
{
    const char *end = NULL;
    for (const char *next = text; (next = strstr(next, "\033[")); next++) {
        end = next[2] == 'J' ? end : next;
    }
    cr_assert(end, "no live block in: %s", text);
    return show(text, end);
}

static void expect_shown(const screen *shown, const char *const *words)
{
    for (; *words; words++) {
        cr_expect(is_shown(shown, *words), "\"%s\" is not on the screen", *words);
    }
}

/* ---- matches ---- */

/* A terminal that nobody reads stops who writes to it. */
static void watch_to_the_end(void)
{
    uint64_t end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;
    while (!ls_process_has_ended(&hosted.server) && ls_process_now_ms() < end_ms) {
        ls_process_errors(&hosted.server);
        for (uint32_t i = 0; i < hosted.client_count; i++) {
            ls_process_errors(&hosted.clients[i]);
        }
        ls_process_pause();
    }
}

static void play(const char *level)
{
    hosted_serve(ARENA("2", "90"), level);
    hosted_join("--bot", "1", "--name", "ann");
    hosted_join("--bot", "2", "--name", "bob");
    watch_to_the_end();
    hosted_expect_perfect(90);
}

Test(programs_terminal, progress_is_live_on_a_terminal)
{
    hosted.terminal_columns = 120;
    play("--verbose");
    const char *text = ls_process_errors(&hosted.server);
    expect_shown(show_last_block(text), LS_ARGUMENTS("tick ", "  ann  ", "  bob  ", "rtt ", " ms",
                                                     "slack ", "behind ", "late ", "agrees to "));
    cr_expect(strstr(text, "  running"));
    text = ls_process_errors(&hosted.clients[0]);
    expect_shown(show_last_block(text),
                 LS_ARGUMENTS("tick ", "rtt ", "slack ", "stalled ", "desyncs 0"));
    cr_expect(strstr(text, "  playing"));
}

Test(programs_terminal, the_log_alone_is_left_in_the_end)
{
    hosted.terminal_columns = 120;
    play("--verbose");
    const char *text = ls_process_errors(&hosted.server);
    cr_assert(is_shown(show_last_block(text), "agrees to "));
    const screen *shown = show(text, text + strlen(text));
    cr_expect(is_shown(shown, "lockstep-server: 90 ticks, 182 hashes compared, 0 differences"));
    for (uint32_t row = 0; row < ROWS_MAX && shown->rows[row][0] != '\0'; row++) {
        cr_expect(strncmp(shown->rows[row], "lockstep-server: ", 17) == 0, "left over: %s",
                  shown->rows[row]);
    }
}

/* A line that went on below would not be taken off. */
Test(programs_terminal, live_lines_fit_a_narrow_terminal)
{
    hosted.terminal_columns = 40;
    play("--verbose");
    const char *text = ls_process_errors(&hosted.server);
    cr_assert(is_shown(show_last_block(text), "  ann              "));
    const screen *shown = show(text, text + strlen(text));
    cr_expect(!is_shown(shown, "running"));
    cr_expect(!is_shown(shown, "slack"));
    cr_expect(!is_shown(shown, "agrees"));
}

static void expect_no_escapes(void)
{
    ls_process *const all[] = {&hosted.server, &hosted.clients[0], &hosted.clients[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        hosted_expect_none(all[i], "\033", "agrees to");
    }
}

Test(programs_terminal, without_a_terminal_there_are_lines_only)
{
    play("--verbose");
    expect_no_escapes();
    hosted_expect_all(&hosted.server, "0 differences");
}

Test(programs_terminal, a_terminal_that_cannot_redraw_gets_lines_only)
{
    hosted.terminal_columns = 120;
    setenv("TERM", "dumb", 1);
    play("--verbose");
    expect_no_escapes();
    unsetenv("TERM");
    hosted_reopen();
    hosted.terminal_columns = 120;
    play("--verbose");
    expect_no_escapes();
}

Test(programs_terminal, quiet_is_quiet_on_a_terminal_too)
{
    hosted.terminal_columns = 120;
    play("--quiet");
    cr_expect_str_empty(ls_process_errors(&hosted.server));
}

Test(programs_terminal, a_desync_shows_in_the_live_block)
{
    hosted.terminal_columns = 120;
    hosted_serve(ARENA("1", "90"));
    hosted_join("--bot", "1", "--flip-bit", "10:64");
    watch_to_the_end();
    hosted_expect_exit(&hosted.server, 3);
    expect_shown(show_last_block(ls_process_errors(&hosted.server)), LS_ARGUMENTS("DESYNC at 10"));
}
