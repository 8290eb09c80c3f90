#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/loopback/sealed_peer.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void send_raw(sealed_peer *peer, const uint8_t *bytes, size_t size)
{
    memcpy(peer->last, bytes, size);
    peer->last_size = size;
    ls_send_datagram(peer->descriptor, peer->server_port, bytes, size);
}

sealed_peer sealed_peer_join(ls_station *server)
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

void sealed_peer_leave(sealed_peer *peer)
{
    close(peer->descriptor);
    ls_sealed_client_destroy(peer->client);
    peer->client = NULL;
}

size_t sealed_peer_send(sealed_peer *peer, ls_sealed_content content, const void *bytes,
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

void sealed_peer_receive(sealed_peer *peer)
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

void sealed_peer_move(sealed_peer *peer)
{
    uint16_t unused;
    int other = ls_open_socket(&unused);
    close(peer->descriptor);
    peer->descriptor = other;
}
