/* Two workers of a server at a relay, in virtual time: worker 0 is registered, and both carry.
 * Sealed packets come to worker 1, and all else to worker 0, as the system has it. */
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/relay/relay_client.h"
#include "lockstep/protocol/relay/relay_server.h"
#include "lockstep/server/relay/relay.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    RELAY,
    SERVER,
    PLAYER,
    WORKERS = 2,
    FLYING_MAX = 64,
    INBOX_MAX = 16,
    PACKET = 0x81, /* the first byte of a sealed packet */
};

typedef struct datagram {
    ls_endpoint from, to;
    size_t size;
    uint8_t bytes[LS_UDP_DATAGRAM_BYTES_MAX];
} datagram;

typedef struct fake_socket {
    ls_datagram_socket base;
    uint32_t place;
    datagram inbox[INBOX_MAX];
    uint32_t first, count;
    uint32_t asked; /* ASK and REGISTER that were sent */
} fake_socket;

static uint64_t now_ns;
static datagram flying[FLYING_MAX];
static uint32_t flying_count;
static ls_relay_service *relay;
static ls_relay_flows flows;
static ls_relay_server *workers[WORKERS];
static fake_socket sockets[WORKERS + 1]; /* the player's is the last one */
static ls_datagram_socket *worker_sockets[WORKERS];
static ls_relay_client *player;
static uint16_t outside_port; /* of the newest OPENED */

static ls_endpoint place_of(uint32_t place)
{
    ls_endpoint made = ls_endpoint_from_ipv4(0, (uint16_t)(7000 + place));
    made.address[12] = 203;
    made.address[14] = (uint8_t)(1 + place);
    return made;
}

static void fly(uint32_t from, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    cr_assert_lt(flying_count, FLYING_MAX);
    datagram *made = &flying[flying_count++];
    *made = (datagram){.from = place_of(from), .to = *to, .size = size};
    memcpy(made->bytes, bytes, size);
}

static void send_of_relay(void *user, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    (void)user;
    fly(RELAY, to, bytes, size);
}

/* ---- sockets ---- */

static void begin_turn(ls_datagram_socket *socket, uint64_t now)
{
    (void)socket;
    (void)now;
}

static ls_udp_receipt receive(ls_datagram_socket *socket, ls_udp_datagram *out)
{
    fake_socket *at = (fake_socket *)socket;
    if (at->count == 0) {
        return LS_UDP_EMPTY;
    }
    datagram *came = &at->inbox[at->first];
    *out = (ls_udp_datagram){
        .from = came->from, .bytes = came->bytes, .size = came->size, .arrived_ns = now_ns};
    at->first = (at->first + 1) % INBOX_MAX;
    at->count--;
    return LS_UDP_RECEIVED;
}

static void send_datagram(ls_datagram_socket *socket, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    fake_socket *at = (fake_socket *)socket;
    ls_relay_packet packet;
    at->asked += bytes[0] == LS_RELAY_ASK || bytes[0] == LS_RELAY_REGISTER;
    if (ls_relay_packet_read(bytes, size, &packet) && packet.kind == LS_RELAY_OPENED) {
        outside_port = packet.outside_port;
    }
    fly(at->place, to, bytes, size);
}

static ls_udp_sent flush(ls_datagram_socket *socket)
{
    (void)socket;
    return (ls_udp_sent){0};
}

static uint16_t port(const ls_datagram_socket *socket)
{
    (void)socket;
    return 7001;
}

static void close_socket(ls_datagram_socket *socket)
{
    (void)socket;
}

static const ls_datagram_socket_operations operations = {.begin_turn = begin_turn,
                                                         .receive = receive,
                                                         .send = send_datagram,
                                                         .flush = flush,
                                                         .port = port,
                                                         .close = close_socket};

/* ---- the network ---- */

static fake_socket *socket_for(const datagram *what)
{
    const ls_endpoint server = place_of(SERVER);
    if (!ls_endpoint_is_equal(&what->to, &server)) {
        return &sockets[WORKERS];
    }
    uint64_t flow = 0;
    bool is_carried = ls_relay_read_carry(what->bytes, what->size, &flow);
    return &sockets[is_carried && what->bytes[LS_RELAY_CARRY_HEADER_BYTES] == PACKET ? 1 : 0];
}

static void land_all(void)
{
    const ls_endpoint of_relay = place_of(RELAY);
    datagram landing[FLYING_MAX];
    uint32_t count = flying_count;
    memcpy(landing, flying, sizeof landing);
    flying_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (ls_endpoint_is_equal(&landing[i].to, &of_relay)) {
            ls_relay_receive(relay, &landing[i].from, landing[i].bytes, landing[i].size, now_ns);
        } else {
            fake_socket *at = socket_for(&landing[i]);
            cr_assert_lt(at->count, INBOX_MAX);
            at->inbox[(at->first + at->count++) % INBOX_MAX] = landing[i];
        }
    }
}

/* The transport of a socket takes what has come; the last one it gets, if any. */
static bool take(ls_datagram_socket *socket, ls_udp_datagram *out)
{
    bool has_any = false;
    ls_udp_datagram came;
    while (ls_datagram_socket_receive(socket, &came) == LS_UDP_RECEIVED) {
        *out = came;
        has_any = true;
    }
    return has_any;
}

static void pass(uint64_t time_ns)
{
    for (uint64_t end_ns = now_ns + time_ns; now_ns < end_ns;) {
        ls_udp_datagram none;
        now_ns += 10 * LS_NS_PER_MS;
        land_all();
        for (uint32_t i = 0; i < WORKERS; i++) {
            (void)take(worker_sockets[i], &none);
            ls_relay_server_advance(workers[i], now_ns);
        }
        if (player) {
            ls_relay_client_turn(player, now_ns);
        }
    }
}

static void start_worker(uint32_t number, const ls_key_pair *identity)
{
    ls_relay_server_config config = {
        .identity = *identity, .flows = &flows, .is_follower = number != 0};
    if (number == 0) {
        config.relay = place_of(RELAY);
    }
    sockets[number] = (fake_socket){.base.operations = &operations, .place = SERVER};
    cr_assert_eq(ls_relay_server_create(&config, ls_allocator_heap(), &workers[number]), LS_OK);
    worker_sockets[number] = ls_relay_server_socket(workers[number], &sockets[number].base);
}

static void stop_worker(uint32_t number)
{
    ls_datagram_socket_close(worker_sockets[number]);
    ls_relay_server_destroy(workers[number]);
}

static ls_key_pair identity;

static void begin(void)
{
    const ls_relay_sink sink = {send_of_relay, NULL};
    const ls_relay_config config = ls_relay_config_default();
    cr_assert_eq(ls_cipher_init(), LS_OK);
    now_ns = 100 * LS_NS_PER_SECOND;
    cr_assert_eq(ls_relay_create(&config, &sink, ls_allocator_heap(), &relay), LS_OK);
    ls_key_pair_random(&identity);
    start_worker(1, &identity); /* before the other one has said where the relay is */
    start_worker(0, &identity);
    pass(LS_NS_PER_SECOND);
    sockets[WORKERS] = (fake_socket){.base.operations = &operations, .place = PLAYER};
    ls_relay_client_config of_player = {
        .relay = place_of(RELAY), .has_server_key = true, .avoids_direct = true};
    of_player.code = *ls_relay_server_code(workers[0]);
    cr_assert_eq(
        ls_relay_client_create(&of_player, &sockets[WORKERS].base, ls_allocator_heap(), &player),
        LS_OK);
    pass(LS_NS_PER_SECOND);
    cr_assert_eq(ls_relay_client_state_of(player), LS_RELAY_CLIENT_READY);
}

static void end(void)
{
    ls_datagram_socket_close(ls_relay_client_socket(player));
    stop_worker(0);
    stop_worker(1);
    ls_relay_destroy(relay);
}

TestSuite(relay_flows, .init = begin, .fini = end);

/* From the player to the worker; false: nothing has come there. */
static bool carry_up(uint8_t first, uint32_t worker, ls_udp_datagram *came)
{
    const uint8_t bytes[20] = {first, 7};
    ls_datagram_socket_send(ls_relay_client_socket(player), ls_relay_client_server(player), bytes,
                            sizeof bytes);
    (void)ls_datagram_socket_flush(ls_relay_client_socket(player));
    land_all();
    land_all();
    return take(worker_sockets[worker], came);
}

static void expect_both_ways(uint8_t first, uint32_t worker)
{
    const ls_endpoint of_player = place_of(PLAYER);
    ls_udp_datagram came = {.size = 0};
    cr_assert(carry_up(first, worker, &came), "worker %u", worker);
    cr_assert_eq(came.size, 20);
    cr_assert_eq(came.bytes[0], first);
    cr_assert_neq(came.from.via, 0);
    cr_assert(ls_endpoint_is_same_host(&came.from, &of_player));
    const ls_endpoint back = came.from;
    const uint8_t answer[30] = {first, 9};
    ls_datagram_socket_send(worker_sockets[worker], &back, answer, sizeof answer);
    (void)ls_datagram_socket_flush(worker_sockets[worker]);
    land_all();
    land_all();
    cr_assert(take(ls_relay_client_socket(player), &came));
    cr_assert_eq(came.size, 30);
}

Test(relay_flows, each_worker_reaches_a_player_who_was_opened_to_the_first)
{
    expect_both_ways(PACKET, 1);
    expect_both_ways(0x01, 0);
    cr_assert_eq(sockets[1].asked, 0, "worker 1 never registers");
    cr_assert_gt(sockets[0].asked, 0);
}

Test(relay_flows, a_player_keeps_its_way_when_a_worker_is_started_again)
{
    stop_worker(1);
    start_worker(1, &identity);
    expect_both_ways(PACKET, 1);
    stop_worker(0);
    expect_both_ways(PACKET, 1);
    start_worker(0, &identity);
    pass(LS_NS_PER_SECOND);
    ls_udp_datagram lost;
    cr_assert_not(carry_up(PACKET, 1, &lost), "the relay tells a new registration of it first");
    pass(LS_NS_PER_SECOND);
    expect_both_ways(PACKET, 1);
    expect_both_ways(0x01, 0);
}

Test(relay_flows, a_flow_that_no_worker_knows_is_opened_again)
{
    ls_udp_datagram came;
    ls_endpoint outside = place_of(SERVER);
    outside.port = 9000;
    memset(flows.players, 0, sizeof flows.players);
    ls_relay_flows_set_outside(&flows, &outside); /* by the supervisor, say */
    cr_assert_eq(outside_port, 0);
    cr_assert_not(carry_up(PACKET, 1, &came));
    pass(LS_NS_PER_SECOND); /* worker 1 has answered GONE */
    (void)carry_up(PACKET, 1, &came);
    pass(LS_NS_PER_SECOND);
    expect_both_ways(PACKET, 1);
    cr_assert_eq(outside_port, 9000, "and is told of the port of the router");
}
