#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/loopback/station.h"

#include "lockstep/common/system/system_clock.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECT_TIMEOUT_MS = 10000
};

uint64_t ls_station_now_ns(void)
{
    ls_clock clock = ls_clock_system();
    return ls_clock_now_ns(&clock);
}

ls_transport_udp_server_config ls_station_server_config(uint32_t peers_max)
{
    ls_transport_udp_server_config config;
    cr_assert_eq(ls_transport_udp_server_config_default(&config), LS_OK);
    config.bind_host = "127.0.0.1";
    config.sealed.connections_max = peers_max;
    config.sealed.per_address_max = LS_STATION_PEERS_MAX;
    return config;
}

ls_station ls_station_listen(uint32_t peers_max)
{
    ls_station made = {0};
    ls_transport_udp_server_config config = ls_station_server_config(peers_max);
    ls_text error = {""};
    ls_status status =
        ls_transport_udp_listen(&config, ls_allocator_heap(), &made.transport, &error);
    cr_assert_eq(status, LS_OK, "%s", error.bytes);
    cr_assert_neq(ls_transport_udp_port(made.transport), 0);
    return made;
}

ls_station ls_station_connect(uint16_t port, uint64_t timeout_ms)
{
    ls_station made = {0};
    char server[32];
    snprintf(server, sizeof server, "127.0.0.1:%u", (unsigned)port);
    ls_transport_udp_client_config config = {.server = server,
                                             .connect_timeout_ns = timeout_ms * LS_NS_PER_MS};
    ls_text error = {""};
    ls_status status =
        ls_transport_udp_connect(&config, ls_allocator_heap(), &made.transport, &error);
    cr_assert_eq(status, LS_OK, "%s", error.bytes);
    return made;
}

void ls_station_close(ls_station *station)
{
    ls_transport_destroy(station->transport);
    station->transport = NULL;
}

static void receive_event(ls_station *station, const ls_transport_event *event)
{
    switch (event->kind) {
    case LS_TRANSPORT_CONNECTED:
        cr_assert_lt(station->connected_count, LS_STATION_PEERS_MAX);
        station->origins[station->connected_count] = event->origin;
        station->connected[station->connected_count++] = event->peer;
        break;
    case LS_TRANSPORT_DISCONNECTED:
        cr_assert_lt(station->disconnected_count, LS_STATION_PEERS_MAX);
        station->reasons[station->disconnected_count] = event->reason;
        station->disconnected[station->disconnected_count++] = event->peer;
        break;
    case LS_TRANSPORT_RECEIVED: {
        ls_station_packet *packet =
            &station->packets[station->received_count++ % LS_STATION_PACKETS_MAX];
        cr_assert_leq(event->size, sizeof packet->bytes);
        packet->peer = event->peer;
        packet->channel = event->channel;
        packet->size = event->size;
        packet->arrived_ns = event->arrived_ns;
        memcpy(packet->bytes, event->bytes, event->size);
        if (station->echoes) {
            ls_transport_send(station->transport, event->peer, event->channel, event->bytes,
                              event->size);
        }
        break;
    }
    }
}

void ls_station_receive_all(ls_station *station)
{
    ls_transport_event event;
    while (ls_transport_next_event(station->transport, &event)) {
        receive_event(station, &event);
    }
}

void ls_station_turn(ls_station *station)
{
    if (station->transport) {
        ls_transport_udp_service(station->transport);
        ls_station_receive_all(station);
        ls_transport_flush(station->transport);
    }
}

void ls_stations_turn(ls_station *const *stations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ls_station_turn(stations[i]);
    }
    poll(NULL, 0, 1); /* lets the other processes of a small machine run */
}

void ls_stations_idle(ls_station *const *stations, size_t count, uint64_t duration_ms)
{
    uint64_t end = ls_station_now_ns() + duration_ms * LS_NS_PER_MS;
    while (ls_station_now_ns() < end) {
        ls_stations_turn(stations, count);
    }
}

const ls_station_packet *ls_station_newest(const ls_station *station)
{
    cr_assert_gt(station->received_count, 0);
    return &station->packets[(station->received_count - 1) % LS_STATION_PACKETS_MAX];
}

void ls_station_send(ls_station *station, ls_channel channel, const void *bytes, size_t size)
{
    cr_assert_gt(station->connected_count, 0);
    ls_transport_send(station->transport, station->connected[0], channel, bytes, size);
}

ls_transport_traffic ls_station_traffic(const ls_station *station)
{
    return ls_transport_traffic_of(station->transport, station->connected[0]);
}

static struct sockaddr_in loopback_address(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int ls_open_socket(uint16_t *port)
{
    int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
    cr_assert_geq(descriptor, 0);
    struct sockaddr_in address = loopback_address(0);
    socklen_t size = sizeof address;
    cr_assert_eq(bind(descriptor, (struct sockaddr *)&address, size), 0);
    cr_assert_eq(getsockname(descriptor, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return descriptor;
}

void ls_send_datagram(int descriptor, uint16_t port, const void *bytes, size_t size)
{
    struct sockaddr_in address = loopback_address(port);
    sendto(descriptor, bytes, size, 0, (struct sockaddr *)&address, sizeof address);
}

enum {
    IP_UDP_BYTES = 28
};

ls_relay ls_relay_open(uint16_t server_port)
{
    ls_relay made = {.server_port = server_port};
    uint16_t unused;
    made.client_side = ls_open_socket(&made.port);
    made.server_side = ls_open_socket(&unused);
    return made;
}

void ls_relay_send_up(ls_relay *relay, const uint8_t *bytes, size_t size)
{
    ls_send_datagram(relay->server_side, relay->server_port, bytes, size);
    relay->up_bytes += size + IP_UDP_BYTES;
    relay->up_packets++;
}

void ls_relay_move(ls_relay *relay)
{
    uint16_t unused;
    int before = relay->server_side;
    relay->server_side = ls_open_socket(&unused); /* while the old port is taken: another one */
    close(before);
}

static ls_held_datagram *hold(ls_relay *relay, bool is_up)
{
    cr_assert_lt(relay->held_count, LS_RELAY_HELD_MAX);
    ls_held_datagram *held =
        &relay->held[(relay->held_first + relay->held_count) % LS_RELAY_HELD_MAX];
    held->is_up = is_up;
    held->due_ns = ls_station_now_ns() + relay->delay_ns;
    return held;
}

static void pass_on(ls_relay *relay, ls_held_datagram *held)
{
    size_t (*alter)(void *, uint8_t *, size_t) = held->is_up ? relay->alter : relay->alter_down;
    size_t size = alter ? alter(relay->user, held->bytes, held->size) : held->size;
    if (size == LS_RELAY_LOST) {
        return;
    }
    if (held->is_up) {
        ls_relay_send_up(relay, held->bytes, size);
        return;
    }
    sendto(relay->client_side, held->bytes, size, 0, (struct sockaddr *)&relay->client,
           sizeof relay->client);
    relay->down_bytes += size + IP_UDP_BYTES;
    relay->down_packets++;
}

static void pass_on_what_is_due(ls_relay *relay)
{
    while (relay->held_count > 0 && relay->held[relay->held_first].due_ns <= ls_station_now_ns()) {
        pass_on(relay, &relay->held[relay->held_first]);
        relay->held_first = (relay->held_first + 1) % LS_RELAY_HELD_MAX;
        relay->held_count--;
    }
}

static bool receive_in(ls_relay *relay, int descriptor, bool is_up)
{
    ls_held_datagram *held = hold(relay, is_up);
    struct sockaddr_in from;
    socklen_t from_size = sizeof from;
    ssize_t size = recvfrom(descriptor, held->bytes, sizeof held->bytes, MSG_DONTWAIT,
                            (struct sockaddr *)&from, &from_size);
    if (size < 0) {
        return false;
    }
    held->size = (size_t)size;
    relay->held_count++;
    if (is_up) {
        relay->client = from;
        memcpy(relay->last_up, held->bytes, held->size);
        relay->last_up_size = held->size;
        relay->largest_up_size =
            held->size > relay->largest_up_size ? held->size : relay->largest_up_size;
    }
    return true;
}

void ls_relay_turn(ls_relay *relay)
{
    while (receive_in(relay, relay->client_side, true) ||
           receive_in(relay, relay->server_side, false)) {
        pass_on_what_is_due(relay);
    }
    pass_on_what_is_due(relay);
}

void ls_relay_close(ls_relay *relay)
{
    if (relay->port != 0) {
        close(relay->client_side);
        close(relay->server_side);
        relay->port = 0;
    }
}

/* ---- a server and a client ---- */

uint16_t ls_station_port(const ls_station *station)
{
    return ls_transport_udp_port(station->transport);
}

void ls_stations_connect(ls_station *server, ls_station *client, uint32_t peers_max)
{
    *server = ls_station_listen(peers_max);
    *client = ls_station_connect(ls_station_port(server), CONNECT_TIMEOUT_MS);
    LS_RUN_UNTIL(server->connected_count == 1 && client->connected_count == 1, server, client);
}

void ls_stations_turn_through(ls_station *server, ls_station *client, ls_relay *relay)
{
    ls_relay_turn(relay);
    ls_stations_turn((ls_station *const[]){server, client}, 2);
    ls_relay_turn(relay);
}

void ls_stations_connect_through(ls_station *server, ls_station *client, ls_relay *relay)
{
    uint64_t end_ns = ls_station_now_ns() + LS_STATION_PATIENCE_NS;
    size_t before = server->connected_count;
    *relay = ls_relay_open(ls_station_port(server));
    *client = ls_station_connect(relay->port, CONNECT_TIMEOUT_MS);
    while (server->connected_count == before || client->connected_count == 0) {
        cr_assert_lt(ls_station_now_ns(), end_ns);
        ls_stations_turn_through(server, client, relay);
    }
}
