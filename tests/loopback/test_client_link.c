/* A client's link: which packets wake its loop, and which wait to be taken. */
#include "lockstep/client/link/client_link.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/tests/loopback/station.h"

#include <stdio.h>

enum {
    TRIES_MAX = 200,
    WHILE_MS = 30, /* for what must not happen */
};

static ls_station server;
static ls_event_loop *loop;
static ls_client_place place;
static ls_client_link *client;
static ls_session *session;
static uint32_t calls; /* of the link, for packets */
static bool is_over;

static const ls_simulation *find_nothing(void *user, const char *name)
{
    (void)user;
    (void)name;
    return NULL;
}

static void on_packets(void *user, uint64_t now_ns)
{
    (void)user;
    calls++;
    ls_client_link_receive(client, session, now_ns);
    ls_client_link_flush(client);
}

static void end_round(void *user, uint64_t now_ns)
{
    (void)user;
    (void)now_ns;
    is_over = true;
    ls_event_loop_stop(loop);
}

/* Lets the loop wait for a while, with the server idle. */
static void run_loop(uint32_t duration_ms)
{
    ls_loop_source *timer;
    is_over = false;
    cr_assert_eq(
        ls_event_loop_add_timer(loop, duration_ms, (ls_loop_handler){end_round, NULL}, &timer),
        LS_OK);
    while (!is_over) {
        ls_event_loop_run(loop);
    }
    ls_loop_source_remove(timer);
}

static void open_link(void)
{
    static const ls_log log; /* of nothing */
    server = ls_station_listen(1);
    place.server_count = 1;
    snprintf(place.servers[0], sizeof place.servers[0], "127.0.0.1:%u",
             (unsigned)ls_station_port(&server));
    cr_assert_eq(ls_event_loop_create(ls_allocator_heap(), &loop), LS_OK);
    const ls_client_link_config config = {
        .place = &place, .loop = loop, .on_ready = {on_packets, NULL}, .connect_wait_ms = 10000};
    cr_assert_eq(ls_client_link_open(&config, &client, NULL), LS_OK);
    ls_session_config settings = ls_session_config_default();
    settings.find_simulation = find_nothing;
    ls_packet_sink sink = ls_client_link_sink(client);
    cr_assert_eq(ls_session_create(&settings, &sink, ls_allocator_heap(), &session, NULL), LS_OK);
    uint64_t end_ns = ls_station_now_ns() + LS_STATION_PATIENCE_NS;
    while (server.received_count == 0) { /* HELLO */
        cr_assert_lt(ls_station_now_ns(), end_ns);
        run_loop(1);
        ls_station_turn(&server);
        ls_client_link_advance(client, session, &log, ls_station_now_ns());
    }
    for (int i = 0; i < 5; i++) { /* until it is acknowledged */
        ls_station_turn(&server);
        run_loop(10);
    }
    calls = 0;
}

static void close_link(void)
{
    ls_session_destroy(session);
    ls_client_link_close(client);
    ls_event_loop_destroy(loop);
    ls_station_close(&server);
}

TestSuite(client_link, .init = open_link, .fini = close_link);

/* No session understands it: each counts one that it rejects. */
static void send_to_client(ls_channel channel)
{
    ls_station_send(&server, channel, "?", 1);
    ls_station_turn(&server);
}

static uint64_t rejected(void)
{
    return ls_session_report_of(session).packets_rejected;
}

static void let_wait(void)
{
    ls_client_link_let_wait(client, true, ls_station_now_ns());
}

Test(client_link, a_packet_wakes_the_loop)
{
    send_to_client(LS_CHANNEL_UNRELIABLE);
    run_loop(WHILE_MS);
    cr_assert_geq(calls, 1);
    cr_assert_eq(rejected(), 1);
}

Test(client_link, a_packet_that_may_wait_is_taken_when_the_client_likes)
{
    let_wait();
    send_to_client(LS_CHANNEL_UNRELIABLE);
    run_loop(WHILE_MS);
    cr_assert_eq(calls, 0);
    cr_assert_eq(rejected(), 0);
    ls_client_link_receive_waiting(client, session, ls_station_now_ns());
    cr_assert_eq(rejected(), 1);
    let_wait();
    run_loop(WHILE_MS);
    cr_assert_eq(calls, 0, "no timer is on its way either");
}

Test(client_link, a_packet_that_has_waited_wakes_the_loop_once_it_may_not)
{
    let_wait();
    send_to_client(LS_CHANNEL_UNRELIABLE);
    run_loop(WHILE_MS);
    ls_client_link_let_wait(client, false, ls_station_now_ns());
    run_loop(WHILE_MS);
    cr_assert_geq(calls, 1);
    cr_assert_eq(rejected(), 1);
}

/* Sooner or later packets wait again: on a busy machine what is reliable may be under way, or have
 * come, for longer. */
static void expect_packets_to_wait_at_last(uint64_t ahead_ns)
{
    for (uint32_t tries = 0; tries == 0 || calls > 0; tries++) {
        cr_assert_lt(tries, TRIES_MAX);
        ls_client_link_let_wait(client, true, ls_station_now_ns() + ahead_ns);
        send_to_client(LS_CHANNEL_UNRELIABLE);
        calls = 0;
        run_loop(WHILE_MS);
    }
}

Test(client_link, packets_do_not_wait_while_something_reliable_is_under_way)
{
    ls_packet_sink sink = ls_client_link_sink(client);
    let_wait();
    /* The server has one connection, which is the first of either side. */
    sink.send(sink.user, 1, LS_CHANNEL_RELIABLE, (const uint8_t *)"!", 1);
    ls_client_link_flush(client);
    let_wait();
    send_to_client(LS_CHANNEL_UNRELIABLE); /* and the acknowledgement */
    run_loop(WHILE_MS);
    cr_assert_geq(calls, 1);
    cr_assert_eq(rejected(), 1);
    expect_packets_to_wait_at_last(0);
}

Test(client_link, packets_do_not_wait_for_a_second_after_a_reliable_one)
{
    /* However busy the machine is, the packet comes no earlier, and the second ends no sooner. */
    uint64_t middle_ns = ls_station_now_ns() + LS_NS_PER_SECOND / 2;
    send_to_client(LS_CHANNEL_RELIABLE);
    run_loop(WHILE_MS);
    cr_assert_eq(rejected(), 1);
    calls = 0;
    ls_client_link_let_wait(client, true, middle_ns);
    send_to_client(LS_CHANNEL_UNRELIABLE);
    run_loop(WHILE_MS);
    cr_assert_geq(calls, 1);
    expect_packets_to_wait_at_last(LS_NS_PER_SECOND);
}
