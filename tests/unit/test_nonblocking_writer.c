#define _GNU_SOURCE
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/socket.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== nonblocking_writer ==== */

enum {
    PART = 999,
    MUCH = 4 << 20, /* more than any terminal or pipe holds */
    PATIENCE_S = 30,
};

static char bytes[PART];

TestSuite(nonblocking_writer, .timeout = PATIENCE_S); /* what waits for ever has failed */

/* Writes until no more is taken; byte n of all of it is n modulo 251. */
static size_t fill(ls_nonblocking_writer *nonblocking_writer)
{
    size_t total = 0;
    size_t taken = PART;
    while (taken == PART && total < MUCH) {
        for (size_t i = 0; i < PART; i++) {
            bytes[i] = (char)((total + i) % 251);
        }
        taken = ls_nonblocking_writer_write(nonblocking_writer, bytes, PART);
        total += taken;
    }
    cr_assert_lt(total, MUCH, "nothing holds so much");
    return total;
}

static void expect_filled(int reader, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t taken = read(reader, bytes, PART);
        cr_assert_gt(taken, 0);
        for (ssize_t i = 0; i < taken; i++, at++) {
            cr_assert_eq((unsigned char)bytes[i], at % 251, "byte %zu", at);
        }
    }
}

static void expect_never_waits(int reader, int writer)
{
    int flags = fcntl(writer, F_GETFL);
    ls_nonblocking_writer nonblocking_writer = ls_nonblocking_writer_open(writer);
    size_t first = fill(&nonblocking_writer);
    cr_expect_gt(first, 1000u);
    cr_expect_eq(fcntl(writer, F_GETFL), flags, "others do not notice");
    expect_filled(reader, first);
    cr_expect(ls_nonblocking_writer_wait(&nonblocking_writer, 1000 * PATIENCE_S));
    cr_expect_eq(ls_nonblocking_writer_write(&nonblocking_writer, bytes, 1), 1u);
    ls_nonblocking_writer_close(&nonblocking_writer);
    cr_expect_eq(fcntl(writer, F_GETFL), flags);
    cr_expect_eq(write(writer, "x", 1), 1, "it is still open");
}

Test(nonblocking_writer, a_terminal_that_nobody_reads_is_not_waited_for)
{
    struct termios raw;
    int ends[2];
    cr_assert_eq(openpty(&ends[0], &ends[1], NULL, NULL, NULL), 0);
    cr_assert_eq(tcgetattr(ends[1], &raw), 0);
    cfmakeraw(&raw); /* bytes come as they are */
    cr_assert_eq(tcsetattr(ends[1], TCSANOW, &raw), 0);
    expect_never_waits(ends[0], ends[1]);
}

Test(nonblocking_writer, a_pipe_that_nobody_reads_is_not_waited_for)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    expect_never_waits(ends[0], ends[1]);
}

Test(nonblocking_writer, a_socket_that_nobody_reads_is_not_waited_for)
{
    int ends[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    expect_never_waits(ends[0], ends[1]);
}

/* In a container the pipe may be another user's, who alone may open it again. */
Test(nonblocking_writer, a_pipe_that_cannot_be_opened_again_is_not_waited_for)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(fchmod(ends[1], 0), 0);
    if (geteuid() == 0) {
        cr_assert_eq(seteuid(65534), 0);
    }
    expect_never_waits(ends[0], ends[1]);
}

Test(nonblocking_writer, a_reader_that_has_ended_is_noticed)
{
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    cr_assert_eq(pipe(ends), 0);
    ls_nonblocking_writer nonblocking_writer = ls_nonblocking_writer_open(ends[1]);
    cr_expect_eq(ls_nonblocking_writer_write(&nonblocking_writer, "a", 1), 1u);
    cr_expect_not(nonblocking_writer.has_failed);
    close(ends[0]);
    cr_expect_eq(ls_nonblocking_writer_write(&nonblocking_writer, "bc", 2), 2u);
    cr_expect(nonblocking_writer.has_failed);
    ls_nonblocking_writer_close(&nonblocking_writer);
}

Test(nonblocking_writer, a_file_is_written_where_it_stands)
{
    FILE *file = tmpfile();
    char text[8] = {0};
    cr_assert_not_null(file);
    cr_assert_eq(write(fileno(file), "ab", 2), 2);
    ls_nonblocking_writer nonblocking_writer = ls_nonblocking_writer_open(fileno(file));
    cr_expect_eq(ls_nonblocking_writer_write(&nonblocking_writer, "cd", 2), 2u);
    ls_nonblocking_writer_close(&nonblocking_writer);
    cr_expect_eq(pread(fileno(file), text, 7, 0), 4);
    cr_expect_str_eq(text, "abcd");
    fclose(file);
}

Test(nonblocking_writer, bytes_that_can_never_be_written_are_gone)
{
    int full = open("/dev/full", O_WRONLY);
    ls_nonblocking_writer nonblocking_writer = ls_nonblocking_writer_open(full);
    cr_expect_eq(ls_nonblocking_writer_write(&nonblocking_writer, "ab", 2), 2u);
    ls_nonblocking_writer_close(&nonblocking_writer);
    close(full);
    nonblocking_writer = ls_nonblocking_writer_open(full); /* by now a number without a file */
    cr_expect_eq(ls_nonblocking_writer_write(&nonblocking_writer, "ab", 2), 2u);
    ls_nonblocking_writer_close(&nonblocking_writer);
}

/* ==== socket ==== */

enum {
    CLIENTS = 500,
};

/* Connected, or on the way. */
static int begin_to_connect(const ls_endpoint *to)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(to->port)};
    memcpy(&address.sin6_addr, to->address, sizeof address.sin6_addr);
    int made = socket(AF_INET6, SOCK_STREAM, 0);
    cr_assert_geq(made, 0);
    cr_assert_eq(fcntl(made, F_SETFL, O_NONBLOCK), 0);
    int result = connect(made, (const struct sockaddr *)&address, sizeof address);
    cr_assert(result == 0 || errno == EINPROGRESS);
    return made;
}

/* The test accepts no client, so one that finds no place in the queue never gets one. */
Test(socket, listener_that_is_busy_keeps_a_burst_of_clients_waiting_and_drops_none)
{
    ls_endpoint endpoint = {.address = {[10] = 0xff, 0xff, 127, 0, 0, 1}};
    int listening = ls_socket_listen(&endpoint);
    cr_assert_geq(listening, 0);
    cr_assert(ls_socket_own(listening, &endpoint));
    int clients[CLIENTS];
    uint32_t connected = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        clients[i] = begin_to_connect(&endpoint);
    }
    while (connected < CLIENTS) {
        struct pollfd on = {.fd = clients[connected], .events = POLLOUT};
        if (poll(&on, 1, 1000 * PATIENCE_S) != 1 || on.revents != POLLOUT) {
            break;
        }
        connected++;
    }
    cr_expect_eq(connected, CLIENTS);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        ls_socket_close(clients[i]);
    }
    ls_socket_close(listening);
}
