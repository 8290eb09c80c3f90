#include "lockstep/common/base/clock.h"
#include "lockstep/tests/loopback/station.h"

enum {
    TIMEOUT_MS = 10000,
    QUIET_MS = 60
};

static ls_station server, client;
static ls_relay relay;
static ls_relay exchange; /* as it was when the keys were there: that is no peer's traffic yet */

static void close_stations(void)
{
    ls_station_close(&client);
    ls_station_close(&server);
    ls_relay_close(&relay);
}

TestSuite(transport_udp_traffic, .fini = close_stations);

static void connect_through_relay(void)
{
    server = ls_station_listen(4);
    ls_stations_connect_through(&server, &client, &relay);
    exchange = relay;
    exchange.up_packets -= ls_station_traffic(&client).packets_sent;
    exchange.up_bytes -= ls_station_traffic(&client).bytes_sent;
}

static bool is_same(ls_transport_traffic a, ls_transport_traffic b)
{
    return a.bytes_sent == b.bytes_received && a.packets_sent == b.packets_received &&
           a.bytes_received == b.bytes_sent && a.packets_received == b.packets_sent;
}

/* Until no datagram is on its way: every one that was sent has passed. */
static void settle(void)
{
    uint64_t packets;
    do {
        packets = relay.up_packets + relay.down_packets;
        for (int i = 0; i < 20; i++) {
            ls_stations_turn_through(&server, &client, &relay);
        }
    } while (packets != relay.up_packets + relay.down_packets);
}

static void assert_counts_agree(void)
{
    ls_transport_traffic up = ls_station_traffic(&client);
    ls_transport_traffic down = ls_station_traffic(&server);
    cr_assert_eq(up.bytes_sent, relay.up_bytes - exchange.up_bytes);
    cr_assert_eq(up.packets_sent, relay.up_packets - exchange.up_packets);
    cr_assert_eq(up.bytes_received, relay.down_bytes - exchange.down_bytes);
    cr_assert_eq(up.packets_received, relay.down_packets - exchange.down_packets);
    cr_assert(is_same(up, down));
    cr_assert(is_same(ls_transport_udp_total(client.transport),
                      ls_transport_udp_total(server.transport)));
    cr_assert_eq(ls_transport_udp_total(client.transport).bytes_sent, relay.up_bytes);
}

Test(transport_udp_traffic, every_byte_that_a_relay_sees_is_counted)
{
    connect_through_relay();
    settle();
    assert_counts_agree();
    uint8_t bytes[LS_PACKET_BYTES_MAX] = {0};
    for (size_t i = 0; i < 200; i++) {
        ls_station_send(&client, i % 3 == 0 ? LS_CHANNEL_RELIABLE : LS_CHANNEL_UNRELIABLE, bytes,
                        i);
        ls_station_send(&server, i % 5 == 0 ? LS_CHANNEL_RELIABLE : LS_CHANNEL_UNRELIABLE, bytes,
                        i * LS_PACKET_BYTES_MAX / 200);
        ls_stations_turn_through(&server, &client, &relay);
    }
    settle();
    cr_assert_eq(server.received_count, 200);
    cr_assert_eq(client.received_count, 200);
    cr_assert_gt(relay.up_packets, 200);
    assert_counts_agree();
}

typedef struct test_cost {
    uint64_t bytes;
    uint64_t packets;
} test_cost;

static void measure_once(ls_channel channel, size_t size, test_cost *up, test_cost *down)
{
    connect_through_relay();
    settle();
    ls_relay before = relay;
    static const uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_station_send(&client, channel, bytes, size);
    settle();
    *up = (test_cost){relay.up_bytes - before.up_bytes, relay.up_packets - before.up_packets};
    *down =
        (test_cost){relay.down_bytes - before.down_bytes, relay.down_packets - before.down_packets};
    close_stations();
}

/* The cost of one packet of the client, both ways, until nothing more follows from it. The least of
 * some tries: a repeat may fall into one. */
static void measure(ls_channel channel, size_t size, test_cost *up, test_cost *down)
{
    *up = *down = (test_cost){UINT64_MAX, UINT64_MAX};
    for (int i = 0; i < 4; i++) {
        test_cost try_up, try_down;
        measure_once(channel, size, &try_up, &try_down);
        *up = try_up.bytes < up->bytes ? try_up : *up;
        *down = try_down.bytes < down->bytes ? try_down : *down;
    }
}

Test(transport_udp_traffic, an_unreliable_packet_costs_48_bytes_of_headers)
{
    test_cost up, down;
    measure(LS_CHANNEL_UNRELIABLE, 15, &up, &down);
    cr_assert_eq(up.packets, 1);
    cr_assert_eq(up.bytes, 28 + 4 + 16 + 15);
    cr_assert_eq(down.packets, 0);
}

Test(transport_udp_traffic, a_reliable_packet_costs_58_bytes_and_nearly_as_much_for_its_answer)
{
    test_cost up, down;
    measure(LS_CHANNEL_RELIABLE, 15, &up, &down);
    cr_assert_eq(up.packets, 1);
    cr_assert_eq(up.bytes, 28 + 4 + 16 + 10 + 15);
    cr_assert_eq(down.packets, 1);
    cr_assert_eq(down.bytes, 28 + 3 + 16 + 10);
}

Test(transport_udp_traffic, no_datagram_exceeds_a_path_of_1280_bytes)
{
    connect_through_relay();
    static const uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_station_send(&client, LS_CHANNEL_UNRELIABLE, bytes, 100);
    ls_station_send(&client, LS_CHANNEL_UNRELIABLE, bytes, sizeof bytes);
    ls_station_send(&client, LS_CHANNEL_UNRELIABLE, bytes, sizeof bytes);
    settle();
    cr_assert_eq(server.received_count, 3);
    cr_assert_gt(relay.largest_up_size, LS_PACKET_BYTES_MAX);
    cr_assert_leq(relay.largest_up_size, 1280 - 28);
}

static bool are_shares_equal(const ls_station *clients, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ls_transport_traffic share = ls_transport_traffic_of(server.transport, server.connected[i]);
        if (!is_same(share, ls_station_traffic(&clients[i]))) {
            return false;
        }
    }
    return true;
}

/* With several peers that send, are answered and are silent at the same time. */
Test(transport_udp_traffic, each_peers_share_is_exact_and_the_shares_are_the_whole)
{
    enum {
        CLIENTS = 5,
        PACKETS = 600
    };
    server = ls_station_listen(CLIENTS + 3);
    uint16_t port = ls_station_port(&server);
    ls_station clients[CLIENTS];
    ls_station *all[CLIENTS + 1] = {[CLIENTS] = &server};
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = ls_station_connect(port, TIMEOUT_MS);
        all[i] = &clients[i];
        LS_RUN_UNTIL(server.connected_count == i + 1 && clients[i].connected_count == 1, &server,
                     &clients[i]);
    }
    ls_transport_traffic exchanged = ls_transport_udp_total(server.transport);
    for (size_t i = 0; i < CLIENTS; i++) {
        ls_transport_traffic share = ls_transport_traffic_of(server.transport, server.connected[i]);
        exchanged.bytes_sent -= share.bytes_sent;
        exchanged.bytes_received -= share.bytes_received;
    }
    static const uint8_t bytes[LS_PACKET_BYTES_MAX];
    uint64_t end = ls_station_now_ns() + LS_STATION_PATIENCE_NS;
    for (size_t i = 0; i < PACKETS; i++) {
        ls_station *sender = &clients[i * i % CLIENTS];
        ls_station_send(sender, i % 2 ? LS_CHANNEL_RELIABLE : LS_CHANNEL_UNRELIABLE, bytes, i);
        ls_transport_flush(sender->transport);
        ls_peer_id peer = server.connected[(i * 7 + i / 3) % 4]; /* one hears answers only */
        ls_transport_send(server.transport, peer,
                          i % 7 ? LS_CHANNEL_UNRELIABLE : LS_CHANNEL_RELIABLE, bytes,
                          i * LS_PACKET_BYTES_MAX / PACKETS);
        if (i % 4 == 0) {
            ls_stations_turn(all, CLIENTS + 1);
        }
    }
    while (server.received_count < PACKETS || !are_shares_equal(clients, CLIENTS)) {
        cr_assert_lt(ls_station_now_ns(), end, "%zu received", server.received_count);
        ls_stations_turn(all, CLIENTS + 1);
    }
    ls_transport_traffic sum = {0};
    for (size_t i = 0; i < CLIENTS; i++) {
        ls_transport_traffic share = ls_transport_traffic_of(server.transport, server.connected[i]);
        cr_assert_gt(share.packets_sent, 10);
        sum.bytes_sent += share.bytes_sent;
        sum.bytes_received += share.bytes_received;
    }
    ls_transport_traffic total = ls_transport_udp_total(server.transport);
    cr_assert_eq(sum.bytes_sent, total.bytes_sent - exchanged.bytes_sent);
    cr_assert_eq(sum.bytes_received, total.bytes_received - exchanged.bytes_received);
    for (size_t i = 0; i <= CLIENTS; i++) {
        ls_station_close(all[i]);
    }
}

/* Two packets that wait together, and whether each came between the moments before and after it was
 * sent. */
static bool are_arrivals_known(void)
{
    uint64_t before_ns[2], after_ns[2];
    size_t first = server.received_count;
    for (size_t i = 0; i < 2; i++) {
        before_ns[i] = ls_station_now_ns();
        ls_station_send(&client, LS_CHANNEL_UNRELIABLE, &i, sizeof i);
        ls_station_turn(&client);
        after_ns[i] = ls_station_now_ns();
    }
    LS_RUN_UNTIL(server.received_count == first + 2, &server);
    bool are_known = true;
    for (size_t i = 0; i < 2; i++) {
        uint64_t arrived_ns = server.packets[(first + i) % LS_STATION_PACKETS_MAX].arrived_ns;
        are_known = are_known && arrived_ns >= before_ns[i] && arrived_ns <= after_ns[i];
    }
    return are_known;
}

/* A server that takes its packets now and then knows when each of them came. It relates the
 * kernel's clock to its own anew at each turn, less well where it has to wait for the processor
 * between the two; and the kernel begins to stamp some time after it was asked to. */
Test(transport_udp_traffic, a_packet_that_waits_has_not_arrived_later)
{
    ls_stations_connect(&server, &client, 4);
    LS_RUN_UNTIL(are_arrivals_known(), &server, &client);
}

/* With packets of both channels to and from both in one turn. */
Test(transport_udp_traffic, answers_to_two_peers_in_one_turn_are_told_apart)
{
    server = ls_station_listen(2);
    uint16_t port = ls_station_port(&server);
    ls_station clients[2];
    for (size_t i = 0; i < 2; i++) {
        clients[i] = ls_station_connect(port, TIMEOUT_MS);
        LS_RUN_UNTIL(server.connected_count == i + 1 && clients[i].connected_count == 1, &server,
                     &clients[i]);
    }
    uint64_t end = ls_station_now_ns() + LS_STATION_PATIENCE_NS;
    ls_station *const all[] = {&clients[0], &clients[1], &server};
    for (int round = 0; round < 20; round++) {
        ls_station_send(&server, LS_CHANNEL_UNRELIABLE, "", 0);
        ls_transport_flush(server.transport);
        for (int i = 0; i < 3; i++) {
            ls_station_send(&clients[0], LS_CHANNEL_RELIABLE, "", 0);
        }
        ls_station_send(&clients[1], LS_CHANNEL_RELIABLE, "", 0);
        ls_transport_flush(clients[0].transport);
        ls_transport_flush(clients[1].transport);
        do {
            cr_assert_lt(ls_station_now_ns(), end);
            ls_station_turn(&server);
            ls_stations_turn(all, 3);
        } while (!are_shares_equal(clients, 2));
    }
    cr_assert_eq(server.received_count, 20 * 4);
    ls_station_close(&clients[0]);
    ls_station_close(&clients[1]);
    ls_station_close(&server);
}
