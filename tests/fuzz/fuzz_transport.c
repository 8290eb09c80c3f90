/* Fuzzes the transport of a server behind the seal: a client that was let in, with the right keys,
 * sends any contents: packets beside ENet, several in one, and datagrams of ENet, through the
 * filter before it; and what is not sealed.
 *
 * A list of moves (fuzz_socket.h), where bit 4 of `what` means: the server sends something first
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/tests/fuzz/fuzz_socket.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <string.h>

#define MOVES_MAX 64u
#define STEP_NS (100 * LS_NS_PER_MS)
/* Of a server with so few places, and of what one client makes it take. */
#define MEMORY_MAX ((size_t)8 << 20)

typedef struct fuzz_run {
    fuzz_socket socket; /* the server's, whose peer is the client's home */
    ls_transport *server;
    ls_sealed_client *client;
    ls_endpoint elsewhere;
    ls_peer_id peer; /* 0: it is gone */
} fuzz_run;

/* ---- the server ---- */

static void receive_events(fuzz_run *run)
{
    ls_transport_event event;
    while (ls_transport_next_event(run->server, &event)) {
        if (event.kind == LS_TRANSPORT_CONNECTED) {
            run->peer = event.peer;
        } else if (event.kind == LS_TRANSPORT_DISCONNECTED) {
            LS_ASSERT(event.peer == run->peer);
            run->peer = 0;
        } else {
            LS_ASSERT(event.peer == run->peer);
            LS_ASSERT(event.size <= LS_PACKET_BYTES_MAX);
        }
    }
    ls_transport_flush(run->server);
}

static void give_server(fuzz_run *run, bool is_elsewhere, const uint8_t *bytes, size_t size)
{
    fuzz_socket_give(&run->socket, is_elsewhere ? &run->elsewhere : &run->socket.peer, bytes, size);
    ls_transport_udp_service(run->server); /* a turn begins */
    receive_events(run);
}

/* The client is let in as any other. */
static void connect(fuzz_run *run)
{
    uint8_t datagram[LS_SEALED_DATAGRAM_BYTES_MAX];
    ls_sealed_client_start(run->client, run->socket.now_ns);
    for (int i = 0; i < 2; i++) {
        size_t size = ls_sealed_client_pop_due(run->client, run->socket.now_ns, datagram);
        give_server(run, false, datagram, size);
        ls_sealed_client_received got;
        ls_sealed_client_receive(run->client, run->socket.out_bytes, run->socket.out_size,
                                 run->socket.now_ns, &got);
    }
    LS_ASSERT(ls_sealed_client_state_of(run->client) == LS_SEALED_CLIENT_OPEN);
    size_t size = ls_sealed_client_seal(run->client, LS_SEALED_PACKETS, datagram, 0);
    give_server(run, false, datagram, size);
    LS_ASSERT(run->peer != 0);
}

static void open_run(fuzz_run *run, const ls_allocator *allocator)
{
    static ls_transport_udp_server_config config;
    const ls_endpoint home = ls_endpoint_from_ipv4(1, 4000);
    *run = (fuzz_run){.elsewhere = ls_endpoint_from_ipv4(2, 4000)};
    fuzz_socket_open(&run->socket, &home);
    LS_ASSERT(ls_transport_udp_server_config_default(&config) == LS_OK);
    config.sealed.connections_max = 2;
    config.sealed.per_address_max = 2;
    const ls_transport_udp_ground ground = fuzz_socket_ground(&run->socket);
    LS_ASSERT(ls_transport_udp_listen_on(&ground, &config.sealed, allocator, &run->server) ==
              LS_OK);
    ls_sealed_client_config client = {.has_server_key = true};
    memcpy(client.server_key, config.sealed.identity.public_key, sizeof client.server_key);
    LS_ASSERT(ls_sealed_client_create(&client, ls_allocator_heap(), &run->client) == LS_OK);
    connect(run);
}

static void close_run(fuzz_run *run)
{
    run->socket.now_ns += 10 * LS_NS_PER_SECOND;
    ls_sealed_client_destroy(run->client);
    ls_transport_destroy(run->server);
}

/* ---- moves ---- */

static void let_pass(fuzz_run *run)
{
    run->socket.now_ns += STEP_NS;
    ls_transport_udp_service(run->server);
    receive_events(run);
}

static void make_move(fuzz_run *run, const fuzz_move *move)
{
    uint8_t datagram[LS_SEALED_DATAGRAM_BYTES_MAX];
    size_t size = move->size;
    if (move->lets_pass) {
        let_pass(run);
    }
    if ((move->what >> 4 & 1u) != 0 && run->peer != 0) {
        ls_transport_send(run->server, run->peer, LS_CHANNEL_RELIABLE, (const uint8_t *)"x", 1);
    }
    if (size > 0) {
        memcpy(datagram + (move->is_sealed ? LS_SEALED_CLIENT_HEADER_BYTES : 0), move->bytes, size);
    }
    if (move->is_sealed) {
        size = ls_sealed_client_seal(run->client, move->content, datagram, size);
    }
    if (size > 0) {
        give_server(run, move->is_elsewhere, datagram, size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static fuzz_run run;
    fuzz_input input = {bytes, size};
    counting_allocator counting;
    counting_allocator_init(&counting);
    LS_ASSERT(ls_cipher_init() == LS_OK);
    open_run(&run, &counting.allocator);
    for (uint32_t i = 0; i < MOVES_MAX && input.size > 0; i++) {
        const fuzz_move move = fuzz_take_move(&input);
        make_move(&run, &move);
        LS_ASSERT(counting.live_bytes <= MEMORY_MAX);
    }
    close_run(&run);
    LS_ASSERT(counting.live_blocks == 0);
    return 0;
}
