#define _GNU_SOURCE
#include "lockstep/common/runtime/line_channel.h"
#include "lockstep/common/system/socket.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TURN_MS = 1,
    TURNS_MAX = 5000,
};

static ls_event_loop *loop;
static ls_line_channel *channel; /* to the other side */
static int other;                /* its socket */
static uint32_t lines, breaks, turns;
static size_t newest_bytes;
static char newest[64];

static void on_line(void *user, char *line, size_t size)
{
    (void)user;
    lines++;
    newest_bytes = size;
    size_t kept = size < sizeof newest ? size : sizeof newest - 1;
    memcpy(newest, line, kept);
    newest[kept] = '\0';
}

static void on_broken(void *user)
{
    (void)user;
    breaks++;
}

static void open_channel(void)
{
    int sockets[2];
    signal(SIGPIPE, SIG_DFL); /* as a program begins */
    cr_assert_eq(ls_event_loop_create(ls_allocator_heap(), &loop), LS_OK);
    cr_assert_eq(ls_socket_pair(sockets), LS_OK);
    const ls_line_channel_config config = {
        .descriptor = sockets[0], .on_line = on_line, .on_broken = on_broken};
    other = sockets[1];
    cr_assert_eq(ls_line_channel_create(&config, loop, ls_allocator_heap(), &channel), LS_OK);
}

static void close_channel(void)
{
    ls_line_channel_destroy(channel);
    ls_event_loop_destroy(loop);
    if (other >= 0) {
        close(other);
    }
}

TestSuite(line_channel, .init = open_channel, .fini = close_channel);

static bool (*is_done)(void);

static void on_turn(void *user, uint64_t now_ns)
{
    (void)user;
    (void)now_ns;
    if (is_done() || ++turns > TURNS_MAX) {
        ls_event_loop_stop(loop);
    }
}

static void run_until(bool (*done)(void))
{
    ls_loop_source *timer = NULL;
    is_done = done;
    turns = 0;
    cr_assert_eq(ls_event_loop_add_timer(loop, TURN_MS, (ls_loop_handler){on_turn, NULL}, &timer),
                 LS_OK);
    ls_event_loop_run(loop);
    ls_loop_source_remove(timer);
    cr_assert(done(), "not in time");
}

static bool has_broken(void)
{
    return breaks > 0;
}

static bool has_three_lines(void)
{
    return lines == 3;
}

Test(line_channel, lines_come_as_they_were_cut)
{
    cr_assert_eq(write(other, "one\ntw", 6), 6);
    cr_assert_eq(write(other, "o\n\n", 3), 3);
    run_until(has_three_lines);
    cr_assert_eq(newest_bytes, 0);
    cr_assert_eq(breaks, 0);
    cr_assert(ls_line_channel_send(channel, "back", 4));
    char answer[8] = "";
    cr_assert_eq(read(other, answer, sizeof answer), 5);
    cr_assert_str_eq(answer, "back\n");
}

Test(line_channel, line_that_is_too_long_breaks_it_once)
{
    static char text[4096];
    memset(text, 'x', sizeof text);
    is_done = has_broken;
    for (size_t sent = 0; sent <= LS_LINE_BYTES_MAX && breaks == 0; sent += sizeof text) {
        cr_assert_eq(write(other, text, sizeof text), (ssize_t)sizeof text);
        turns = TURNS_MAX - 1; /* one turn for each piece */
        ls_loop_source *timer = NULL;
        cr_assert_eq(
            ls_event_loop_add_timer(loop, TURN_MS, (ls_loop_handler){on_turn, NULL}, &timer),
            LS_OK);
        ls_event_loop_run(loop);
        ls_loop_source_remove(timer);
    }
    run_until(has_broken);
    cr_assert_eq(breaks, 1);
    cr_assert_eq(lines, 0);
    cr_assert_not(ls_line_channel_send(channel, "x", 1));
}

/* A worker that ends while it is told something must not end the service. */
Test(line_channel, other_side_that_is_gone_breaks_it_and_does_not_end_the_process)
{
    close(other);
    other = -1;
    (void)ls_line_channel_send(channel, "still there?", 12);
    (void)ls_line_channel_send(channel, "hello?", 6);
    run_until(has_broken);
    cr_assert_eq(breaks, 1);
    cr_assert_not(ls_line_channel_send(channel, "x", 1));
}

/* The channel keeps unread lines up to a limit. */
Test(line_channel, other_side_that_reads_nothing_breaks_it)
{
    static char text[1 << 18];
    memset(text, 'x', sizeof text);
    uint32_t sent = 0;
    while (ls_line_channel_send(channel, text, sizeof text)) {
        sent++;
    }
    cr_assert_geq((uint64_t)(sent + 2) * sizeof text, LS_LINE_CHANNEL_BACKLOG_MAX);
    run_until(has_broken);
    cr_assert_eq(breaks, 1);
}
