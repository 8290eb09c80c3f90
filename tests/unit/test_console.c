#define _GNU_SOURCE
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/html.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* ==== console ==== */

static ls_console console;

/* ---- without a terminal ---- */

Test(console, lines_go_to_standard_error_with_their_kind, .init = cr_redirect_stderr)
{
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
    ls_console_init(&console, "x", LS_LOG_INFO);
    snprintf(console.subject, sizeof console.subject, "match 3: ");
    ls_log_line(&console.log, LS_LOG_WARNING, "slow");
    console.subject[0] = '\0';
    ls_log_line(&console.log, LS_LOG_INFO, "fast");
    cr_assert_stderr_eq_str("x: warning: match 3: slow\nx: fast\n");
}

Test(console, a_quiet_console_shows_errors_alone, .init = cr_redirect_stderr)
{
    ls_console_init(&console, "x", LS_LOG_ERROR);
    ls_log_line(&console.log, LS_LOG_WARNING, "not shown");
    ls_log_line(&console.log, LS_LOG_ERROR, "shown");
    cr_assert_stderr_eq_str("x: error: shown\n");
}

Test(console, nothing_is_drawn_where_there_is_no_terminal, .init = cr_redirect_stderr)
{
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

static struct terminal {
    int master;
    int kept_stderr;
} screen;

static char text[1000]; /* was written to the terminal when it is closed */

/* Puts a terminal of `columns` and `rows` in the place of standard error. */
static void open_terminal(unsigned short columns, unsigned short rows)
{
    screen.master = posix_openpt(O_RDWR | O_NOCTTY);
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
}

/* A live console on a terminal of this size. */
static void open_console(unsigned short columns, unsigned short rows)
{
    setenv("TERM", "xterm", 1);
    open_terminal(columns, rows);
    ls_console_init(&console, "x", LS_LOG_INFO);
}

/* Gives standard error back. */
static void close_terminal(void)
{
    static const char end_mark[] = "\001";
    size_t size = 0;
    text[0] = '\0';
    fputs(end_mark, stderr);
    fflush(stderr);
    while (!strstr(text, end_mark) && size + 1 < sizeof text) {
        ssize_t more = read(screen.master, text + size, sizeof text - 1 - size);
        size += more > 0 ? (size_t)more : sizeof text;
        text[size < sizeof text ? size : 0] = '\0';
    }
    dup2(screen.kept_stderr, STDERR_FILENO);
    close(screen.kept_stderr);
    close(screen.master);
    cr_assert(size > 0 && size < sizeof text);
    text[size - strlen(end_mark)] = '\0';
}

Test(console, a_live_block_is_drawn_again_in_place)
{
    open_console(80, 24);
    bool is_live = console.is_live;
    ls_console_begin(&console);
    ls_console_line(&console, "tick %d", 1);
    ls_console_line(&console, "two");
    ls_console_end(&console);
    ls_console_begin(&console);
    ls_console_line(&console, "tick %d", 2);
    ls_console_end(&console);
    close_terminal();
    cr_assert(is_live);
    cr_assert_str_eq(text, "tick 1\r\ntwo\r\n\033[2A\r\033[Jtick 2\r\n");
}

Test(console, a_log_line_stands_above_the_live_block)
{
    open_console(80, 24);
    ls_console_begin(&console);
    ls_console_line(&console, "live");
    ls_console_end(&console);
    ls_log_line(&console.log, LS_LOG_INFO, "first");
    ls_log_line(&console.log, LS_LOG_INFO, "more");
    close_terminal();
    cr_assert_str_eq(text, "live\r\n\033[1A\r\033[Jx: first\r\nx: more\r\n");
}

Test(console, live_lines_are_cut_to_the_terminal)
{
    open_console(10, 24);
    ls_console_begin(&console);
    ls_console_line(&console, "0123456789abcdef");
    ls_console_end(&console);
    close_terminal();
    cr_assert_str_eq(text, "012345678\r\n", "a line that wraps could not be taken back");
}

Test(console, live_lines_that_would_scroll_away_are_left_out)
{
    open_console(80, 4);
    for (int block = 0; block < 2; block++) {
        ls_console_begin(&console);
        for (int line = 0; line < 4; line++) {
            ls_console_line(&console, "%d", line);
        }
        ls_console_end(&console);
    }
    close_terminal();
    cr_assert_str_eq(text, "0\r\n1\r\n\033[2A\r\033[J0\r\n1\r\n");
}

Test(console, a_dumb_terminal_or_a_quiet_console_is_not_live)
{
    open_terminal(80, 24);
    setenv("TERM", "dumb", 1);
    ls_console_init(&console, "x", LS_LOG_INFO);
    bool is_dumb_live = console.is_live;
    unsetenv("TERM");
    ls_console_init(&console, "x", LS_LOG_INFO);
    bool is_unknown_live = console.is_live;
    setenv("TERM", "xterm", 1);
    ls_console_init(&console, "x", LS_LOG_WARNING);
    bool is_quiet_live = console.is_live;
    close_terminal();
    cr_assert(!is_dumb_live && !is_unknown_live && !is_quiet_live);
}

Test(console, a_terminal_of_unknown_width_has_a_usual_one)
{
    open_console(0, 24);
    uint32_t columns = console.columns;
    close_terminal();
    cr_assert_eq(columns, 100);
}

/* ---- whose reader has stopped, or ended ---- */

static int ends[2]; /* of a pipe in the place of standard error */

static void never_wait(void)
{
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
    cr_assert_geq(dup2(ends[1], STDERR_FILENO), 0);
    close(ends[1]);
    ls_console_init(&console, "x", LS_LOG_INFO);
    ls_console_never_wait(&console);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

/* Lines of 100 bytes each with its number. */
static void write_lines(uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        ls_log_line(&console.log, LS_LOG_INFO, "line %08u %081d", i, 0);
    }
}

static char all[1 << 20]; /* that was read */
static size_t all_bytes;

static void read_all(void)
{
    ssize_t more = 1;
    while (more > 0) {
        more = read(ends[0], all + all_bytes, sizeof all - 1 - all_bytes);
        all_bytes += more > 0 ? (size_t)more : 0;
    }
    all[all_bytes] = '\0';
}

/* Skips the lines with the numbers from `from` on; gives what follows them, and the next number. */
static const char *skip_lines(const char *line, uint32_t from, uint32_t *next)
{
    unsigned number = 0;
    for (*next = from; sscanf(line, "x: line %8u ", &number) == 1; ++*next) {
        cr_assert_eq(number, *next);
        line = strchr(line, '\n') + 1;
    }
    return line;
}

Test(console, lines_that_nobody_reads_are_kept_then_counted_and_said, .timeout = 30)
{
    const uint32_t count = 2000;
    char sentence[128];
    uint32_t next = 0;
    never_wait();
    write_lines(0, count);
    uint64_t left_out = console.lines_left_out;
    cr_expect_gt(left_out, 0u);
    cr_expect_gt(console.queued, LS_CONSOLE_QUEUE_BYTES_MAX - 200u);
    while (console.queued > 0) {
        read_all();
        ls_console_flush(&console);
    }
    write_lines(count, count + 1);
    read_all();
    const char *rest = skip_lines(all, 0, &next);
    cr_expect_eq(next + left_out, count);
    snprintf(sentence, sizeof sentence,
             "x: warning: %u log lines were left out while nobody read the output\n",
             (unsigned)left_out);
    cr_assert(strncmp(rest, sentence, strlen(sentence)) == 0, "%.200s", rest);
    cr_expect_str_empty(skip_lines(rest + strlen(sentence), count, &next));
    cr_expect_eq(next, count + 1);
}

Test(console, lines_of_a_reader_that_has_ended_are_counted, .timeout = 30)
{
    never_wait();
    close(ends[0]);
    write_lines(0, 3);
    cr_expect_eq(console.lines_left_out, 3u);
    cr_expect_eq(console.queued, 0u);
    ls_console_deinit(&console);
}

Test(console, an_end_waits_for_nobody_who_never_reads, .timeout = 30)
{
    never_wait();
    write_lines(0, 100);
    cr_expect_gt(console.queued, 0u);
    ls_console_deinit(&console);
}

Test(console, a_live_block_is_not_drawn_on_a_stopped_terminal, .timeout = 30)
{
    open_console(80, 24);
    ls_console_never_wait(&console);
    cr_assert_eq(tcflow(STDERR_FILENO, TCOOFF), 0); /* as Ctrl-S does */
    ls_log_line(&console.log, LS_LOG_INFO, "kept");
    size_t queued = console.queued;
    for (int block = 0; block < 2; block++) {
        ls_console_begin(&console);
        ls_console_line(&console, "tick %d", block);
        ls_console_end(&console);
    }
    bool is_unchanged = queued > 0 && console.queued == queued;
    cr_assert_eq(tcflow(STDERR_FILENO, TCOON), 0);
    ls_console_begin(&console);
    ls_console_line(&console, "tick %d", 2);
    ls_console_end(&console);
    close_terminal();
    cr_expect(is_unchanged);
    cr_expect_str_eq(text, "x: kept\r\ntick 2\r\n");
}

/* ==== html ==== */

static char *html_text;
static size_t bytes;
static FILE *file;

static void open_text(void)
{
    file = open_memstream(&html_text, &bytes);
    cr_assert_not_null(file);
}

static void free_text(void)
{
    free(html_text);
}

TestSuite(html, .init = open_text, .fini = free_text);

Test(html, text_and_attributes_cannot_leave_their_element)
{
    ls_html xml = ls_xml_document(file);
    ls_html_begin(&xml, "a");
    ls_html_attribute(&xml, "b", "\"><c d='&'>");
    ls_html_number_attribute(&xml, "n", UINT64_MAX);
    ls_html_text(&xml, "</a><script>\x01\x1b[2J\x7f");
    ls_html_end(&xml);
    fclose(file);
    cr_expect_str_eq(html_text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n"
                                "<a b=\"&quot;&gt;&lt;c d='&amp;'&gt;\" n=\"18446744073709551615\">"
                                "&lt;/a&gt;&lt;script&gt;??[2J?</a>");
}

Test(html, elements_end_in_order)
{
    ls_html html = ls_html_page(file, "a < b", "p{color:red}");
    ls_html_begin(&html, "table");
    ls_html_begin(&html, "tr");
    ls_html_element(&html, "td", "v", "1");
    ls_html_element(&html, "td", NULL, "");
    ls_html_end(&html);
    ls_html_end(&html);
    ls_html_end(&html);
    fclose(file);
    cr_expect_eq(html.depth, 0u);
    cr_expect(strstr(html_text, "<title>a &lt; b</title><style>p{color:red}</style>"), "%s",
              html_text);
    cr_expect(
        strstr(html_text, "\n<table>\n<tr>\n<td class=\"v\">1</td>\n<td></td></tr></table></html>"),
        "%s", html_text);
}
