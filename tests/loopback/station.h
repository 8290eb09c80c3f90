/* Station: one ENet transport in a test, and what it has heard. Several stations in one thread
 * talk over 127.0.0.1; LS_RUN_UNTIL turns them in order until a condition holds, and fails the test
 * when it does not come true in time. Also a relay that counts and alters what passes it.
 * Used by the loopback tests. */
#ifndef LOCKSTEP_TESTS_LOOPBACK_STATION_H
#define LOCKSTEP_TESTS_LOOPBACK_STATION_H

#include "lockstep/protocol/udp/transport_udp.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdbool.h>

#define LS_STATION_PEERS_MAX 64u
#define LS_STATION_PACKETS_MAX 64u
#define LS_STATION_PATIENCE_NS UINT64_C(60000000000)

typedef struct ls_station_packet {
    ls_peer_id peer;
    ls_channel channel;
    size_t size;
    uint64_t arrived_ns; /* as the transport says */
    uint8_t bytes[LS_PACKET_BYTES_MAX];
} ls_station_packet;

typedef struct ls_station {
    ls_transport *transport;
    ls_peer_id connected[LS_STATION_PEERS_MAX];
    uint64_t origins[LS_STATION_PEERS_MAX]; /* of those */
    size_t connected_count;
    ls_peer_id disconnected[LS_STATION_PEERS_MAX];
    ls_status reasons[LS_STATION_PEERS_MAX];
    size_t disconnected_count;
    ls_station_packet
        packets[LS_STATION_PACKETS_MAX]; /* the newest, at index received_count - 1 % max */
    size_t received_count;
    bool echoes; /* sends each packet back on its channel */
} ls_station;

uint64_t ls_station_now_ns(void);

/* Of a server on 127.0.0.1 that lets anybody in. */
ls_transport_udp_server_config ls_station_server_config(uint32_t peers_max);

/* A server on 127.0.0.1 with a port that the system chose. */
ls_station ls_station_listen(uint32_t peers_max);
ls_station ls_station_connect(uint16_t port, uint64_t timeout_ms);
void ls_station_close(ls_station *station);

void ls_station_receive_all(ls_station *station);

/* Service, take all events, flush. */
void ls_station_turn(ls_station *station);
void ls_stations_turn(ls_station *const *stations, size_t count);

const ls_station_packet *ls_station_newest(const ls_station *station);

/* Of the first peer that connected. */
void ls_station_send(ls_station *station, ls_channel channel, const void *bytes, size_t size);
ls_transport_traffic ls_station_traffic(const ls_station *station);

#define LS_RUN_UNTIL(condition, ...)                                                               \
    do {                                                                                           \
        ls_station *const run_stations[] = {__VA_ARGS__};                                          \
        uint64_t run_end_ns = ls_station_now_ns() + LS_STATION_PATIENCE_NS;                        \
        while (!(condition)) {                                                                     \
            cr_assert_lt(ls_station_now_ns(), run_end_ns, "never came true: " #condition);         \
            ls_stations_turn(run_stations, sizeof run_stations / sizeof run_stations[0]);          \
        }                                                                                          \
    } while (0)

/* For a while: what must not happen gets the time to. */
void ls_stations_idle(ls_station *const *stations, size_t count, uint64_t duration_ms);

/* A UDP socket of the test's own on 127.0.0.1, and the port that it got. */
int ls_open_socket(uint16_t *port);

/* Sends to 127.0.0.1. */
void ls_send_datagram(int descriptor, uint16_t port, const void *bytes, size_t size);

/* The port that a server got. */
uint16_t ls_station_port(const ls_station *station);

#define LS_RELAY_DATAGRAM_BYTES_MAX 2048u
#define LS_RELAY_HELD_MAX 256u
#define LS_RELAY_LOST SIZE_MAX

typedef struct ls_held_datagram {
    uint64_t due_ns;
    bool is_up;
    size_t size;
    uint8_t bytes[LS_RELAY_DATAGRAM_BYTES_MAX];
} ls_held_datagram;

/* Stands between one client and its server. */
typedef struct ls_relay {
    int client_side;
    int server_side;
    uint16_t port; /* where the client connects to */
    uint16_t server_port;
    struct sockaddr_in client;
    uint64_t up_bytes; /* with IPv4 and UDP headers */
    uint64_t up_packets;
    uint64_t down_bytes;
    uint64_t down_packets;
    uint8_t last_up[LS_RELAY_DATAGRAM_BYTES_MAX]; /* the client's last datagram */
    size_t last_up_size;
    size_t largest_up_size;
    /* Alters a datagram of the client, or of the server, in place, and returns its new size, or
     * LS_RELAY_LOST. NULL: passes them as they are. */
    size_t (*alter)(void *user, uint8_t *bytes, size_t size);
    size_t (*alter_down)(void *user, uint8_t *bytes, size_t size);
    void *user;
    uint64_t delay_ns;                        /* each way; may change at any time */
    ls_held_datagram held[LS_RELAY_HELD_MAX]; /* first come, first gone */
    size_t held_first;
    size_t held_count;
} ls_relay;

ls_relay ls_relay_open(uint16_t server_port);
void ls_relay_turn(ls_relay *relay);
void ls_relay_send_up(ls_relay *relay, const uint8_t *bytes, size_t size);
/* Sends to the server from another port from now on, and hears nothing more at the old one. */
void ls_relay_move(ls_relay *relay);
void ls_relay_close(ls_relay *relay);

/* A server with so many places and a client that is connected to it, perhaps through a relay that
 * is opened with them. */
void ls_stations_connect(ls_station *server, ls_station *client, uint32_t peers_max);
void ls_stations_connect_through(ls_station *server, ls_station *client, ls_relay *relay);
void ls_stations_turn_through(ls_station *server, ls_station *client, ls_relay *relay);

#endif
