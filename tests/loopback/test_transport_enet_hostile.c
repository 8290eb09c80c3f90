#include "lockstep/common/base/clock.h"
#include "lockstep/tests/loopback/station.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER_HEAP 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER_HEAP 1
#endif

enum {
    TIMEOUT_MS = 10000,
    HOSTILE_ROUNDS = 400,
    HOSTILE_PER_ROUND = 50,
    GROWTH_BYTES_MAX = 1 << 20,
};

/* Memory in use: of the heap where a sanitizer counts it (it holds freed blocks back), of the
 * process elsewhere. */
#ifdef HAS_SANITIZER_HEAP
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

TestSuite(transport_enet_hostile, .fini = close_server);

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static uint64_t all_rejections(void)
{
    uint64_t sum = 0;
    for (int reason = 0; reason < LS_DATAGRAM_REJECTION_COUNT; reason++) {
        sum += ls_transport_enet_rejections(server.transport, (ls_datagram_rejection)reason);
    }
    return sum;
}

static uint64_t rejections(ls_datagram_rejection reason)
{
    return ls_transport_enet_rejections(server.transport, reason);
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

/* A hostile peer: really connected, through a relay that can say anything in its name. */
typedef struct test_hostile {
    ls_station station;
    ls_relay relay;
    uint32_t random;
    size_t connections;
} test_hostile;

static void hostile_turn(test_hostile *hostile)
{
    ls_stations_turn_through(&server, &hostile->station, &hostile->relay);
}

static void hostile_join(test_hostile *hostile)
{
    ls_stations_connect_through(&server, &hostile->station, &hostile->relay);
    /* Its own control packets pass before it turns bad, so that last_up names its seat. */
    for (int i = 0; i < 5; i++) {
        hostile_turn(hostile);
    }
    hostile->connections++;
}

static void hostile_leave(test_hostile *hostile)
{
    ls_station_close(&hostile->station);
    ls_relay_close(&hostile->relay);
}

/* Header of the hostile peer's own datagrams, with a time so that any command may follow. */
static size_t put_header(const test_hostile *hostile, uint8_t *bytes)
{
    memcpy(bytes, hostile->relay.last_up, 2);
    bytes[0] |= 0x80;
    bytes[2] = bytes[3] = 0;
    return 4;
}

static size_t put_u16(uint8_t *bytes, size_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
    return 2;
}

static size_t put_command(uint8_t *bytes, uint8_t command, uint8_t channel, unsigned sequence)
{
    bytes[0] = command;
    bytes[1] = channel;
    return 2 + put_u16(bytes + 2, sequence);
}

static size_t make_random(test_hostile *hostile, uint8_t *bytes)
{
    size_t size = next_random(&hostile->random) % 1500;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)next_random(&hostile->random);
    }
    return size;
}

static size_t make_mutated(test_hostile *hostile, uint8_t *bytes)
{
    size_t size = hostile->relay.last_up_size;
    memcpy(bytes, hostile->relay.last_up, size);
    uint32_t changes = 1 + next_random(&hostile->random) % 6;
    for (uint32_t i = 0; i < changes; i++) {
        bytes[next_random(&hostile->random) % size] = (uint8_t)next_random(&hostile->random);
    }
    return next_random(&hostile->random) % 4 == 0 ? 1 + next_random(&hostile->random) % size : size;
}

/* Well-formed up to the command: numbers, sizes and payloads are anything. */
static size_t make_crafted(test_hostile *hostile, uint8_t *bytes)
{
    static const uint8_t commands[] = {0x01, 0x83, 0x84, 0x44, 0x85, 0x86, 0x87, 0x07,
                                       0x88, 0x49, 0x8a, 0x8b, 0x0c, 0x06, 0x82, 0x09};
    size_t size = put_header(hostile, bytes);
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

static void throw_round(test_hostile *hostile, int unknown_peer, uint16_t port)
{
    uint8_t bytes[4096];
    for (int i = 0; i < HOSTILE_PER_ROUND; i++) {
        switch (next_random(&hostile->random) % 4) {
        case 0:
            ls_send_datagram(unknown_peer, port, bytes, make_random(hostile, bytes));
            break;
        case 1:
            ls_send_datagram(unknown_peer, port, bytes, make_mutated(hostile, bytes));
            break;
        case 2:
            ls_relay_send_up(&hostile->relay, bytes, make_mutated(hostile, bytes));
            break;
        default:
            ls_relay_send_up(&hostile->relay, bytes, make_crafted(hostile, bytes));
            break;
        }
    }
}

Test(transport_enet_hostile, twenty_thousand_bad_datagrams_change_nothing_for_others)
{
    test_honest honest = join_honest();
    server.echoes = true;
    uint16_t port = ls_station_port(&server);
    uint16_t unused;
    int unknown_peer = ls_open_socket(&unused);
    test_hostile hostile = {.random = 2024};
    hostile_join(&hostile);
    size_t warm_bytes = 0;
    for (int round = 0; round < HOSTILE_ROUNDS; round++) {
        throw_round(&hostile, unknown_peer, port);
        honest_send(&honest);
        ls_station_turn(&honest.station);
        hostile_turn(&hostile);
        if (hostile.station.disconnected_count > 0 || server.disconnected_count > 0) {
            hostile_leave(&hostile);
            server.connected_count = 1;
            server.disconnected_count = 0;
            ls_station *const rest[] = {&server, &honest.station};
            ls_stations_idle(rest, 2, 5);
            server.connected_count = 1;
            server.disconnected_count = 0;
            hostile_join(&hostile);
        }
        warm_bytes = round == HOSTILE_ROUNDS / 4 ? memory_bytes() : warm_bytes;
    }
    assert_honest_is_served(&honest);
    cr_assert_eq(honest.sent, HOSTILE_ROUNDS);
    cr_assert_lt(memory_bytes(), warm_bytes + GROWTH_BYTES_MAX);
    /* It was an attack: each kind of bad datagram came, and some got as far as ENet. */
    for (int reason = 0; reason < LS_DATAGRAM_REJECTION_COUNT; reason++) {
        cr_assert_gt(rejections((ls_datagram_rejection)reason), 10, "%s",
                     ls_datagram_rejection_name((ls_datagram_rejection)reason));
    }
    cr_assert_gt(all_rejections(), HOSTILE_ROUNDS * HOSTILE_PER_ROUND / 2);
    cr_assert_gt(hostile.connections, 1);
    hostile_leave(&hostile);
    ls_station_close(&honest.station);
    close(unknown_peer);
}

/* Each attack would make ENet keep every datagram: it waits for what never comes. */
static size_t make_waiting_unreliable(const test_hostile *hostile, uint8_t *bytes, unsigned number)
{
    size_t size = put_header(hostile, bytes);
    for (unsigned i = 0; i < 30; i++) {
        size += put_command(bytes + size, 0x07, 0, 9);
        size += put_u16(bytes + size, number * 30 + i);
        size += put_u16(bytes + size, 0);
    }
    return size;
}

static size_t make_waiting_reliable(const test_hostile *hostile, uint8_t *bytes, unsigned number)
{
    size_t size = put_header(hostile, bytes);
    for (unsigned i = 0; i < 30; i++) {
        size += put_command(bytes + size, 0x86, 0, 20 + (number * 30 + i) % 20000);
        size += put_u16(bytes + size, 0);
    }
    return size;
}

static size_t make_fragment(const test_hostile *hostile, uint8_t *bytes, unsigned number)
{
    size_t size = put_header(hostile, bytes);
    size += put_command(bytes + size, 0x88, 0, 20 + number % 20000);
    size += put_u16(bytes + size, 20 + number % 20000);
    static const uint8_t one_byte_of_1024_in_fragment_0_of_2[19] = {[1] = 1, [5] = 2, [12] = 0x04};
    memcpy(bytes + size, one_byte_of_1024_in_fragment_0_of_2, 19);
    return size + 19;
}

static void assert_memory_is_bounded(size_t (*make)(const test_hostile *, uint8_t *, unsigned),
                                     size_t growth_max)
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
        ls_relay_send_up(&hostile.relay, bytes, make(&hostile, bytes, number));
        if (number % 100 == 0) {
            hostile_turn(&hostile);
        }
    }
    for (int i = 0; i < 10; i++) {
        hostile_turn(&hostile);
    }
    cr_assert_gt(ls_transport_enet_total(server.transport).packets_received, DATAGRAMS / 2);
    cr_assert_lt(memory_bytes(), before + growth_max);
    hostile_leave(&hostile);
}

Test(transport_enet_hostile, sequenced_packets_that_wait_for_ever_are_not_kept)
{
    assert_memory_is_bounded(make_waiting_unreliable, GROWTH_BYTES_MAX);
}

Test(transport_enet_hostile, fragments_that_are_never_complete_are_not_kept)
{
    assert_memory_is_bounded(make_fragment, GROWTH_BYTES_MAX);
}

Test(transport_enet_hostile, reliable_packets_ahead_of_a_gap_are_kept_up_to_the_limit)
{
    assert_memory_is_bounded(make_waiting_reliable, GROWTH_BYTES_MAX + LS_RELIABLE_AHEAD_MAX * 256);
}

Test(transport_enet_hostile, datagrams_of_every_size_from_unknown_peers_are_dropped_and_counted)
{
    test_honest honest = join_honest();
    server.echoes = true;
    uint16_t port = ls_station_port(&server);
    uint16_t unused;
    int unknown_peer = ls_open_socket(&unused);
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 51, 52, 53, 1252, 4095, 4096, 4097, 9000};
    static const uint8_t zeros[9000];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ls_send_datagram(unknown_peer, port, zeros, sizes[i]);
        honest_send(&honest);
        assert_honest_is_served(&honest);
    }
    cr_assert_eq(rejections(LS_DATAGRAM_MALFORMED), 2);
    cr_assert_eq(rejections(LS_DATAGRAM_OVERSIZE), 2);
    cr_assert_eq(rejections(LS_DATAGRAM_UNKNOWN_PEER), 10);
    cr_assert_eq(server.connected_count, 1);
    ls_station_close(&honest.station);
    close(unknown_peer);
}

static void assert_held_up_by_none_of_size(size_t size, ls_datagram_rejection reason)
{
    enum {
        DATAGRAMS = 40,
        TURNS_MAX = 10
    };
    test_honest honest = join_honest();
    uint16_t port = ls_station_port(&server);
    uint16_t unused;
    int unknown_peer = ls_open_socket(&unused);
    static const uint8_t zeros[LS_ENET_DATAGRAM_BYTES_MAX + 1];
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
    cr_assert_eq(rejections(reason), DATAGRAMS);
    ls_station_close(&honest.station);
    close(unknown_peer);
}

/* ENet reports a datagram that it cannot receive as a failure of the socket. */
Test(transport_enet_hostile, datagrams_too_long_to_receive_hold_nobody_up)
{
    assert_held_up_by_none_of_size(LS_ENET_DATAGRAM_BYTES_MAX + 1, LS_DATAGRAM_OVERSIZE);
}

/* To ENet they look like a socket on which nothing waits. */
Test(transport_enet_hostile, datagrams_without_a_byte_hold_nobody_up)
{
    assert_held_up_by_none_of_size(0, LS_DATAGRAM_MALFORMED);
}

Test(transport_enet_hostile, an_oversize_packet_of_a_peer_is_dropped_and_counted)
{
    server = ls_station_listen(4);
    test_hostile hostile = {.random = 1};
    hostile_join(&hostile);
    uint8_t bytes[2000] = {0};
    size_t size = put_header(&hostile, bytes);
    size += put_command(bytes + size, 0x49, 0, 0);
    size += put_u16(bytes + size, 200);
    size += put_u16(bytes + size, LS_PACKET_BYTES_MAX + 1);
    ls_relay_send_up(&hostile.relay, bytes, size + LS_PACKET_BYTES_MAX + 1);
    uint64_t end = ls_station_now_ns() + LS_STATION_PATIENCE_NS;
    while (rejections(LS_DATAGRAM_OVERSIZE) == 0) {
        cr_assert_lt(ls_station_now_ns(), end);
        hostile_turn(&hostile);
    }
    cr_assert_eq(server.received_count, 0);
    bytes[size - 1]--; /* the same within the limit arrives */
    ls_relay_send_up(&hostile.relay, bytes, size + LS_PACKET_BYTES_MAX);
    while (server.received_count == 0) {
        cr_assert_lt(ls_station_now_ns(), end);
        hostile_turn(&hostile);
    }
    cr_assert_eq(ls_station_newest(&server)->size, LS_PACKET_BYTES_MAX);
    hostile_leave(&hostile);
}

Test(transport_enet_hostile, a_flood_of_good_packets_ends_a_turn)
{
    enum {
        FLOOD = 1500,
        TURN_MAX = 512 + 256
    };
    server = ls_station_listen(4);
    test_hostile hostile = {.random = 1};
    hostile_join(&hostile);
    for (unsigned number = 1; number <= FLOOD; number++) {
        uint8_t bytes[16] = {0};
        size_t size = put_header(&hostile, bytes);
        size += put_command(bytes + size, 0x49, 0, 0);
        put_u16(bytes + size, number);
        ls_relay_send_up(&hostile.relay, bytes, size + 4);
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
    hostile_leave(&hostile);
}
