/* Transport over UDP: hostile datagrams, and what it sends. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/language.h"
#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/tests/loopback/station.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ==== transport_udp_hostile ==== */

/* Sealed peer: a client in a test that has its keys and says with them whatever the test likes. */
typedef struct sealed_peer {
    ls_sealed_client *client;
    int descriptor;
    uint16_t server_port;
    uint8_t last[LS_SEALED_DATAGRAM_BYTES_MAX]; /* the newest datagram that it sent */
    size_t last_size;
    uint32_t received; /* datagrams that opened */
} sealed_peer;

static void send_raw(sealed_peer *peer, const uint8_t *bytes, size_t size)
{
    memcpy(peer->last, bytes, size);
    peer->last_size = size;
    ls_send_datagram(peer->descriptor, peer->server_port, bytes, size);
}

/* Seals content and sends it; returns the size of the datagram. */
static size_t sealed_peer_send(sealed_peer *peer, ls_sealed_content content, const void *bytes,
                               size_t size)
{
    uint8_t datagram[LS_SEALED_DATAGRAM_BYTES_MAX];
    cr_assert_leq(size, LS_SEALED_CONTENT_BYTES_MAX);
    if (size > 0) {
        memcpy(datagram + LS_SEALED_CLIENT_HEADER_BYTES, bytes, size);
    }
    size_t sealed = ls_sealed_client_seal(peer->client, content, datagram, size);
    send_raw(peer, datagram, sealed);
    return sealed;
}

/* Takes what the server has sent, and answers as a client must. */
static void sealed_peer_receive(sealed_peer *peer)
{
    uint8_t datagram[2048];
    ssize_t size;
    while ((size = recv(peer->descriptor, datagram, sizeof datagram, MSG_DONTWAIT)) >= 0) {
        ls_sealed_client_received got;
        ls_sealed_client_receive(peer->client, datagram, (size_t)size, ls_station_now_ns(), &got);
        peer->received += got.rejection == LS_SEALED_ACCEPTED ? 1 : 0;
        for (uint32_t i = 0; i < got.answer_count; i++) {
            send_raw(peer, got.answers[i].bytes, got.answers[i].size);
        }
    }
}

/* Exchanges keys with a server, which is turned meanwhile. */
static sealed_peer sealed_peer_join(ls_station *server)
{
    uint16_t unused;
    sealed_peer peer = {.server_port = ls_station_port(server)};
    ls_sealed_client_config config = {0};
    peer.descriptor = ls_open_socket(&unused);
    cr_assert_eq(ls_sealed_client_create(&config, ls_allocator_heap(), &peer.client), LS_OK);
    ls_sealed_client_start(peer.client, ls_station_now_ns());
    uint64_t end_ns = ls_station_now_ns() + LS_STATION_PATIENCE_NS;
    size_t before = server->connected_count;
    while (ls_sealed_client_state_of(peer.client) != LS_SEALED_CLIENT_OPEN) {
        uint8_t datagram[LS_SEALED_DATAGRAM_BYTES_MAX];
        size_t size = ls_sealed_client_pop_due(peer.client, ls_station_now_ns(), datagram);
        if (size > 0) {
            send_raw(&peer, datagram, size);
        }
        ls_station_turn(server);
        sealed_peer_receive(&peer);
        cr_assert_lt(ls_station_now_ns(), end_ns);
    }
    sealed_peer_send(&peer, LS_SEALED_PACKETS, NULL, 0);
    LS_RUN_UNTIL(server->connected_count == before + 1, server);
    return peer;
}

static void sealed_peer_leave(sealed_peer *peer)
{
    close(peer->descriptor);
    ls_sealed_client_destroy(peer->client);
    peer->client = NULL;
}

/* From now on it is at another address. */
static void sealed_peer_move(sealed_peer *peer)
{
    uint16_t unused;
    int other = ls_open_socket(&unused);
    close(peer->descriptor);
    peer->descriptor = other;
}

enum {
    HOSTILE_ROUNDS = 400,
    HOSTILE_PER_ROUND = 50,
    GROWTH_BYTES_MAX = 1 << 20,
};

/* Memory in use: of the heap where a sanitizer counts it (it holds freed blocks back), of the
 * process elsewhere. */
#if LS_HAS_ADDRESS_SANITIZER
size_t __sanitizer_get_current_allocated_bytes(void);

static size_t memory_bytes(void)
{
    return __sanitizer_get_current_allocated_bytes();
}
#else
static size_t memory_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%*u %lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}
#endif

static ls_station server;

static void close_server(void)
{
    ls_station_close(&server);
}

TestSuite(transport_udp_hostile, .fini = close_server);

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static uint64_t all_rejections(void)
{
    uint64_t sum = 0;
    for (int reason = 0; reason < LS_SEALED_REJECTION_COUNT; reason++) {
        sum += ls_transport_udp_rejections(server.transport, (ls_sealed_rejection)reason);
    }
    for (int reason = 0; reason < LS_DATAGRAM_REJECTION_COUNT; reason++) {
        sum += ls_transport_udp_enet_rejections(server.transport, (ls_datagram_rejection)reason);
    }
    return sum;
}

static uint64_t rejections(ls_sealed_rejection reason)
{
    return ls_transport_udp_rejections(server.transport, reason);
}

/* An honest client whose every packet must come back, whatever else happens. */
typedef struct test_honest {
    ls_station station;
    uint32_t sent;
} test_honest;

static test_honest join_honest(void)
{
    test_honest honest = {.sent = 0};
    ls_stations_connect(&server, &honest.station, 8);
    return honest;
}

static void honest_send(test_honest *honest)
{
    uint32_t number = honest->sent++;
    ls_station_send(&honest->station, LS_CHANNEL_RELIABLE, &number, sizeof number);
    ls_transport_flush(honest->station.transport);
}

static void assert_honest_is_served(test_honest *honest)
{
    ls_station *client = &honest->station;
    LS_RUN_UNTIL(client->received_count == honest->sent, &server, client);
    cr_assert_eq(client->disconnected_count, 0);
    uint32_t last = 0;
    memcpy(&last, ls_station_newest(client)->bytes, sizeof last);
    cr_assert_eq(last, honest->sent - 1);
}

/* A hostile peer: it has its keys, and says with them what no client of ours would. */
typedef struct test_hostile {
    sealed_peer peer;
    uint32_t random;
    size_t connections;
} test_hostile;

static void hostile_join(test_hostile *hostile)
{
    hostile->peer = sealed_peer_join(&server);
    hostile->connections++;
}

static size_t put_u16(uint8_t *bytes, size_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
    return 2;
}

/* Header of ENet's datagrams, with a time so that any command may follow. */
static size_t put_header(uint8_t *bytes)
{
    put_u16(bytes, 0x8000);
    return 2 + put_u16(bytes + 2, 0);
}

static size_t put_command(uint8_t *bytes, uint8_t command, uint8_t channel, unsigned sequence)
{
    bytes[0] = command;
    bytes[1] = channel;
    return 2 + put_u16(bytes + 2, sequence);
}

static size_t make_random(test_hostile *hostile, uint8_t *bytes, size_t limit)
{
    size_t size = next_random(&hostile->random) % limit;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)next_random(&hostile->random);
    }
    return size;
}

/* A datagram of its own, sealed, and then altered. */
static size_t make_mutated(test_hostile *hostile, uint8_t *bytes)
{
    size_t size = hostile->peer.last_size;
    memcpy(bytes, hostile->peer.last, size);
    uint32_t changes = next_random(&hostile->random) % 6;
    for (uint32_t i = 0; i < changes; i++) {
        bytes[next_random(&hostile->random) % size] = (uint8_t)next_random(&hostile->random);
    }
    return next_random(&hostile->random) % 4 == 0 ? 1 + next_random(&hostile->random) % size : size;
}

/* ENet's format up to the command: numbers, sizes and payloads are anything. */
static size_t make_crafted(test_hostile *hostile, uint8_t *bytes)
{
    static const uint8_t commands[] = {0x01, 0x83, 0x84, 0x44, 0x85, 0x86, 0x87, 0x07,
                                       0x88, 0x49, 0x8a, 0x8b, 0x0c, 0x06, 0x82, 0x09};
    size_t size = put_header(bytes);
    uint32_t count = 1 + next_random(&hostile->random) % 8;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t command = commands[next_random(&hostile->random) % sizeof commands];
        uint8_t channel = next_random(&hostile->random) % 2 ? 0 : 0xff;
        size += put_command(bytes + size, command, channel, next_random(&hostile->random));
        size_t body = next_random(&hostile->random) % 48;
        for (size_t j = 0; j < body; j++) {
            bytes[size++] =
                next_random(&hostile->random) % 3 ? 0 : (uint8_t)next_random(&hostile->random);
        }
    }
    return size;
}

static void throw_one(test_hostile *hostile, int unknown_peer)
{
    uint8_t bytes[4096];
    uint16_t port = hostile->peer.server_port;
    ls_sealed_content content =
        (ls_sealed_content)(next_random(&hostile->random) % LS_SEALED_CONTENT_COUNT);
    switch (next_random(&hostile->random) % 5) {
    case 0:
        ls_send_datagram(unknown_peer, port, bytes, make_random(hostile, bytes, 1500));
        break;
    case 1:
        ls_send_datagram(unknown_peer, port, bytes, make_mutated(hostile, bytes));
        break;
    case 2:
        ls_send_datagram(hostile->peer.descriptor, port, bytes, make_mutated(hostile, bytes));
        break;
    case 3:
        sealed_peer_send(&hostile->peer, content, bytes,
                         make_random(hostile, bytes, LS_SEALED_CONTENT_BYTES_MAX));
        break;
    default:
        sealed_peer_send(&hostile->peer, LS_SEALED_ENET, bytes, make_crafted(hostile, bytes));
        break;
    }
}

Test(transport_udp_hostile, twenty_thousand_bad_datagrams_change_nothing_for_others)
{
    test_honest honest = join_honest();
    server.echoes = true;
    uint16_t unused;
    int unknown_peer = ls_open_socket(&unused);
    test_hostile hostile = {.random = 2024};
    hostile_join(&hostile);
    size_t warm_bytes = 0;
    for (int round = 0; round < HOSTILE_ROUNDS; round++) {
        for (int i = 0; i < HOSTILE_PER_ROUND; i++) {
            throw_one(&hostile, unknown_peer);
        }
        honest_send(&honest);
        ls_station_turn(&honest.station);
        ls_station_turn(&server);
        sealed_peer_receive(&hostile.peer);
        if (server.disconnected_count > 0) {
            sealed_peer_leave(&hostile.peer);
            server.connected_count = 1;
            server.disconnected_count = 0;
            hostile_join(&hostile);
        }
        warm_bytes = round == HOSTILE_ROUNDS / 4 ? memory_bytes() : warm_bytes;
    }
    assert_honest_is_served(&honest);
    cr_assert_eq(honest.sent, HOSTILE_ROUNDS);
    cr_assert_lt(memory_bytes(), warm_bytes + GROWTH_BYTES_MAX);
    /* It was an attack: most kinds of bad datagram came, and some got as far as ENet. */
    static const ls_sealed_rejection expected[] = {
        LS_SEALED_REJECT_MALFORMED, LS_SEALED_REJECT_UNKNOWN_PEER, LS_SEALED_REJECT_FORGED,
        LS_SEALED_REJECT_REPEATED};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        cr_assert_gt(rejections(expected[i]), 10, "%zu", i);
    }
    cr_assert_gt(ls_transport_udp_enet_rejections(server.transport, LS_DATAGRAM_UNSUPPORTED), 10);
    cr_assert_gt(all_rejections(), HOSTILE_ROUNDS * HOSTILE_PER_ROUND / 2);
    sealed_peer_leave(&hostile.peer);
    ls_station_close(&honest.station);
    close(unknown_peer);
}

/* Each attack would make ENet keep every datagram: it waits for what never comes. */
static size_t make_waiting_unreliable(uint8_t *bytes, unsigned number)
{
    size_t size = put_header(bytes);
    for (unsigned i = 0; i < 30; i++) {
        size += put_command(bytes + size, 0x07, 0, 9);
        size += put_u16(bytes + size, number * 30 + i);
        size += put_u16(bytes + size, 0);
    }
    return size;
}

static size_t make_waiting_reliable(uint8_t *bytes, unsigned number)
{
    size_t size = put_header(bytes);
    for (unsigned i = 0; i < 30; i++) {
        size += put_command(bytes + size, 0x86, 0, 20 + (number * 30 + i) % 20000);
        size += put_u16(bytes + size, 0);
    }
    return size;
}

static size_t make_fragment(uint8_t *bytes, unsigned number)
{
    size_t size = put_header(bytes);
    size += put_command(bytes + size, 0x88, 0, 20 + number % 20000);
    size += put_u16(bytes + size, 20 + number % 20000);
    static const uint8_t one_byte_of_1024_in_fragment_0_of_2[19] = {[1] = 1, [5] = 2, [12] = 0x04};
    memcpy(bytes + size, one_byte_of_1024_in_fragment_0_of_2, 19);
    return size + 19;
}

static void assert_memory_is_bounded(size_t (*make)(uint8_t *, unsigned), size_t growth_max)
{
    enum {
        DATAGRAMS = 3000
    };
    server = ls_station_listen(4);
    test_hostile hostile = {.random = 1};
    hostile_join(&hostile);
    size_t before = memory_bytes();
    for (unsigned number = 0; number < DATAGRAMS; number++) {
        uint8_t bytes[1500];
        sealed_peer_send(&hostile.peer, LS_SEALED_ENET, bytes, make(bytes, number));
        if (number % 100 == 0) {
            ls_station_turn(&server);
        }
    }
    ls_station_turn(&server);
    cr_assert_gt(ls_transport_udp_total(server.transport).packets_received, DATAGRAMS / 2);
    cr_assert_lt(memory_bytes(), before + growth_max);
    sealed_peer_leave(&hostile.peer);
}

Test(transport_udp_hostile, sequenced_packets_that_wait_for_ever_are_not_kept)
{
    assert_memory_is_bounded(make_waiting_unreliable, GROWTH_BYTES_MAX);
}

Test(transport_udp_hostile, fragments_that_are_never_complete_are_not_kept)
{
    assert_memory_is_bounded(make_fragment, GROWTH_BYTES_MAX);
}

Test(transport_udp_hostile, reliable_packets_ahead_of_a_gap_are_kept_up_to_the_limit)
{
    assert_memory_is_bounded(make_waiting_reliable, GROWTH_BYTES_MAX + LS_RELIABLE_AHEAD_MAX * 256);
}

Test(transport_udp_hostile, datagrams_of_every_size_from_unknown_peers_are_dropped_and_counted)
{
    test_honest honest = join_honest();
    server.echoes = true;
    uint16_t port = ls_station_port(&server);
    uint16_t unused;
    int unknown_peer = ls_open_socket(&unused);
    static const size_t sizes[] = {0,    1,    2,    3,    4,    5,    51,  52,
                                   1252, 2047, 2048, 2049, 4096, 4097, 9000};
    static const uint8_t zeros[9000];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ls_send_datagram(unknown_peer, port, zeros, sizes[i]);
        honest_send(&honest);
        assert_honest_is_served(&honest);
    }
    cr_assert_eq(rejections(LS_SEALED_REJECT_MALFORMED), sizeof sizes / sizeof sizes[0]);
    cr_assert_eq(server.connected_count, 1);
    ls_station_close(&honest.station);
    close(unknown_peer);
}

static void assert_held_up_by_none_of_size(size_t size)
{
    enum {
        DATAGRAMS = 40,
        TURNS_MAX = 10
    };
    test_honest honest = join_honest();
    uint16_t port = ls_station_port(&server);
    uint16_t unused;
    int unknown_peer = ls_open_socket(&unused);
    static const uint8_t zeros[4097];
    for (int i = 0; i < DATAGRAMS; i++) {
        ls_send_datagram(unknown_peer, port, zeros, size);
    }
    honest_send(&honest);
    size_t turns = 0;
    for (; server.received_count == 0; turns++) {
        ls_station *const alone[] = {&server};
        ls_stations_turn(alone, 1);
        cr_assert_leq(turns, TURNS_MAX);
    }
    cr_assert_eq(rejections(LS_SEALED_REJECT_MALFORMED), DATAGRAMS);
    ls_station_close(&honest.station);
    close(unknown_peer);
}

Test(transport_udp_hostile, datagrams_too_long_to_receive_hold_nobody_up)
{
    assert_held_up_by_none_of_size(4097);
}

Test(transport_udp_hostile, datagrams_without_a_byte_hold_nobody_up)
{
    assert_held_up_by_none_of_size(0);
}

/* One byte too long, then as long as is allowed; alone and among others. */
Test(transport_udp_hostile, an_oversize_packet_of_a_peer_is_dropped_and_counted)
{
    server = ls_station_listen(4);
    test_hostile hostile = {.random = 1};
    hostile_join(&hostile);
    uint8_t bytes[LS_PACKET_BYTES_MAX + 3] = {0};
    sealed_peer_send(&hostile.peer, LS_SEALED_PACKET, bytes, LS_PACKET_BYTES_MAX + 1);
    bytes[0] = (uint8_t)(LS_PACKET_BYTES_MAX + 1);
    bytes[1] = (uint8_t)((LS_PACKET_BYTES_MAX + 1) >> 8);
    sealed_peer_send(&hostile.peer, LS_SEALED_PACKETS, bytes, LS_PACKET_BYTES_MAX + 3);
    LS_RUN_UNTIL(rejections(LS_SEALED_REJECT_MALFORMED) == 2, &server);
    cr_assert_eq(server.received_count, 0);
    sealed_peer_send(&hostile.peer, LS_SEALED_PACKET, bytes, LS_PACKET_BYTES_MAX);
    LS_RUN_UNTIL(server.received_count == 1, &server);
    cr_assert_eq(ls_station_newest(&server)->size, LS_PACKET_BYTES_MAX);
    sealed_peer_leave(&hostile.peer);
}

Test(transport_udp_hostile, a_flood_of_good_packets_ends_a_turn)
{
    enum {
        FLOOD = 1500,
        TURN_MAX = 512 + 256
    };
    server = ls_station_listen(4);
    test_hostile hostile = {.random = 1};
    hostile_join(&hostile);
    for (unsigned number = 1; number <= FLOOD; number++) {
        sealed_peer_send(&hostile.peer, LS_SEALED_PACKET, &number, sizeof number);
    }
    size_t turns = 0;
    for (size_t before = 1; before != server.received_count; turns++) {
        before = server.received_count;
        ls_station_turn(&server);
        cr_assert_leq(server.received_count - before, TURN_MAX);
    }
    /* All came, or as many as the socket could hold. */
    cr_assert_gt(server.received_count, 100);
    cr_assert_gt(turns, 1);
    sealed_peer_leave(&hostile.peer);
}

/* Somebody who saw a datagram sends it again, from the address that it came from or another. */
Test(transport_udp_hostile, a_datagram_that_is_sent_again_is_not_heard_again)
{
    server = ls_station_listen(4);
    test_hostile hostile = {.random = 1};
    hostile_join(&hostile);
    uint16_t unused;
    int unknown_peer = ls_open_socket(&unused);
    sealed_peer_send(&hostile.peer, LS_SEALED_PACKET, "once", 4);
    LS_RUN_UNTIL(server.received_count == 1, &server);
    for (int i = 0; i < 10; i++) {
        int from = i % 2 ? unknown_peer : hostile.peer.descriptor;
        ls_send_datagram(from, hostile.peer.server_port, hostile.peer.last, hostile.peer.last_size);
    }
    LS_RUN_UNTIL(rejections(LS_SEALED_REJECT_REPEATED) == 10, &server);
    cr_assert_eq(server.received_count, 1);
    sealed_peer_leave(&hostile.peer);
    close(unknown_peer);
}

/* The server answers at the new address once that is proven, and loses nothing of what came. */
Test(transport_udp_hostile, a_peer_that_moves_is_followed)
{
    server = ls_station_listen(4);
    test_hostile hostile = {.random = 1};
    hostile_join(&hostile);
    char before[LS_TRANSPORT_UDP_ADDRESS_BYTES], after[LS_TRANSPORT_UDP_ADDRESS_BYTES];
    ls_peer_id peer = server.connected[0];
    cr_assert_eq(ls_transport_udp_address(server.transport, peer, before), LS_OK);
    sealed_peer_move(&hostile.peer);
    uint64_t end_ns = ls_station_now_ns() + LS_STATION_PATIENCE_NS;
    uint32_t sent = 0;
    do {
        cr_assert_lt(ls_station_now_ns(), end_ns);
        sealed_peer_send(&hostile.peer, LS_SEALED_PACKET, "enough to be answered", 21);
        sent++;
        ls_station_turn(&server);
        sealed_peer_receive(&hostile.peer);
        cr_assert_eq(ls_transport_udp_address(server.transport, peer, after), LS_OK);
    } while (strcmp(before, after) == 0);
    ls_station_turn(&server);
    cr_assert_eq(server.received_count, sent);
    cr_assert_eq(server.disconnected_count, 0);
    uint32_t had = hostile.peer.received;
    ls_transport_send(server.transport, peer, LS_CHANNEL_UNRELIABLE, (const uint8_t *)"x", 1);
    LS_RUN_UNTIL((sealed_peer_receive(&hostile.peer), hostile.peer.received > had), &server);
    sealed_peer_leave(&hostile.peer);
}

/* ==== transport_udp_traffic ==== */

enum {
    TIMEOUT_MS = 10000
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
