#define _GNU_SOURCE
/* The socket by itself: what comes in batches, and what does not leave. Datagrams on the loopback
 * have come when the call that sends them returns. */
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/common/system/udp_socket.h"

#include <criterion/criterion.h>
#include <string.h>
#ifndef _WIN32
#include <netinet/in.h>
#include <sys/socket.h>
#endif

#define PATIENCE_NS (60 * LS_NS_PER_SECOND)

static ls_datagram_socket *server, *client;

static void open_sockets(void)
{
    ls_endpoint here;
    cr_assert_eq(ls_endpoint_resolve("127.0.0.1", 0, &here, NULL), LS_OK);
    cr_assert_eq(ls_udp_socket_listen(&here, ls_allocator_heap(), &server), LS_OK);
    here.port = ls_datagram_socket_port(server);
    cr_assert_eq(ls_udp_socket_connect(&here, ls_allocator_heap(), &client), LS_OK);
}

static void close_sockets(void)
{
    ls_datagram_socket_close(client);
    ls_datagram_socket_close(server);
}

TestSuite(udp_socket, .init = open_sockets, .fini = close_sockets);

static uint64_t now_ns(void)
{
    ls_clock clock = ls_clock_system();
    return ls_clock_now_ns(&clock);
}

static ls_udp_sent send_one(const uint8_t *bytes, size_t size)
{
    ls_datagram_socket_send(client, NULL, bytes, size);
    return ls_datagram_socket_flush(client);
}

Test(udp_socket, datagrams_come_in_order_with_their_sender_and_time)
{
    enum {
        COUNT = 100 /* more than come with one call, and the last call brings fewer */
    };
    uint64_t before_ns = now_ns();
    ls_datagram_socket_begin_turn(server, before_ns);
    for (uint8_t i = 0; i < COUNT; i++) {
        cr_assert_eq(send_one(&i, 1).lost, 0);
    }
    ls_datagram_socket_begin_turn(server, now_ns());
    ls_udp_datagram got;
    for (uint8_t i = 0; i < COUNT; i++) {
        cr_assert_eq(ls_datagram_socket_receive(server, &got), LS_UDP_RECEIVED);
        cr_assert(got.size == 1 && got.bytes[0] == i);
        cr_assert_eq(got.from.port, ls_datagram_socket_port(client));
        cr_assert_geq(got.arrived_ns, before_ns);
    }
    cr_assert_not(ls_datagram_socket_has_received(server));
    cr_assert_eq(ls_datagram_socket_receive(server, &got), LS_UDP_EMPTY);
    cr_assert_eq(ls_datagram_socket_receive(server, &got), LS_UDP_EMPTY);
    uint8_t late = 7;
    cr_assert_eq(send_one(&late, 1).lost, 0);
    ls_datagram_socket_begin_turn(server, now_ns());
    cr_assert_eq(ls_datagram_socket_receive(server, &got), LS_UDP_RECEIVED);
    cr_assert_eq(got.bytes[0], late);
}

/* The kernel begins to stamp some time after it was asked to; what comes before that has come when
 * it is read. */
#if defined(IP_PMTUDISC_PROBE) && !defined(LS_TEST_PORTABLE)
static int sending_mode(void)
{
    int mode = -1;
    socklen_t size = sizeof mode;
    cr_assert_eq(getsockopt(ls_datagram_socket_descriptor(server), IPPROTO_IP, IP_MTU_DISCOVER,
                            &mode, &size),
                 0);
    return mode;
}

static void answer(const ls_endpoint *to, size_t size)
{
    static const uint8_t bytes[LS_UDP_DATAGRAM_BYTES_MAX];
    ls_udp_datagram got;
    ls_datagram_socket_send(server, to, bytes, 1);
    ls_datagram_socket_send(server, to, bytes, size);
    cr_assert_eq(ls_datagram_socket_flush(server).lost, 0);
    ls_datagram_socket_begin_turn(client, now_ns());
    cr_assert_eq(ls_datagram_socket_receive(client, &got), LS_UDP_RECEIVED);
    cr_assert_eq(ls_datagram_socket_receive(client, &got), LS_UDP_RECEIVED);
    cr_assert_eq(got.size, size);
}

/* Each path carries a small datagram whole, and to number its pieces costs as much as a route. */
Test(udp_socket, a_server_lets_the_system_cut_what_is_not_small_alone)
{
    ls_endpoint to;
    cr_assert_eq(ls_endpoint_resolve("127.0.0.1", ls_datagram_socket_port(client), &to, NULL),
                 LS_OK);
    int usual = sending_mode();
    if (usual != IP_PMTUDISC_WANT) {
        cr_skip_test("this machine is told otherwise for all sockets");
    }
    answer(&to, 100);
    cr_expect_eq(sending_mode(), IP_PMTUDISC_PROBE);
    answer(&to, LS_UDP_DATAGRAM_BYTES_MAX);
    cr_expect_eq(sending_mode(), IP_PMTUDISC_WANT);
    answer(&to, 512);
    cr_expect_eq(sending_mode(), IP_PMTUDISC_PROBE);
    answer(&to, 513);
    cr_expect_eq(sending_mode(), IP_PMTUDISC_WANT);
}
#endif

Test(udp_socket, a_client_that_reads_late_learns_when_a_datagram_came)
{
    uint8_t byte = 9;
    ls_udp_datagram got;
    ls_datagram_socket_begin_turn(client, now_ns());
    ls_datagram_socket_begin_turn(server, now_ns());
    cr_assert_eq(send_one(&byte, 1).lost, 0);
    cr_assert_eq(ls_datagram_socket_receive(server, &got), LS_UDP_RECEIVED);
    ls_endpoint to = got.from;
    const uint64_t end_ns = now_ns() + PATIENCE_NS;
    bool is_known = false;
    while (!is_known) {
        uint64_t before_ns = now_ns();
        ls_datagram_socket_send(server, &to, &byte, 1);
        cr_assert_eq(ls_datagram_socket_flush(server).lost, 0);
        uint64_t after_ns = now_ns();
        ls_datagram_socket_begin_turn(client, now_ns());
        cr_assert_eq(ls_datagram_socket_receive(client, &got), LS_UDP_RECEIVED);
        cr_assert_eq(got.bytes[0], byte);
        is_known = got.arrived_ns >= before_ns && got.arrived_ns <= after_ns;
        cr_assert(is_known || after_ns < end_ns, "it came when it was read");
    }
}

Test(udp_socket, a_datagram_that_was_cut_tells_how_long_it_was)
{
    static uint8_t bytes[LS_UDP_DATAGRAM_BYTES_MAX + 100];
    memset(bytes, 5, sizeof bytes);
    cr_assert_eq(send_one(bytes, sizeof bytes).lost, 0);
    cr_assert_eq(send_one(bytes, LS_UDP_DATAGRAM_BYTES_MAX).lost, 0);
    ls_datagram_socket_begin_turn(server, now_ns());
    ls_udp_datagram got;
    cr_assert_eq(ls_datagram_socket_receive(server, &got), LS_UDP_RECEIVED);
    cr_assert_eq(got.size, sizeof bytes);
    cr_assert_eq(ls_datagram_socket_receive(server, &got), LS_UDP_RECEIVED);
    cr_assert_eq(got.size, LS_UDP_DATAGRAM_BYTES_MAX);
    cr_assert_eq(memcmp(got.bytes, bytes, got.size), 0);
}

/* The port is closed: the first datagram leaves, and the next call fails because of that one. */
Test(udp_socket, a_datagram_that_does_not_leave_is_told_apart)
{
    uint8_t byte = 1;
    ls_datagram_socket_close(server);
    server = NULL;
    ls_udp_sent sent = send_one(&byte, 1);
    cr_assert(sent.lost == 0 && sent.error == 0);
    ls_datagram_socket_send(client, NULL, &byte, 1);
    ls_datagram_socket_send(client, NULL, &byte, 1);
    sent = ls_datagram_socket_flush(client);
    cr_assert_eq(sent.lost & 1u, 1);
    cr_assert_neq(sent.error, 0);
    cr_assert_eq(sent.lost & ~UINT64_C(3), 0);
}
