#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/enet/enet_batch.h"
#include "lockstep/tests/loopback/station.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 10000,
    BURST = 64,
};

static ls_station server, client;
static ls_relay relay;

static void close_stations(void)
{
    ls_station_close(&client);
    ls_station_close(&server);
    ls_relay_close(&relay);
}

TestSuite(transport_enet_direct, .fini = close_stations);

/* ---- datagrams that are written here and not by ENet ---- */

typedef struct test_batch {
    ls_enet_batch *batch;
    int from, to; /* sockets */
    ls_enet_receiver receiver;
} test_batch;

static test_batch open_batch(void)
{
    test_batch test = {.receiver = {.host = htonl(INADDR_LOOPBACK), .seat = 0xffe, .session = 2}};
    uint16_t from_port = 0;
    test.from = ls_open_socket(&from_port);
    test.to = ls_open_socket(&test.receiver.port);
    cr_assert_eq(ls_enet_batch_create(ls_allocator_heap(), &test.batch), LS_OK);
    return test;
}

static void close_batch(test_batch *test)
{
    close(test->from);
    close(test->to);
    ls_enet_batch_destroy(test->batch);
}

/* Whether it was made a datagram of its own. */
static bool add(test_batch *test, uint16_t group, const void *bytes, size_t size)
{
    bool is_new = false;
    size_t added = ls_enet_batch_add(test->batch, &test->receiver, group, bytes, size, &is_new);
    cr_assert_eq(added, size + LS_ENET_UNSEQUENCED_BYTES + (is_new ? LS_ENET_HEADER_BYTES : 0));
    return is_new;
}

/* The next datagram that has come, which must pass for ENet's; 0 when there is none. */
static size_t take(const test_batch *test, uint8_t bytes[LS_ENET_DATAGRAM_BYTES_MAX])
{
    ssize_t size = recv(test->to, bytes, LS_ENET_DATAGRAM_BYTES_MAX, MSG_DONTWAIT);
    ls_enet_header header;
    if (size < 0) {
        return 0;
    }
    cr_assert_eq(ls_enet_datagram_read(bytes, (size_t)size, &header), LS_DATAGRAM_ACCEPTED);
    cr_assert_eq(ls_enet_datagram_check(bytes, (size_t)size, &header, 0), LS_DATAGRAM_ACCEPTED);
    cr_assert_eq(header.seat, test->receiver.seat);
    cr_assert_eq(header.session, test->receiver.session);
    cr_assert_not(header.is_connect || header.has_time);
    return (size_t)size;
}

Test(transport_enet_direct, packets_to_one_receiver_share_datagrams_that_fit_its_path)
{
    static const uint8_t large[LS_PACKET_BYTES_MAX];
    uint8_t bytes[LS_ENET_DATAGRAM_BYTES_MAX];
    test_batch test = open_batch();
    cr_assert(add(&test, 0xfffe, "abc", 3));
    cr_assert_not(add(&test, 0xffff, NULL, 0));
    cr_assert_not(add(&test, 0, large, 30));
    cr_assert(add(&test, 0, large, sizeof large));
    size_t left = LS_ENET_MTU_BYTES - LS_ENET_HEADER_BYTES - sizeof large;
    left -= 2 * (size_t)LS_ENET_UNSEQUENCED_BYTES;
    cr_assert_not(add(&test, 1, large, left));
    cr_assert(add(&test, 2, NULL, 0), "a full one");
    test.receiver.session ^= 1;
    cr_assert(add(&test, 3, NULL, 0), "another receiver");
    test.receiver.session ^= 1;
    cr_assert(add(&test, 4, NULL, 0));
    cr_assert_eq(ls_enet_batch_send(test.batch, test.from), 0);
    cr_assert_eq(take(&test, bytes), 2 + 8 + 3 + 8 + 8 + 30);
    static const uint8_t expected[] = {0x2f, 0xfe, 0x49, 0, 0, 0, 0xff, 0xfe, 0, 3, 'a',
                                       'b',  'c',  0x49, 0, 0, 0, 0xff, 0xff, 0, 0};
    cr_assert_arr_eq(bytes, expected, sizeof expected);
    cr_assert_eq(take(&test, bytes), LS_ENET_MTU_BYTES);
    cr_assert_eq(take(&test, bytes), 2 + 8);
    test.receiver.session ^= 1;
    cr_assert_eq(take(&test, bytes), 2 + 8);
    test.receiver.session ^= 1;
    cr_assert_eq(take(&test, bytes), 2 + 8);
    cr_assert_eq(take(&test, bytes), 0);
    close_batch(&test);
}

Test(transport_enet_direct, a_datagram_holds_at_most_32_packets)
{
    uint8_t bytes[LS_ENET_DATAGRAM_BYTES_MAX];
    test_batch test = open_batch();
    for (uint16_t i = 0; i <= LS_ENET_COMMANDS_MAX; i++) {
        cr_assert_eq(add(&test, i, NULL, 0), i % LS_ENET_COMMANDS_MAX == 0);
    }
    cr_assert_eq(ls_enet_batch_send(test.batch, test.from), 0);
    cr_assert_eq(take(&test, bytes), 2 + 32 * 8);
    cr_assert_eq(take(&test, bytes), 2 + 8);
    close_batch(&test);
}

static size_t fill(test_batch *test, size_t size)
{
    static const uint8_t zeros[LS_PACKET_BYTES_MAX];
    size_t count = 0;
    for (; ls_enet_batch_has_room(test->batch); count++) {
        test->receiver.seat = (uint16_t)count; /* none shares another's datagram */
        cr_assert(add(test, 0, zeros, size));
    }
    return count;
}

Test(transport_enet_direct, a_full_batch_says_so_and_is_empty_once_it_was_sent)
{
    uint8_t bytes[LS_ENET_DATAGRAM_BYTES_MAX];
    test_batch test = open_batch();
    for (int turn = 0; turn < 2; turn++) {
        cr_assert_eq(fill(&test, 1), LS_ENET_BATCH_DATAGRAMS_MAX);
        cr_assert_eq(ls_enet_batch_send(test.batch, test.from), 0);
        size_t large = fill(&test, LS_PACKET_BYTES_MAX);
        cr_assert(large > 1 && large < LS_ENET_BATCH_DATAGRAMS_MAX);
        cr_assert_eq(ls_enet_batch_send(test.batch, test.from), 0);
        for (size_t i = 0; i < LS_ENET_BATCH_DATAGRAMS_MAX + large; i++) {
            bool is_small = i < LS_ENET_BATCH_DATAGRAMS_MAX;
            test.receiver.seat = (uint16_t)(is_small ? i : i - LS_ENET_BATCH_DATAGRAMS_MAX);
            cr_assert_eq(take(&test, bytes), 10 + (is_small ? 1 : LS_PACKET_BYTES_MAX));
        }
        cr_assert_eq(take(&test, bytes), 0);
    }
    close_batch(&test);
}

Test(transport_enet_direct, a_packet_that_cannot_be_sent_holds_nothing_else_up)
{
    uint8_t bytes[LS_ENET_DATAGRAM_BYTES_MAX];
    test_batch test = open_batch();
    uint16_t port = test.receiver.port;
    for (int i = 0; i < 6; i++) {
        test.receiver.port = i % 3 == 1 ? 0 : port;
        add(&test, 0, "x", 1);
    }
    test.receiver.port = port;
    cr_assert_eq(ls_enet_batch_send(test.batch, test.from), EINVAL);
    for (int i = 0; i < 3; i++) { /* two of the four were of one datagram */
        cr_assert_eq(take(&test, bytes), i == 1 ? 2 + 9 + 9 : 2 + 9);
    }
    cr_assert_eq(take(&test, bytes), 0);
    close_batch(&test);
}

/* ---- whole transports ---- */

Test(transport_enet_direct, a_datagram_that_comes_again_is_taken_once)
{
    server = ls_station_listen(4);
    ls_stations_connect_through(&server, &client, &relay);
    uint64_t end_ns = ls_station_now_ns() + LS_STATION_PATIENCE_NS;
    for (size_t sent = 0; server.received_count < BURST;) {
        cr_assert_lt(ls_station_now_ns(), end_ns);
        if (sent == server.received_count) {
            ls_station_send(&client, LS_CHANNEL_UNRELIABLE, &sent, sizeof sent);
            sent++;
        }
        ls_stations_turn_through(&server, &client, &relay);
        bool is_plain = relay.last_up_size > 2 && relay.last_up[2] == 0x49;
        for (int i = 0; is_plain && i < 3; i++) {
            ls_relay_send_up(&relay, relay.last_up, relay.last_up_size);
        }
    }
    for (size_t i = 0; i < BURST; i++) {
        cr_assert_arr_eq(server.packets[i].bytes, &i, sizeof i);
    }
}

/* Their numbers have 16 bits. */
Test(transport_enet_direct, a_hundred_thousand_packets_are_all_told_apart)
{
    enum {
        TOTAL = 100000
    };
    ls_stations_connect(&server, &client, 4);
    for (size_t sent = 0; sent < TOTAL; sent += BURST) {
        for (size_t i = 0; i < BURST; i++) {
            ls_station_send(&client, LS_CHANNEL_UNRELIABLE, &i, sizeof i);
        }
        LS_RUN_UNTIL(server.received_count == sent + BURST, &client, &server);
    }
}

/* More than is kept beside ENet at a time, and both channels at once. */
Test(transport_enet_direct, a_burst_of_large_packets_arrives_on_both_lanes)
{
    static const uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_stations_connect(&server, &client, 4);
    for (size_t i = 0; i < BURST; i++) {
        ls_station_send(&client, i % 8 == 7 ? LS_CHANNEL_RELIABLE : LS_CHANNEL_UNRELIABLE, bytes,
                        sizeof bytes);
        ls_station_send(&server, i % 8 == 0 ? LS_CHANNEL_RELIABLE : LS_CHANNEL_UNRELIABLE, bytes,
                        sizeof bytes);
    }
    LS_RUN_UNTIL(server.received_count == BURST && client.received_count == BURST, &server,
                 &client);
}

static void send_number(ls_station *from, uint32_t number, size_t size)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX] = {0};
    memcpy(bytes, &number, sizeof number);
    ls_station_send(from, LS_CHANNEL_UNRELIABLE, bytes, size);
}

/* Packets 0, 1 and 2: one that is kept beside ENet, two that share a datagram and go through it.
 * Returns how many. */
static uint32_t send_both_ways_in(ls_station *from)
{
    send_number(from, 0, sizeof(uint32_t));
    ls_transport_flush(from->transport);
    send_number(from, 1, sizeof(uint32_t));
    send_number(from, 2, sizeof(uint32_t));
    ls_transport_flush(from->transport);
    return 3;
}

/* Some are kept beside ENet; those that share a datagram, or that find no room, go through it. */
Test(transport_enet_direct, packets_are_taken_in_the_order_in_which_they_came)
{
    ls_stations_connect(&server, &client, 4);
    uint32_t sent = send_both_ways_in(&client);
    LS_RUN_UNTIL(server.received_count == sent, &server);
    while (sent < BURST) {
        send_number(&client, sent++, LS_PACKET_BYTES_MAX);
    }
    ls_transport_flush(client.transport);
    LS_RUN_UNTIL(server.received_count == sent, &server);
    for (uint32_t i = 0; i < sent; i++) {
        cr_expect_arr_eq(server.packets[i].bytes, &i, sizeof i, "packet %u", i);
        cr_expect(i == 0 || server.packets[i].arrived_ns >= server.packets[i - 1].arrived_ns);
    }
}

/* Takes packet 0 of send_both_ways_in; the others have come as well and wait. */
static void take_first(ls_station *station)
{
    ls_transport_event event = {.kind = LS_TRANSPORT_CONNECTED};
    uint64_t end_ns = ls_station_now_ns() + LS_STATION_PATIENCE_NS;
    while (event.kind != LS_TRANSPORT_RECEIVED) {
        cr_assert_lt(ls_station_now_ns(), end_ns);
        ls_transport_enet_service(station->transport);
        ls_transport_next_event(station->transport, &event);
    }
}

Test(transport_enet_direct, nothing_is_heard_of_a_peer_that_was_told_to_go)
{
    ls_stations_connect(&server, &client, 4);
    send_both_ways_in(&client);
    send_both_ways_in(&client);
    take_first(&server);
    ls_transport_disconnect(server.transport, server.connected[0]);
    LS_RUN_UNTIL(client.disconnected_count == 1 && server.disconnected_count == 1, &server,
                 &client);
    cr_assert_eq(server.received_count, 0);
}

Test(transport_enet_direct, nothing_of_the_old_connection_is_heard_on_the_new_one)
{
    ls_stations_connect(&server, &client, 4);
    send_both_ways_in(&server);
    take_first(&client);
    cr_assert_eq(ls_transport_enet_reconnect(client.transport, TIMEOUT_MS * LS_NS_PER_MS), LS_OK);
    LS_RUN_UNTIL(client.connected_count == 2 && server.connected_count == 2, &server, &client);
    cr_assert_eq(client.received_count, 0);
    send_both_ways_in(&server); /* to the old one */
    server.connected[0] = server.connected[1];
    send_both_ways_in(&server);
    take_first(&client); /* and the rest waits when it is closed */
}
