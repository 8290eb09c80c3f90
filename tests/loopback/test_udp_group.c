/* Several workers on one port: which socket gets which datagram, and transports that stand on those
 * sockets as worker processes do. Datagrams on the loopback have come when the call that sends them
 * returns. */
#define _GNU_SOURCE
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/protocol/udp/udp_group.h"

#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/relay/relay_packet.h"
#include "lockstep/protocol/sealed/key_exchange.h"
#include "lockstep/protocol/sealed/sealed_packet.h"
#include "lockstep/tests/loopback/station.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    WORKERS = 3,
    TIMEOUT_MS = 10000,
};

static ls_udp_group *group;
static ls_datagram_socket *sender;
static ls_station workers[2], client;
static uint32_t chosen, asked;

static void end(void)
{
    ls_station_close(&client);
    ls_station_close(&workers[0]);
    ls_station_close(&workers[1]);
    ls_datagram_socket_close(sender);
    ls_udp_group_close(group);
}

TestSuite(udp_group, .fini = end);

static void open_group(const char *host, uint32_t count)
{
    ls_endpoint here;
    cr_assert_eq(ls_endpoint_resolve(host, 0, &here, NULL), LS_OK);
    cr_assert_eq(ls_udp_group_open(&here, count, ls_allocator_heap(), &group), LS_OK, "%s",
                 strerror(errno));
    cr_assert_neq(ls_udp_group_port(group), 0);
}

/* ---- steering ---- */

/* Sends from here on go to this address of the machine. */
static void send_to(const char *host)
{
    ls_endpoint there;
    ls_datagram_socket_close(sender);
    cr_assert_eq(ls_endpoint_resolve(host, ls_udp_group_port(group), &there, NULL), LS_OK);
    cr_assert_eq(ls_udp_socket_connect(&there, ls_allocator_heap(), &sender), LS_OK);
}

/* The one socket that gets a datagram. */
static uint32_t worker_of(const uint8_t *bytes, size_t size)
{
    uint32_t worker = WORKERS;
    uint8_t got[LS_UDP_DATAGRAM_BYTES_MAX];
    ls_datagram_socket_send(sender, NULL, bytes, size);
    cr_assert_eq(ls_datagram_socket_flush(sender).lost, 0);
    for (uint32_t i = 0; i < WORKERS; i++) {
        ssize_t came = recv(ls_udp_group_descriptor(group, i), got, sizeof got, MSG_DONTWAIT);
        if (came < 0) {
            continue;
        }
        cr_assert_eq((size_t)came, size);
        cr_assert_eq(memcmp(got, bytes, size), 0);
        cr_assert_eq(worker, WORKERS, "two sockets got it");
        worker = i;
    }
    cr_assert_lt(worker, WORKERS, "no socket got it");
    return worker;
}

static void assert_packets_go_by_index(void)
{
    for (uint32_t index = 0; index < LS_SEALED_INDICES * LS_SEALED_INDEX_ROUNDS; index += 97) {
        for (uint32_t content = 0; content < LS_SEALED_CONTENT_COUNT; content++) {
            const ls_sealed_header header = {
                .content = (ls_sealed_content)content, .index = (uint16_t)index, .counter = 0xffff};
            uint8_t bytes[40] = {0};
            ls_sealed_write_client_header(bytes, &header);
            uint32_t worker = index % LS_SEALED_INDICES % WORKERS;
            cr_assert_eq(worker_of(bytes, sizeof bytes), worker, "index %u", index);
        }
    }
}

static void assert_exchanges_go_by_route(uint32_t default_worker)
{
    static const uint8_t key[LS_CIPHER_KEY_BYTES], token[LS_KEY_EXCHANGE_TOKEN_BYTES];
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
    for (uint32_t route = 0; route < 256; route++) {
        uint32_t worker = (route - 1) % LS_ROUTE_ASKED;
        bool is_route = route > 0 && route <= 2 * LS_ROUTE_ASKED && worker < WORKERS;
        uint32_t expected = is_route ? worker : default_worker;
        const ls_request request = {.version = 1, .route = (uint8_t)route};
        cr_assert_eq(worker_of(bytes, ls_request_write(&request, bytes)), expected);
        ls_confirm confirm = {.route = (uint8_t)route};
        cr_assert_eq(worker_of(bytes, ls_confirm_write(&confirm, key, bytes)), expected);
        confirm.credential = LS_CREDENTIAL_TOKEN;
        confirm.token = token;
        cr_assert_eq(worker_of(bytes, ls_confirm_write(&confirm, key, bytes)), expected);
    }
}

/* Datagrams that are not of the protocol, or shorter than any of it. */
static void assert_others_go_to(uint32_t default_worker)
{
    for (uint32_t first = 0; first < 0x80; first++) {
        uint8_t bytes[50];
        memset(bytes, 2, sizeof bytes);
        bytes[0] = (uint8_t)first;
        bool is_client_s = first == LS_KEY_EXCHANGE_REQUEST || first == LS_KEY_EXCHANGE_CONFIRM;
        bool is_relay_s = ls_relay_is_meant(bytes, 1) && first != LS_RELAY_CARRY;
        uint32_t expected = is_client_s ? 1 : is_relay_s ? 0 : default_worker;
        cr_assert_eq(worker_of(bytes, sizeof bytes), expected, "%u", first);
    }
    const uint8_t packet = 0x81;
    cr_assert_eq(worker_of(&packet, 1), default_worker);
    cr_assert_eq(worker_of(&packet, 0), default_worker);
}

/* Datagrams that a relay carries go where they would without it; but a player's question about the
 * code goes to the worker that is registered. */
static void assert_carried_go_by_content(uint32_t default_worker)
{
    static const uint64_t flow = UINT64_C(0x8181018181810181); /* of bytes as packets begin with */
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX + LS_RELAY_CARRY_HEADER_BYTES];
    uint8_t content[LS_SEALED_DATAGRAM_BYTES_MAX] = {0};
    for (uint32_t index = 0; index < LS_SEALED_INDICES; index += 997) {
        const ls_sealed_header header = {.index = (uint16_t)index, .counter = 1};
        ls_sealed_write_client_header(content, &header);
        size_t size = ls_relay_write_carry(bytes, flow, content, 40);
        cr_assert_eq(worker_of(bytes, size), index % WORKERS);
    }
    for (uint32_t worker = 0; worker < WORKERS; worker++) {
        const ls_request request = {.version = 1, .route = (uint8_t)(worker + 1)};
        size_t size =
            ls_relay_write_carry(bytes, flow, content, ls_request_write(&request, content));
        cr_assert_eq(worker_of(bytes, size), worker);
    }
    const ls_request request = {.version = 1};
    size_t size = ls_relay_write_carry(bytes, flow, content, ls_request_write(&request, content));
    cr_assert_eq(worker_of(bytes, size), default_worker);
    content[0] = LS_RELAY_PROVE;
    size = ls_relay_write_carry(bytes, flow, content, 96);
    cr_assert_eq(worker_of(bytes, size), LS_UDP_GROUP_RELAY_WORKER);
    cr_assert_eq(worker_of(bytes, LS_RELAY_CARRY_HEADER_BYTES + 1), LS_UDP_GROUP_RELAY_WORKER);
    cr_assert_eq(worker_of(bytes, 2), LS_UDP_GROUP_RELAY_WORKER);
}

static void assert_steered(void)
{
    for (uint32_t i = 0; i < WORKERS; i++) {
        uint32_t default_worker = (i + 2) % WORKERS; /* ends with the first again */
        cr_assert_eq(ls_udp_group_set_default(group, default_worker), LS_OK);
        assert_exchanges_go_by_route(default_worker);
        assert_others_go_to(default_worker);
        assert_carried_go_by_content(default_worker);
    }
    assert_packets_go_by_index();
}

Test(udp_group, datagrams_of_ipv4_come_to_their_workers)
{
    open_group("127.0.0.1", WORKERS);
    send_to("127.0.0.1");
    const uint8_t first = 9;
    cr_assert_eq(worker_of(&first, 1), 0, "the default before it is set");
    assert_steered();
}

Test(udp_group, datagrams_of_both_kinds_come_to_their_workers_through_one_port)
{
    open_group("::", WORKERS);
    send_to("127.0.0.1");
    assert_steered();
    send_to("::1");
    assert_steered();
}

/* ---- sockets ---- */

Test(udp_group, port_belongs_to_one_group)
{
    open_group("127.0.0.1", WORKERS);
    ls_endpoint here;
    ls_udp_group *second = NULL;
    cr_assert_eq(ls_endpoint_resolve("127.0.0.1", ls_udp_group_port(group), &here, NULL), LS_OK);
    for (uint32_t count = 1; count <= WORKERS; count++) {
        cr_assert_eq(ls_udp_group_open(&here, count, ls_allocator_heap(), &second), LS_IO);
        cr_assert_eq(errno, EADDRINUSE);
        cr_assert_null(second);
    }
    uint16_t port = ls_udp_group_port(group);
    ls_udp_group_close(group);
    cr_assert_eq(ls_udp_group_open(&here, WORKERS, ls_allocator_heap(), &group), LS_OK);
    cr_assert_eq(ls_udp_group_port(group), port);
}

/* Sockets as systemd binds them; 0: the port is the system's choice. */
static int bind_socket(uint16_t *port, bool is_shared)
{
    int on = is_shared;
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    own.sin_port = htons(*port);
    socklen_t bytes = sizeof own;
    int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
    cr_assert_eq(setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    cr_assert_eq(bind(descriptor, (struct sockaddr *)&own, bytes), 0);
    cr_assert_eq(getsockname(descriptor, (struct sockaddr *)&own, &bytes), 0);
    *port = ntohs(own.sin_port);
    return descriptor;
}

Test(udp_group, sockets_that_others_bound_are_steered_likewise)
{
    int descriptors[WORKERS];
    uint16_t port = 0;
    for (uint32_t i = 0; i < WORKERS; i++) {
        descriptors[i] = bind_socket(&port, true);
    }
    cr_assert_eq(ls_udp_group_adopt(descriptors, WORKERS, ls_allocator_heap(), &group), LS_OK);
    cr_assert_eq(ls_udp_group_port(group), port);
    send_to("127.0.0.1");
    assert_steered();
}

static void assert_group_not_adopted(const int *descriptors, uint32_t count, ls_status expected)
{
    cr_assert_eq(ls_udp_group_adopt(descriptors, count, ls_allocator_heap(), &group), expected);
    cr_assert_null(group);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(fcntl(descriptors[i], F_GETFD), -1, "it is still open");
    }
}

Test(udp_group, sockets_that_share_no_port_are_not_adopted)
{
    uint16_t first = 0, second = 0, third = 0;
    const int apart[] = {bind_socket(&first, true), bind_socket(&second, true)};
    assert_group_not_adopted(apart, 2, LS_BAD_ARGUMENT);
    const int alone[] = {bind_socket(&third, false), -1};
    assert_group_not_adopted(alone, 2, LS_BAD_ARGUMENT);
    const int stream[] = {socket(AF_INET, SOCK_STREAM, 0)};
    assert_group_not_adopted(stream, 1, LS_IO);
    uint16_t fourth = 0;
    const int one[] = {bind_socket(&fourth, false)};
    cr_assert_eq(ls_udp_group_adopt(one, 1, ls_allocator_heap(), &group), LS_OK);
}

static void assert_not_adopted(int descriptor, int reason)
{
    ls_transport_udp_server_config config = ls_station_server_config(4);
    config.descriptor = descriptor;
    ls_transport *made = NULL;
    ls_text error = {""};
    cr_assert_eq(ls_transport_udp_listen(&config, ls_allocator_heap(), &made, &error), LS_IO);
    cr_assert_null(made);
    cr_assert(strstr(error.bytes, "descriptor") && strstr(error.bytes, strerror(reason)), "%s",
              error.bytes);
    cr_assert_eq(fcntl(descriptor, F_GETFD), -1, "it is still open");
}

Test(udp_group, what_is_no_bound_socket_of_udp_is_not_adopted)
{
    assert_not_adopted(socket(AF_INET, SOCK_DGRAM, 0), EADDRNOTAVAIL);
    assert_not_adopted(socket(AF_INET, SOCK_STREAM, 0), EPROTOTYPE);
    assert_not_adopted(socket(AF_UNIX, SOCK_DGRAM, 0), EPROTOTYPE);
    int pipes[2];
    cr_assert_eq(pipe(pipes), 0);
    close(pipes[1]);
    assert_not_adopted(pipes[0], ENOTSOCK);
    assert_not_adopted(1000000, EBADF);
}

/* ---- transports ---- */

static uint32_t choose(void *user, const ls_sealed_asker *asker)
{
    (void)user;
    if (asker->has_asked) {
        return 0; /* the first worker alone asks */
    }
    asked++;
    return chosen;
}

/* Two workers with one identity; the first asks where its clients belong. */
static void start_worker(uint32_t worker, const ls_transport_udp_server_config *shared)
{
    ls_transport_udp_server_config config = *shared;
    config.descriptor = fcntl(ls_udp_group_descriptor(group, worker), F_DUPFD_CLOEXEC, 0);
    config.sealed.worker = worker;
    config.sealed.workers = 2;
    config.sealed.choose_worker = worker == 0 ? choose : NULL;
    memset(&workers[worker], 0, sizeof workers[worker]);
    cr_assert_eq(
        ls_transport_udp_listen(&config, ls_allocator_heap(), &workers[worker].transport, NULL),
        LS_OK);
    cr_assert_eq(ls_transport_udp_port(workers[worker].transport), ls_udp_group_port(group));
    workers[worker].echoes = true;
}

static ls_transport_udp_server_config start_workers(void)
{
    open_group("::", 2);
    ls_transport_udp_server_config shared = ls_station_server_config(8);
    start_worker(0, &shared);
    start_worker(1, &shared);
    return shared;
}

/* It comes back to the match that it has there. */
static void give_match(void)
{
    ls_transport_udp_set_match(client.transport, 7);
}

static void assert_plays_with(uint32_t worker, const char *text)
{
    size_t taken = workers[worker].received_count, heard = client.received_count;
    ls_peer_id peer = client.connected[client.connected_count - 1];
    ls_transport_send(client.transport, peer, LS_CHANNEL_RELIABLE, (const uint8_t *)text,
                      strlen(text));
    LS_RUN_UNTIL(client.received_count > heard, &workers[0], &workers[1], &client);
    cr_assert_eq(workers[worker].received_count, taken + 1);
    cr_assert_eq(ls_station_newest(&client)->size, strlen(text));
    cr_assert_eq(memcmp(ls_station_newest(&client)->bytes, text, strlen(text)), 0);
}

static uint64_t redirects(void)
{
    return ls_transport_udp_denials(workers[0].transport, LS_DENIAL_REDIRECTED);
}

/* It is sent there by the first, more than once where the machine is so slow that it asks again:
 * all that it has sent is answered at the end. */
static void connect_to_second(void)
{
    ls_station *const all[] = {&workers[0], &workers[1], &client};
    chosen = 1;
    client = ls_station_connect(ls_udp_group_port(group), TIMEOUT_MS);
    LS_RUN_UNTIL(client.connected_count == 1 && workers[1].connected_count == 1, &workers[0],
                 &workers[1], &client);
    ls_stations_idle(all, 3, 50);
    cr_assert_geq(redirects(), 1);
    cr_assert_geq(asked, 1);
    give_match();
}

Test(udp_group, client_is_sent_to_its_worker_and_comes_back_to_it)
{
    (void)start_workers();
    connect_to_second();
    uint64_t redirects_before = redirects();
    uint32_t asked_before = asked;
    assert_plays_with(1, "first");
    cr_assert_eq(ls_transport_udp_reconnect(client.transport, TIMEOUT_MS * LS_NS_PER_MS), LS_OK);
    LS_RUN_UNTIL(client.connected_count == 2 && workers[1].connected_count == 2, &workers[0],
                 &workers[1], &client);
    assert_plays_with(1, "second");
    cr_assert_eq(redirects(), redirects_before, "it came to its worker at once");
    cr_assert_eq(asked, asked_before);
    cr_assert_eq(workers[0].connected_count, 0);
    ls_station_close(&client);
    LS_RUN_UNTIL(workers[1].disconnected_count == 2, &workers[0], &workers[1]);
}

/* The client was not redirected: it knows its worker by the CHALLENGE. */
Test(udp_group, client_comes_back_when_new_ones_go_elsewhere)
{
    (void)start_workers();
    chosen = 0;
    client = ls_station_connect(ls_udp_group_port(group), TIMEOUT_MS);
    LS_RUN_UNTIL(client.connected_count == 1 && workers[0].connected_count == 1, &workers[0],
                 &workers[1], &client);
    cr_assert_eq(ls_udp_group_set_default(group, 1), LS_OK);
    give_match();
    assert_plays_with(0, "goes on");
    cr_assert_eq(ls_transport_udp_reconnect(client.transport, TIMEOUT_MS * LS_NS_PER_MS), LS_OK);
    LS_RUN_UNTIL(client.connected_count == 2 && workers[0].connected_count == 2, &workers[0],
                 &workers[1], &client);
    ls_station newcomer = ls_station_connect(ls_udp_group_port(group), TIMEOUT_MS);
    LS_RUN_UNTIL(newcomer.connected_count == 1 && workers[1].connected_count == 1, &workers[0],
                 &workers[1], &newcomer);
    cr_assert_eq(redirects(), 0);
    ls_station_close(&newcomer);
}

/* Datagrams that come meanwhile wait in the socket, which the group has kept. */
Test(udp_group, worker_that_is_started_again_finds_its_clients)
{
    ls_transport_udp_server_config shared = start_workers();
    connect_to_second();
    uint32_t asked_before = asked;
    ls_station_close(&workers[1]);
    LS_RUN_UNTIL(client.disconnected_count == 1, &workers[0], &client);
    cr_assert_eq(ls_transport_udp_reconnect(client.transport, TIMEOUT_MS * LS_NS_PER_MS), LS_OK);
    ls_station *const others[] = {&workers[0], &client};
    ls_stations_idle(others, 2, 50);
    cr_assert_eq(client.connected_count, 1);
    cr_assert_eq(client.disconnected_count, 1, "nobody refuses it");
    start_worker(1, &shared);
    LS_RUN_UNTIL(client.connected_count == 2 && workers[1].connected_count == 1, &workers[0],
                 &workers[1], &client);
    assert_plays_with(1, "again");
    cr_assert_eq(asked, asked_before);
}

Test(udp_group, group_of_one_is_a_socket_like_others)
{
    open_group("127.0.0.1", 1);
    ls_transport_udp_server_config config = ls_station_server_config(8);
    config.descriptor = fcntl(ls_udp_group_descriptor(group, 0), F_DUPFD_CLOEXEC, 0);
    cr_assert_eq(ls_transport_udp_listen(&config, ls_allocator_heap(), &workers[0].transport, NULL),
                 LS_OK);
    cr_assert_eq(ls_udp_group_set_default(group, 0), LS_OK);
    client = ls_station_connect(ls_udp_group_port(group), TIMEOUT_MS);
    LS_RUN_UNTIL(client.connected_count == 1 && workers[0].connected_count == 1, &workers[0],
                 &client);
}
