#include "lockstep/tests/lab/bench/plain_client.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/limits.h"

#include <enet/enet.h>

enum {
    TIMEOUT_MIN_MS = 60000,
    TIMEOUT_MAX_MS = 120000,
    TIMEOUT_LIMIT = 1024,
    PING_INTERVAL_MS = 2000, /* as the relay's */
};

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
