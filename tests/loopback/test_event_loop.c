/* The event loop, and lines between processes on it. */
#define _GNU_SOURCE
#include "lockstep/common/base/clock.h"
#include "lockstep/common/runtime/line_channel.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/tests/loopback/station.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ==== event_loop ==== */

static ls_event_loop *loop;

/* Counts the calls of a handler and stops its loop at the last one wanted. */
typedef struct test_counter {
    size_t calls;
    size_t calls_wanted;
    uint64_t first_ns;
    uint64_t last_ns;
    int descriptor; /* read from at each call, if not 0 */
    ls_loop_source *source;
} test_counter;

static void count(void *user, uint64_t now_ns)
{
    test_counter *counter = user;
    counter->first_ns = counter->calls == 0 ? now_ns : counter->first_ns;
    cr_assert_geq(now_ns, counter->last_ns);
    counter->last_ns = now_ns;
    counter->calls++;
    if (counter->descriptor) {
        char byte;
        (void)!read(counter->descriptor, &byte, 1);
    }
    if (counter->calls >= counter->calls_wanted) {
        ls_event_loop_stop(loop);
    }
}

static void open_loop(void)
{
    cr_assert_eq(ls_event_loop_create(ls_allocator_heap(), &loop), LS_OK);
}

static void close_loop(void)
{
    ls_event_loop_destroy(loop);
    loop = NULL;
}

TestSuite(event_loop, .init = open_loop, .fini = close_loop);

/* Ends a test that would wait for ever. */
static void give_up(void *user, uint64_t now_ns)
{
    (void)user;
    (void)now_ns;
    cr_assert_fail("nothing happened in time");
}

static void limit_patience(void)
{
    ls_loop_handler handler = {give_up, NULL};
    cr_assert_eq(
        ls_event_loop_add_timer(loop, LS_STATION_PATIENCE_NS / LS_NS_PER_MS, handler, NULL), LS_OK);
}

Test(event_loop, a_loop_with_nothing_to_wait_for_returns)
{
    ls_event_loop_run(loop);
    ls_event_loop_destroy(NULL);
}

/* An alarm that sets itself anew, `period_ns` after the moment it was set to. */
typedef struct test_alarm {
    test_counter counter;
    uint64_t due_ns;
    uint64_t period_ns;
} test_alarm;

static void ring(void *user, uint64_t now_ns)
{
    test_alarm *alarm = user;
    cr_assert_geq(now_ns, alarm->due_ns, "an alarm came before its moment");
    alarm->due_ns += alarm->period_ns;
    ls_loop_alarm_set(alarm->counter.source, alarm->due_ns);
    count(&alarm->counter, now_ns);
}

static test_alarm *add_alarm(size_t calls_wanted)
{
    static test_alarm alarm;
    alarm = (test_alarm){.counter = {.calls_wanted = calls_wanted},
                         .due_ns = ls_event_loop_now_ns(loop) + 2 * LS_NS_PER_MS,
                         .period_ns = LS_NS_PER_MS};
    ls_loop_handler handler = {ring, &alarm};
    cr_assert_eq(ls_event_loop_add_alarm(loop, handler, &alarm.counter.source), LS_OK);
    return &alarm;
}

Test(event_loop, an_alarm_rings_once_at_each_moment_it_is_set_to)
{
    limit_patience();
    test_alarm *alarm = add_alarm(20);
    uint64_t first_ns = alarm->due_ns;
    ls_loop_alarm_set(alarm->counter.source, first_ns);
    ls_event_loop_run(loop);
    cr_assert_eq(alarm->counter.calls, 20);
    cr_assert_geq(alarm->counter.last_ns, first_ns + 19 * alarm->period_ns);
}

static void count_down(void *user, uint64_t now_ns)
{
    uint32_t *left = user;
    (void)now_ns;
    *left -= 1;
    if (*left == 0) {
        ls_event_loop_stop(loop);
    }
}

Test(event_loop, each_wait_is_a_wake)
{
    uint32_t left = 7;
    cr_assert_eq(ls_event_loop_wakes(loop), 0);
    limit_patience();
    cr_assert_eq(ls_event_loop_add_timer(loop, 5, (ls_loop_handler){count_down, &left}, NULL),
                 LS_OK);
    ls_event_loop_run(loop);
    cr_expect_geq(ls_event_loop_wakes(loop), 1);
    cr_expect_leq(ls_event_loop_wakes(loop), 2 * 7 + 1);
}

Test(event_loop, an_alarm_that_is_set_again_forgets_its_first_moment)
{
    limit_patience();
    test_alarm *alarm = add_alarm(1);
    ls_loop_alarm_set(alarm->counter.source, alarm->due_ns);
    alarm->due_ns += 10 * LS_NS_PER_MS;
    ls_loop_alarm_set(alarm->counter.source, alarm->due_ns);
    ls_event_loop_run(loop);
    cr_assert_eq(alarm->counter.calls, 1);
    /* Sooner counts as well, and so does a moment that has passed. */
    alarm->counter.calls_wanted = 2;
    ls_loop_alarm_set(alarm->counter.source, UINT64_MAX);
    alarm->due_ns = 0;
    ls_loop_alarm_set(alarm->counter.source, 0);
    ls_event_loop_run(loop);
    cr_assert_eq(alarm->counter.calls, 2);
}

Test(event_loop, an_alarm_that_is_not_set_never_rings)
{
    test_alarm *never = add_alarm(100);
    test_counter calls = {.calls_wanted = 10};
    ls_event_loop_add_timer(loop, 1, (ls_loop_handler){count, &calls}, NULL);
    ls_event_loop_run(loop);
    calls.calls = 0;
    ls_loop_alarm_set(never->counter.source, ls_event_loop_now_ns(loop) + 2 * LS_NS_PER_MS);
    ls_loop_alarm_set(never->counter.source, UINT64_MAX);
    ls_event_loop_run(loop);
    cr_assert_eq(calls.calls, 10);
    cr_assert_eq(never->counter.calls, 0);
}

/* Does one thing to the loop, in an alarm's handler. */
typedef struct test_deed {
    ls_loop_source *removed;
    int watched;
    test_counter *reads;
} test_deed;

static void do_deed(void *user, uint64_t now_ns)
{
    const test_deed *deed = user;
    (void)now_ns;
    ls_loop_source_remove(deed->removed);
    if (deed->reads) {
        ls_loop_handler handler = {count, deed->reads};
        cr_assert_eq(ls_event_loop_watch(loop, deed->watched, handler, NULL), LS_OK);
    }
}

static ls_loop_source *set_deed(test_deed *deed)
{
    ls_loop_source *alarm = NULL;
    cr_assert_eq(ls_event_loop_add_alarm(loop, (ls_loop_handler){do_deed, deed}, &alarm), LS_OK);
    ls_loop_alarm_set(alarm, ls_event_loop_now_ns(loop) + LS_NS_PER_MS);
    return alarm;
}

Test(event_loop, what_an_alarm_watches_is_watched_from_then_on)
{
    limit_patience();
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "a", 1), 1);
    test_counter reads = {.calls_wanted = 1, .descriptor = ends[0]};
    test_deed deed = {.watched = ends[0], .reads = &reads};
    set_deed(&deed);
    ls_event_loop_run(loop);
    cr_assert_eq(reads.calls, 1);
    close(ends[1]);
}

/* Whichever of two alarms of one moment comes first: it removes the other, or itself. */
Test(event_loop, an_alarm_may_remove_alarms_that_are_due)
{
    test_deed deeds[2] = {{.watched = -1}, {.watched = -1}};
    ls_loop_source *alarms[2] = {set_deed(&deeds[0]), set_deed(&deeds[1])};
    deeds[0].removed = alarms[1];
    deeds[1].removed = alarms[0];
    test_deed itself = {.watched = -1};
    itself.removed = set_deed(&itself);
    test_alarm *last = add_alarm(1);
    ls_loop_alarm_set(last->counter.source, last->due_ns);
    ls_event_loop_run(loop);
    cr_assert_eq(last->counter.calls, 1);
}

Test(event_loop, a_coarse_timer_repeats)
{
    test_counter calls = {.calls_wanted = 5};
    ls_event_loop_add_timer(loop, 2, (ls_loop_handler){count, &calls}, NULL);
    ls_event_loop_run(loop);
    cr_assert_eq(calls.calls, 5);
    cr_assert_gt(calls.last_ns, calls.first_ns);
}

static void add_late_timer(void *user, uint64_t now_ns)
{
    test_counter *calls = user;
    calls->last_ns = now_ns;
    ls_event_loop_add_timer(loop, 50, (ls_loop_handler){count, calls}, &calls->source);
}

/* Beside alarms alone libuv does not look at its clock. */
Test(event_loop, a_timer_counts_from_when_it_is_added)
{
    limit_patience();
    test_counter calls = {.calls_wanted = 1};
    ls_loop_source *alarm = NULL;
    ls_event_loop_add_alarm(loop, (ls_loop_handler){add_late_timer, &calls}, &alarm);
    uint64_t added_ns = ls_event_loop_now_ns(loop) + 100 * LS_NS_PER_MS;
    ls_loop_alarm_set(alarm, added_ns);
    ls_event_loop_run(loop);
    cr_assert_eq(calls.calls, 1);
    cr_assert_geq(calls.last_ns, added_ns + 49 * LS_NS_PER_MS);
}

static void assert_stopped_by(int number)
{
    close_loop();
    open_loop();
    limit_patience();
    test_counter signals = {.calls_wanted = 1};
    cr_assert_eq(ls_event_loop_add_stop_signals(loop, (ls_loop_handler){count, &signals}), LS_OK);
    raise(number);
    ls_event_loop_run(loop);
    cr_assert_eq(signals.calls, 1);
}

Test(event_loop, interrupt_terminate_and_hangup_call_the_stop_handler)
{
    assert_stopped_by(SIGTERM);
    assert_stopped_by(SIGINT);
    assert_stopped_by(SIGHUP);
}

Test(event_loop, stop_signals_behind_the_loop_do_not_end_the_program)
{
    test_counter signals = {.calls_wanted = 1};
    cr_assert_eq(ls_event_loop_add_stop_signals(loop, (ls_loop_handler){count, &signals}), LS_OK);
    close_loop();
    raise(SIGTERM);
    raise(SIGINT);
    raise(SIGHUP);
    cr_assert_eq(signals.calls, 0);
    open_loop();
}

Test(event_loop, a_hangup_that_is_ignored_stays_so)
{
    test_counter signals = {.calls_wanted = 1};
    signal(SIGHUP, SIG_IGN);
    cr_assert_eq(ls_event_loop_add_stop_signals(loop, (ls_loop_handler){count, &signals}), LS_OK);
    raise(SIGHUP);
    raise(SIGTERM);
    limit_patience();
    ls_event_loop_run(loop);
    cr_assert_eq(signals.calls, 1);
}

Test(event_loop, an_inactive_source_calls_nobody)
{
    uint16_t port;
    int listening = ls_open_socket(&port);
    test_counter packets = {.calls_wanted = UINT32_MAX};
    test_counter idle = {.calls_wanted = UINT32_MAX};
    test_counter calls = {.calls_wanted = 5};
    ls_loop_source *watch = NULL;
    ls_loop_source *timer = NULL;
    ls_event_loop_watch(loop, listening, (ls_loop_handler){count, &packets}, &watch);
    ls_event_loop_add_timer(loop, 1, (ls_loop_handler){count, &idle}, &timer);
    ls_event_loop_add_timer(loop, 2, (ls_loop_handler){count, &calls}, NULL);
    ls_loop_source_set_active(watch, false);
    ls_loop_source_set_active(timer, false);
    ls_send_datagram(listening, port, "x", 1);
    ls_event_loop_run(loop);
    cr_assert_eq(calls.calls, 5);
    cr_assert_eq(packets.calls, 0);
    cr_assert_eq(idle.calls, 0);
    packets.calls_wanted = 1;
    ls_loop_source_set_active(watch, true);
    ls_loop_source_set_active(timer, true);
    ls_event_loop_run(loop);
    cr_assert_eq(packets.calls, 1);
    idle.calls_wanted = idle.calls + 1;
    ls_loop_source_remove(watch);
    ls_event_loop_run(loop);
    cr_assert_eq(idle.calls, idle.calls_wanted);
    close(listening);
}

static void set_active_again(void *user, uint64_t now_ns)
{
    (void)now_ns;
    ls_loop_source_set_active(user, true);
}

Test(event_loop, an_active_timer_keeps_its_time_when_it_is_set_active_again)
{
    test_counter calls = {.calls_wanted = 1};
    ls_loop_source *timer = NULL;
    ls_event_loop_add_timer(loop, 20, (ls_loop_handler){count, &calls}, &timer);
    ls_event_loop_add_timer(loop, 1, (ls_loop_handler){set_active_again, timer}, NULL);
    limit_patience();
    ls_event_loop_run(loop);
    cr_assert_eq(calls.calls, 1);
}

static void interrupt(void *user, uint64_t now_ns)
{
    (void)user;
    (void)now_ns;
    raise(SIGINT);
}

Test(event_loop, a_signal_is_heard_beside_alarms_alone)
{
    test_counter signals = {.calls_wanted = 1};
    ls_loop_source *alarm = NULL;
    ls_event_loop_add_stop_signals(loop, (ls_loop_handler){count, &signals});
    ls_event_loop_add_alarm(loop, (ls_loop_handler){interrupt, NULL}, &alarm);
    ls_loop_alarm_set(alarm, 0);
    ls_event_loop_run(loop);
    cr_assert_eq(signals.calls, 1);
}

Test(event_loop, stop_signals_alone_do_not_keep_a_loop_running)
{
    test_counter signals = {.calls_wanted = 1};
    ls_event_loop_add_stop_signals(loop, (ls_loop_handler){count, &signals});
    ls_event_loop_run(loop);
    cr_assert_eq(signals.calls, 0);
}

Test(event_loop, a_descriptor_is_reported_until_all_was_read)
{
    limit_patience();
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "abc", 3), 3);
    test_counter reads = {.calls_wanted = 3, .descriptor = ends[0]};
    ls_loop_handler handler = {count, &reads};
    cr_assert_eq(ls_event_loop_watch(loop, ends[0], handler, &reads.source), LS_OK);
    ls_event_loop_run(loop);
    cr_assert_eq(reads.calls, 3);
    ls_loop_source_remove(reads.source);
    close(ends[0]);
    close(ends[1]);
}

/* Nothing ever comes: it can be written to alone. */
Test(event_loop, a_watch_for_room_is_called_where_there_is_some)
{
    int ends[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    test_counter counter = {.calls_wanted = 2};
    cr_assert_eq(
        ls_event_loop_watch(loop, ends[0], (ls_loop_handler){count, &counter}, &counter.source),
        LS_OK);
    ls_loop_watch_for(counter.source, false, true);
    limit_patience();
    ls_event_loop_run(loop);
    cr_assert_eq(counter.calls, 2);
    ls_loop_watch_for(counter.source, true, false);
    counter.calls_wanted = 3;
    counter.descriptor = ends[0];
    cr_assert_eq(write(ends[1], "a", 1), 1);
    ls_event_loop_run(loop);
    cr_assert_eq(counter.calls, 3);
    ls_loop_source_remove(counter.source);
    close(ends[0]);
    close(ends[1]);
}

Test(event_loop, a_removed_source_is_never_called)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "a", 1), 1);
    test_counter reads = {.calls_wanted = 1};
    ls_event_loop_watch(loop, ends[0], (ls_loop_handler){count, &reads}, &reads.source);
    ls_loop_source_remove(reads.source);
    ls_loop_source_remove(NULL);
    close(ends[0]);
    ls_event_loop_run(loop);
    cr_assert_eq(reads.calls, 0);
    close(ends[1]);
}

Test(event_loop, a_descriptor_that_cannot_be_watched_is_an_error)
{
    test_counter reads = {.calls = 0};
    ls_loop_source *source = NULL;
    ls_status status = ls_event_loop_watch(loop, 9999, (ls_loop_handler){count, &reads}, &source);
    cr_assert_eq(status, LS_IO);
    cr_assert_null(source);
}

/* libuv gives a descriptor up at its first pending error. */
Test(event_loop, a_socket_is_still_watched_after_its_datagrams_were_refused)
{
    limit_patience();
    uint16_t port, peer_port;
    int descriptor = ls_open_socket(&port);
    int peer = ls_open_socket(&peer_port);
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    cr_assert_eq(getsockname(peer, (struct sockaddr *)&address, &size), 0);
    cr_assert_eq(connect(descriptor, (struct sockaddr *)&address, size), 0);
    close(peer);
    test_counter reads = {.calls_wanted = 1, .descriptor = descriptor};
    ls_event_loop_watch(loop, descriptor, (ls_loop_handler){count, &reads}, NULL);
    for (size_t round = 1; round <= 3; round++) {
        reads.calls_wanted = round;
        cr_assert_eq(send(descriptor, "x", 1, 0), 1);
        ls_event_loop_run(loop);
        cr_assert_eq(reads.calls, round);
    }
    close_loop();
    close(descriptor);
}

/* A station driven by a loop. */
typedef struct test_driven {
    ls_station station;
    size_t received_wanted;
} test_driven;

static void drain(void *user, uint64_t now_ns)
{
    (void)now_ns;
    test_driven *driven = user;
    ls_station_receive_all(&driven->station);
    ls_transport_flush(driven->station.transport);
    if (driven->received_wanted > 0 && driven->station.received_count >= driven->received_wanted) {
        ls_event_loop_stop(loop);
    }
}

static void send_numbers(void *user, uint64_t now_ns)
{
    test_driven *driven = user;
    if (driven->station.connected_count > 0) {
        ls_station_send(&driven->station, LS_CHANNEL_UNRELIABLE, &now_ns, sizeof now_ns);
        ls_station_send(&driven->station, LS_CHANNEL_RELIABLE, &now_ns, sizeof now_ns);
        ls_transport_flush(driven->station.transport);
    }
}

Test(event_loop, drives_a_server_and_a_client)
{
    limit_patience();
    test_driven server = {.station = ls_station_listen(4)};
    server.station.echoes = true;
    uint16_t port = ls_transport_udp_port(server.station.transport);
    test_driven client = {.station = ls_station_connect(port, 10000), .received_wanted = 20};
    cr_assert_eq(
        ls_transport_udp_attach(server.station.transport, loop, (ls_loop_handler){drain, &server}),
        LS_OK);
    cr_assert_eq(
        ls_transport_udp_attach(client.station.transport, loop, (ls_loop_handler){drain, &client}),
        LS_OK);
    ls_event_loop_add_timer(loop, 5, (ls_loop_handler){send_numbers, &client}, NULL);
    ls_event_loop_run(loop);
    cr_assert_geq(client.station.received_count, 20);
    cr_assert_eq(client.station.disconnected_count, 0);
    ls_station_close(&client.station);
    ls_station_close(&server.station);
}

Test(event_loop, a_refused_connection_is_reported_through_the_loop)
{
    limit_patience();
    uint16_t port;
    close(ls_open_socket(&port));
    test_driven client = {.station = ls_station_connect(port, 300)};
    ls_transport_udp_attach(client.station.transport, loop, (ls_loop_handler){drain, &client});
    test_counter polls = {.calls_wanted = 100};
    ls_event_loop_add_timer(loop, 10, (ls_loop_handler){count, &polls}, NULL);
    ls_event_loop_run(loop);
    cr_assert_eq(client.station.disconnected_count, 1);
    cr_assert_eq(client.station.reasons[0], LS_UNREACHABLE);
    ls_station_close(&client.station);
}

/* ---- jobs ---- */

typedef struct test_job {
    ls_loop_job *job;
    pthread_t worker;
    uint32_t works;
    uint32_t dones;
    uint32_t wanted;
} test_job;

static void work(void *user)
{
    test_job *job = user;
    job->worker = pthread_self();
    job->works++;
}

static void on_done(void *user, uint64_t now_ns)
{
    test_job *job = user;
    (void)now_ns;
    job->dones++;
    cr_assert_eq(job->works, job->dones, "one at a time");
    cr_assert(!ls_loop_job_is_running(job->job));
    cr_assert(!pthread_equal(job->worker, pthread_self()));
    if (job->dones < job->wanted) {
        ls_loop_job_start(job->job);
    }
}

static void create_job(test_job *job)
{
    ls_loop_handler done = {on_done, job};
    cr_assert_eq(ls_loop_job_create(loop, work, done, &job->job), LS_OK);
}

Test(event_loop, a_job_runs_elsewhere_and_is_told_of_here)
{
    test_job job = {.wanted = 20};
    create_job(&job);
    cr_expect(!ls_loop_job_is_running(job.job));
    ls_loop_job_start(job.job);
    cr_expect(ls_loop_job_is_running(job.job));
    ls_event_loop_run(loop); /* returns once nothing runs any more */
    cr_expect_eq(job.works, 20u);
    cr_expect_eq(job.dones, 20u);
    ls_loop_job_destroy(job.job);
}

Test(event_loop, a_job_that_is_destroyed_while_it_runs_ends_and_tells_nobody)
{
    test_job job = {.wanted = 1};
    create_job(&job);
    ls_loop_job_start(job.job);
    ls_loop_job_destroy(job.job);
    cr_expect_eq(job.works, 1u);
    close_loop();
    cr_expect_eq(job.dones, 0u);
    ls_loop_job_destroy(NULL);
}

typedef struct test_doze {
    uint32_t calls;
    uint64_t lasted_ns; /* all calls together */
} test_doze;

/* Five times, and until the loop has had to wait for a call. */
static void doze(void *user, uint64_t now_ns)
{
    const struct timespec pause = {.tv_nsec = 20 * (long)LS_NS_PER_MS};
    test_doze *dozed = user;
    uint64_t began_ns = ls_event_loop_now_ns(loop);
    (void)now_ns;
    nanosleep(&pause, NULL);
    dozed->lasted_ns += ls_event_loop_now_ns(loop) - began_ns;
    if (++dozed->calls >= 5 && ls_event_loop_idle_ns(loop) > 0) {
        ls_event_loop_stop(loop);
    }
}

/* A handler that blocks keeps the loop from its work, though it needs no processor. */
Test(event_loop, time_in_a_handler_that_sleeps_is_not_idle)
{
    test_doze dozed = {0};
    ls_loop_handler handler = {doze, &dozed};
    limit_patience();
    cr_assert_eq(ls_event_loop_add_timer(loop, 60, handler, NULL), LS_OK);
    uint64_t began_ns = ls_event_loop_now_ns(loop);
    ls_event_loop_run(loop);
    uint64_t past_ns = ls_event_loop_now_ns(loop) - began_ns;
    cr_expect_geq(past_ns, ls_event_loop_idle_ns(loop) + dozed.lasted_ns);
}

/* ==== line_channel ==== */

enum {
    TURN_MS = 1,
    TURNS_MAX = 5000,
};

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
