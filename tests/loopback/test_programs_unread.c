/* Programs whose log nobody reads: on a terminal that was stopped, into a pipe that is full, and
 * into one whose reader has ended. Their matches go on to the end. */
#define _GNU_SOURCE
#include "lockstep/tests/loopback/hosted.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

enum {
    READER,
    WRITER,
    TICKS = 90,
    TEXT_BYTES_MAX = 1 << 20,
};

static int ends[2]; /* of the pipe or terminal in the place of standard error */

static void close_ends(void)
{
    close(ends[READER]);
    close(ends[WRITER]);
    hosted_close();
}

TestSuite(programs_unread, .init = hosted_open, .fini = close_ends);

/* ---- readers ---- */

static void stop_terminal(void)
{
    setenv("TERM", "xterm", 1);
    cr_assert_eq(openpty(&ends[READER], &ends[WRITER], NULL, NULL, NULL), 0);
    fcntl(ends[READER], F_SETFD, FD_CLOEXEC);
    fcntl(ends[WRITER], F_SETFD, FD_CLOEXEC);
    cr_assert_eq(tcflow(ends[WRITER], TCOOFF), 0, "as Ctrl-S does");
    hosted.errors = ends[WRITER];
}

static void open_pipe(void)
{
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    hosted.errors = ends[WRITER];
}

/* The pipe is filled with zeros. */
static void fill_pipe(void)
{
    static const char zeros[1024];
    open_pipe();
    fcntl(ends[WRITER], F_SETFL, O_NONBLOCK);
    for (size_t size = sizeof zeros; size > 0; size /= 2) {
        while (write(ends[WRITER], zeros, size) > 0) {
        }
    }
    fcntl(ends[WRITER], F_SETFL, 0);
}

/* As `head` does. */
static void read_lines_and_end(uint32_t lines)
{
    for (char byte = 0; lines > 0; lines -= byte == '\n') {
        cr_assert_eq(read(ends[READER], &byte, 1), 1);
    }
    close(ends[READER]);
    ends[READER] = -1;
}

/* Everything but the zeros, until the programs that write to it have ended. */
static const char *read_rest(void)
{
    static char text[TEXT_BYTES_MAX];
    size_t size = 0;
    close(ends[WRITER]);
    ends[WRITER] = -1;
    for (char byte = 0; read(ends[READER], &byte, 1) == 1;) {
        cr_assert_lt(size + 1, sizeof text);
        text[size] = byte;
        size += byte != '\0';
    }
    return text;
}

/* ---- a server ---- */

static void serve(void)
{
    hosted_serve(ARENA("2", "90"), "--verbose", "--journal", hosted.folder);
    hosted.errors = 0;
}

static void expect_closed_journal(void)
{
    const char *path = hosted_word(hosted_server_summary(), "journal.file");
    hosted_run(0, LS_TEST_REPLAY, "info", path);
    cr_expect(strstr(ls_process_output(&hosted.other), "closed cleanly"));
}

static void expect_whole_match(void)
{
    hosted_join_bots(2);
    hosted_expect_perfect(TICKS);
    expect_closed_journal();
}

Test(programs_unread, server_on_a_stopped_terminal_plays_to_the_end)
{
    stop_terminal();
    serve();
    expect_whole_match();
}

Test(programs_unread, server_with_a_full_pipe_plays_to_the_end)
{
    fill_pipe();
    serve();
    expect_whole_match();
}

Test(programs_unread, server_whose_reader_ends_plays_to_the_end)
{
    open_pipe();
    serve();
    read_lines_and_end(2);
    expect_whole_match();
}

/* Both wait a while, and need not be killed. */
Test(programs_unread, programs_whose_summary_nobody_reads_say_so_and_end)
{
    char path[LS_TEXT_BYTES_MAX];
    open_pipe();
    hosted.errors = 0;
    snprintf(path, sizeof path, "%s", hosted_path("fifo"));
    cr_assert_eq(mkfifo(path, 0600), 0);
    hosted_serve(ARENA("1", "20"), "--json", path);
    hosted_join("--bot", "1", "--json", path);
    hosted_expect_exits(1, 1);
    hosted_expect_all(&hosted.server, "cannot write the summary to", "fifo: nobody reads it");
    hosted_expect_all(&hosted.clients[0], "cannot write the summary to", "fifo: nobody reads it");
}

Test(programs_unread, server_writes_the_lines_that_it_kept_once_they_are_read)
{
    fill_pipe();
    serve();
    hosted_join_bots(1);
    hosted_expect_words(&hosted.clients[0], "joined");
    hosted_join_bots(1);
    const char *text = read_rest();
    hosted_expect_perfect(TICKS);
    const char *first = strstr(text, "lockstep-server: listening on ");
    cr_assert(first, "%s", text);
    cr_expect(strstr(first, "the match starts"));
    cr_expect(strstr(first, "90 ticks, 182 hashes compared, 0 differences"));
    cr_expect_null(strstr(text, "left out"), "all of them were kept");
}

/* ---- a client ---- */

static void expect_client_plays(void)
{
    hosted_join("--bot", "2", "--verbose");
    hosted.errors = 0;
    hosted_expect_perfect(TICKS);
}

Test(programs_unread, client_on_a_stopped_terminal_plays_to_the_end)
{
    hosted_serve(ARENA("2", "90"));
    hosted_join_bots(1);
    stop_terminal();
    expect_client_plays();
}

Test(programs_unread, client_with_a_full_pipe_plays_to_the_end)
{
    hosted_serve(ARENA("2", "90"));
    hosted_join_bots(1);
    fill_pipe();
    expect_client_plays();
}

Test(programs_unread, client_whose_reader_ends_plays_to_the_end)
{
    hosted_serve(ARENA("2", "90"));
    open_pipe();
    hosted_join("--bot", "2", "--verbose");
    hosted.errors = 0;
    read_lines_and_end(1);
    hosted_join_bots(1);
    hosted_expect_perfect(TICKS);
}

/* ---- a network conditioner ---- */

static void expect_conditioned_match(void)
{
    hosted_condition("--delay", "1");
    hosted.errors = 0;
    hosted_join_bots(2);
    hosted_expect_perfect(TICKS);
    hosted_end_condition(SIGTERM);
}

Test(programs_unread, conditioner_on_a_stopped_terminal_passes_packets_on)
{
    hosted_serve(ARENA("2", "90"));
    stop_terminal();
    expect_conditioned_match();
}

Test(programs_unread, conditioner_with_a_full_pipe_passes_packets_on)
{
    hosted_serve(ARENA("2", "90"));
    fill_pipe();
    expect_conditioned_match();
}

/* ---- a service ---- */

static void serve_rooms(void)
{
    const char *path = hosted_path("lockstep.toml");
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file, "workers = 2\ndrain-timeout = 1\n[server]\nidentity = \"%s/identity\"\n",
            hosted.folder);
    fprintf(
        file,
        "[http]\nport = 0\n[[rooms]]\nname = \"pair\"\nopen = 2\nsim = \"arena\"\nplayers = 2\n");
    cr_assert_eq(fclose(file), 0);
    hosted_serve("--config", path, "--http-port-file", hosted_path("http.port"), "--verbose");
    hosted.errors = 0;
}

static void expect_healthy(void)
{
    static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET};
    char answer[512] = "";
    unsigned port = 0;
    FILE *file = fopen(hosted_path("http.port"), "r");
    cr_assert(file && fscanf(file, "%u", &port) == 1);
    fclose(file);
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(connection, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(write(connection, request, strlen(request)), (ssize_t)strlen(request));
    cr_assert_gt(read(connection, answer, sizeof answer - 1), 0);
    close(connection);
    cr_expect(strstr(answer, " 200 "), "%s", answer);
}

static void expect_whole_rooms(void)
{
    for (uint32_t i = 0; i < 4; i++) {
        hosted_join("--bot", hosted_text("%u", i), "--ticks", "120");
    }
    for (uint32_t i = 0; i < 4; i++) {
        hosted_expect_exit(&hosted.clients[i], 0);
        cr_expect_eq(hosted_number(hosted_client_summary(i), "final_tick"), 120);
    }
    expect_healthy();
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_exit(&hosted.server, 0);
}

Test(programs_unread, service_with_a_full_pipe_answers_and_plays)
{
    fill_pipe();
    serve_rooms();
    expect_whole_rooms();
}

Test(programs_unread, service_on_a_stopped_terminal_answers_and_plays)
{
    stop_terminal();
    serve_rooms();
    expect_whole_rooms();
}

Test(programs_unread, service_whose_reader_ends_answers_and_plays)
{
    open_pipe();
    serve_rooms();
    read_lines_and_end(2);
    expect_whole_rooms();
}
