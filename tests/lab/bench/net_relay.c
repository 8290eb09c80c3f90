/* The yardstick: what ENet costs with nothing around it. Once a tick it takes in what has come,
 * gives every peer a packet, and flushes. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/net_server.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <enet/enet.h>
#include <time.h>

enum {
    SOCKET_RECEIVE_BYTES = 4 << 20,
    TIMEOUT_MIN_MS = 60000,
    TIMEOUT_MAX_MS = 120000,
    TIMEOUT_LIMIT = 1024,
    PING_INTERVAL_MS = 2000, /* as ours, or it would send more packets */
};

typedef struct net_relay {
    const bench_net_plan *plan;
    ENetHost *host;
    uint64_t ticks;
} net_relay;

static void drain(const net_relay *relay)
{
    ENetEvent event;
    while (enet_host_service(relay->host, &event, 0) > 0) {
        if (event.type == ENET_EVENT_TYPE_RECEIVE) {
            enet_packet_destroy(event.packet);
        } else if (event.type == ENET_EVENT_TYPE_CONNECT) {
            enet_peer_timeout(event.peer, TIMEOUT_LIMIT, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS);
            enet_peer_ping_interval(event.peer, PING_INTERVAL_MS);
        }
    }
}

static void send_to_all(const net_relay *relay)
{
    static const uint8_t zeros[LS_PACKET_BYTES_MAX];
    for (size_t i = 0; i < relay->host->peerCount; i++) {
        ENetPeer *peer = &relay->host->peers[i];
        if (peer->state != ENET_PEER_STATE_CONNECTED) {
            continue;
        }
        ENetPacket *packet =
            enet_packet_create(zeros, relay->plan->down_bytes, ENET_PACKET_FLAG_UNSEQUENCED);
        if (packet && enet_peer_send(peer, 0, packet) != 0) {
            enet_packet_destroy(packet);
        }
    }
    enet_host_flush(relay->host);
}

/* Ticks on until a moment of the monotonic clock. */
static void tick_until(net_relay *relay, uint64_t *next_ns, uint64_t end_ns)
{
    while (*next_ns < end_ns) {
        *next_ns += LS_NS_PER_SECOND / relay->plan->rate_hz;
        struct timespec due = {.tv_sec = (time_t)(*next_ns / LS_NS_PER_SECOND),
                               .tv_nsec = (long)(*next_ns % LS_NS_PER_SECOND)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        drain(relay);
        send_to_all(relay);
        relay->ticks++;
    }
}

static bench_net_window count(const net_relay *relay)
{
    return (bench_net_window){.processor_ns = bench_processor_ns(),
                              .client_ticks = relay->ticks * relay->plan->clients,
                              .packets_up = relay->host->totalReceivedPackets,
                              .packets_down = relay->host->totalSentPackets};
}

static void measure(net_relay *relay, int pipe)
{
    uint64_t next_ns = bench_now_ns();
    while (relay->host->connectedPeers < relay->plan->clients) {
        tick_until(relay, &next_ns, next_ns + 1);
    }
    tick_until(relay, &next_ns, next_ns + relay->plan->warm_ns);
    bench_net_window before = count(relay);
    bench_net_send_begin(relay->plan, pipe);
    tick_until(relay, &next_ns, next_ns + relay->plan->window_ns);
    bench_net_window now = count(relay);
    bench_net_window window = {
        .processor_ns = now.processor_ns - before.processor_ns,
        .client_ticks = now.client_ticks - before.client_ticks,
        .packets_up = (uint32_t)now.packets_up - (uint32_t)before.packets_up,
        .packets_down = (uint32_t)now.packets_down - (uint32_t)before.packets_down,
        .is_sound = relay->host->connectedPeers == relay->plan->clients,
    };
    bench_child_send(pipe, &window, sizeof window);
}

void bench_net_relay_serve(const void *user, int pipe)
{
    net_relay relay = {.plan = user};
    ENetAddress address = {.port = 0};
    enet_address_set_host_ip(&address, "127.0.0.1");
    relay.host = enet_host_create(&address, relay.plan->clients, 1, 0, 0);
    if (!relay.host) {
        return;
    }
    relay.host->duplicatePeers = relay.plan->clients;
    enet_socket_set_option(relay.host->socket, ENET_SOCKOPT_RCVBUF, SOCKET_RECEIVE_BYTES);
    bench_child_send(pipe, &relay.host->address.port, sizeof relay.host->address.port);
    measure(&relay, pipe);
}

/* ---- its client ---- */

struct bench_plain_client {
    ENetHost *host;
    ENetPeer *peer;
};

bench_plain_client *bench_plain_client_connect(uint16_t port)
{
    bench_plain_client *client = ls_allocate(ls_allocator_heap(), sizeof *client);
    ENetAddress address = {.port = port};
    enet_address_set_host_ip(&address, "127.0.0.1");
    if (!client) {
        return NULL;
    }
    client->host = enet_host_create(NULL, 1, 1, 0, 0);
    client->peer = client->host ? enet_host_connect(client->host, &address, 1, 0) : NULL;
    if (!client->peer) {
        ls_release(ls_allocator_heap(), client);
        return NULL;
    }
    enet_peer_timeout(client->peer, TIMEOUT_LIMIT, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS);
    enet_peer_ping_interval(client->peer, PING_INTERVAL_MS);
    enet_host_flush(client->host);
    return client;
}

void bench_plain_client_turn(bench_plain_client *client, uint32_t packet_bytes)
{
    static const uint8_t zeros[LS_PACKET_BYTES_MAX];
    ENetEvent event;
    while (enet_host_service(client->host, &event, 0) > 0) {
        if (event.type == ENET_EVENT_TYPE_RECEIVE) {
            enet_packet_destroy(event.packet);
        }
    }
    if (client->peer->state == ENET_PEER_STATE_CONNECTED) {
        ENetPacket *packet = enet_packet_create(zeros, packet_bytes, ENET_PACKET_FLAG_UNSEQUENCED);
        if (packet && enet_peer_send(client->peer, 0, packet) != 0) {
            enet_packet_destroy(packet);
        }
        enet_host_flush(client->host);
    }
}
