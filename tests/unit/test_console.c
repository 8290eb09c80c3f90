#define _XOPEN_SOURCE 600
#define _DEFAULT_SOURCE
#include "lockstep/common/program/console.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- without a terminal ---- */

Test(console, lines_go_to_standard_error_with_their_kind, .init = cr_redirect_stderr)
{
    ls_console console;
    ls_console_init(&console, "lockstep-server", LS_LOG_INFO);
    ls_log_line(&console.log, LS_LOG_INFO, "port %d", 7777);
    ls_log_line(&console.log, LS_LOG_WARNING, "slow");
    ls_log_line(&console.log, LS_LOG_ERROR, "gone");
    ls_log_line(&console.log, LS_LOG_DEBUG, "not shown");
    cr_assert_stderr_eq_str("lockstep-server: port 7777\n"
                            "lockstep-server: warning: slow\n"
                            "lockstep-server: error: gone\n");
}

Test(console, a_subject_stands_before_each_line, .init = cr_redirect_stderr)
{
    ls_console console;
    ls_console_init(&console, "x", LS_LOG_INFO);
    snprintf(console.subject, sizeof console.subject, "match 3: ");
    ls_log_line(&console.log, LS_LOG_WARNING, "slow");
    console.subject[0] = '\0';
    ls_log_line(&console.log, LS_LOG_INFO, "fast");
    cr_assert_stderr_eq_str("x: warning: match 3: slow\nx: fast\n");
}

Test(console, a_quiet_console_shows_errors_alone, .init = cr_redirect_stderr)
{
    ls_console console;
    ls_console_init(&console, "x", LS_LOG_ERROR);
    ls_log_line(&console.log, LS_LOG_WARNING, "not shown");
    ls_log_line(&console.log, LS_LOG_ERROR, "shown");
    cr_assert_stderr_eq_str("x: error: shown\n");
}

Test(console, nothing_is_drawn_where_there_is_no_terminal, .init = cr_redirect_stderr)
{
    ls_console console;
    setenv("TERM", "xterm", 1);
    ls_console_init(&console, "x", LS_LOG_INFO);
    cr_assert_not(console.is_live);
    ls_console_begin(&console);
    ls_console_line(&console, "tick %d", 1);
    ls_console_end(&console);
    ls_console_clear(&console);
    ls_log_line(&console.log, LS_LOG_INFO, "a line");
    cr_assert_stderr_eq_str("x: a line\n");
}

/* ---- on a terminal ---- */

typedef struct terminal {
    int master;
    int kept_stderr;
} terminal;

/* Puts a terminal of `columns` and `rows` in the place of standard error. */
static terminal open_terminal_of(unsigned short columns, unsigned short rows)
{
    terminal screen = {.master = posix_openpt(O_RDWR | O_NOCTTY)};
    cr_assert_geq(screen.master, 0);
    cr_assert_eq(grantpt(screen.master), 0);
    cr_assert_eq(unlockpt(screen.master), 0);
    int slave = open(ptsname(screen.master), O_RDWR | O_NOCTTY);
    cr_assert_geq(slave, 0);
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    cr_assert_eq(ioctl(slave, TIOCSWINSZ, &size), 0);
    fflush(stderr);
    screen.kept_stderr = dup(STDERR_FILENO);
    cr_assert_geq(dup2(slave, STDERR_FILENO), 0);
    close(slave);
    return screen;
}

static terminal open_terminal(unsigned short columns)
{
    return open_terminal_of(columns, 24);
}

/* Gives standard error back; what was written to the terminal is in `text`. */
static void close_terminal(terminal *screen, char *text, size_t capacity)
{
    static const char end_mark[] = "\001";
    size_t size = 0;
    text[0] = '\0';
    fputs(end_mark, stderr);
    fflush(stderr);
    while (!strstr(text, end_mark) && size + 1 < capacity) {
        ssize_t more = read(screen->master, text + size, capacity - 1 - size);
        size += more > 0 ? (size_t)more : capacity;
        text[size < capacity ? size : 0] = '\0';
    }
    dup2(screen->kept_stderr, STDERR_FILENO);
    close(screen->kept_stderr);
    close(screen->master);
    cr_assert(size > 0 && size < capacity);
    text[size - strlen(end_mark)] = '\0';
}

Test(console, a_live_block_is_drawn_again_in_place)
{
    char text[1000];
    ls_console console;
    setenv("TERM", "xterm", 1);
    terminal screen = open_terminal(80);
    ls_console_init(&console, "x", LS_LOG_INFO);
    bool is_live = console.is_live;
    ls_console_begin(&console);
    ls_console_line(&console, "tick %d", 1);
    ls_console_line(&console, "two");
    ls_console_end(&console);
    ls_console_begin(&console);
    ls_console_line(&console, "tick %d", 2);
    ls_console_end(&console);
    close_terminal(&screen, text, sizeof text);
    cr_assert(is_live);
    cr_assert_str_eq(text, "tick 1\r\ntwo\r\n\033[2A\r\033[Jtick 2\r\n");
}

Test(console, a_log_line_stands_above_the_live_block)
{
    char text[1000];
    ls_console console;
    setenv("TERM", "xterm", 1);
    terminal screen = open_terminal(80);
    ls_console_init(&console, "x", LS_LOG_INFO);
    ls_console_begin(&console);
    ls_console_line(&console, "live");
    ls_console_end(&console);
    ls_log_line(&console.log, LS_LOG_INFO, "news");
    ls_log_line(&console.log, LS_LOG_INFO, "more");
    close_terminal(&screen, text, sizeof text);
    cr_assert_str_eq(text, "live\r\n\033[1A\r\033[Jx: news\r\nx: more\r\n");
}

Test(console, live_lines_are_cut_to_the_terminal)
{
    char text[1000];
    ls_console console;
    setenv("TERM", "xterm", 1);
    terminal screen = open_terminal(10);
    ls_console_init(&console, "x", LS_LOG_INFO);
    ls_console_begin(&console);
    ls_console_line(&console, "0123456789abcdef");
    ls_console_end(&console);
    close_terminal(&screen, text, sizeof text);
    cr_assert_str_eq(text, "012345678\r\n", "a line that wraps could not be taken back");
}

Test(console, live_lines_that_would_scroll_away_are_left_out)
{
    char text[1000];
    ls_console console;
    setenv("TERM", "xterm", 1);
    terminal screen = open_terminal_of(80, 4);
    ls_console_init(&console, "x", LS_LOG_INFO);
    for (int block = 0; block < 2; block++) {
        ls_console_begin(&console);
        for (int line = 0; line < 4; line++) {
            ls_console_line(&console, "%d", line);
        }
        ls_console_end(&console);
    }
    close_terminal(&screen, text, sizeof text);
    cr_assert_str_eq(text, "0\r\n1\r\n\033[2A\r\033[J0\r\n1\r\n");
}

Test(console, a_dumb_terminal_or_a_quiet_console_is_not_live)
{
    char text[100];
    ls_console console;
    terminal screen = open_terminal(80);
    setenv("TERM", "dumb", 1);
    ls_console_init(&console, "x", LS_LOG_INFO);
    bool is_dumb_live = console.is_live;
    unsetenv("TERM");
    ls_console_init(&console, "x", LS_LOG_INFO);
    bool is_unknown_live = console.is_live;
    setenv("TERM", "xterm", 1);
    ls_console_init(&console, "x", LS_LOG_WARNING);
    bool is_quiet_live = console.is_live;
    close_terminal(&screen, text, sizeof text);
    cr_assert(!is_dumb_live && !is_unknown_live && !is_quiet_live);
}

Test(console, a_terminal_of_unknown_width_has_a_usual_one)
{
    char text[100];
    ls_console console;
    setenv("TERM", "xterm", 1);
    terminal screen = open_terminal(0);
    ls_console_init(&console, "x", LS_LOG_INFO);
    uint32_t columns = console.columns;
    close_terminal(&screen, text, sizeof text);
    cr_assert_eq(columns, 100);
}
