/* Fuzzes the transport of a client behind the seal: the server that it asked for, which has the
 * right keys, sends any contents: packets beside ENet, several in one, and datagrams of ENet,
 * through the filter before it; and others send what is not sealed.
 *
 * A list of moves (fuzz_socket.h), where bit 4 of `what` means: the client sends something first;
 * bit 5: it begins a new connection first
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/sealed/sealed_server.h"
#include "lockstep/tests/fuzz/fuzz_socket.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <string.h>

#define MOVES_MAX 64u
#define STEP_NS (100 * LS_NS_PER_MS)
#define TIMEOUT_NS (5 * LS_NS_PER_SECOND)
#define MEMORY_MAX ((size_t)4 << 20)

typedef struct fuzz_run {
    fuzz_socket socket; /* the client's, whose peer is the server */
    ls_transport *client;
    ls_sealed_server *server;
    ls_endpoint home, elsewhere; /* of the client; of somebody else */
    uint32_t index;              /* of the client's connection, at the server */
    bool is_open;                /* the server has it */
    ls_peer_id peer;             /* 0: the client has no connection */
} fuzz_run;

/* ---- the server ---- */

static void give_client(fuzz_run *run, const ls_endpoint *from, const uint8_t *bytes, size_t size)
{
    fuzz_socket_give(&run->socket, from, bytes, size);
    ls_transport_udp_service(run->client);
    ls_transport_event event;
    while (ls_transport_next_event(run->client, &event)) {
        if (event.kind == LS_TRANSPORT_CONNECTED) {
            run->peer = event.peer;
        } else if (event.kind == LS_TRANSPORT_DISCONNECTED) {
            run->peer = 0;
        } else {
            LS_ASSERT(event.peer == run->peer && run->peer != 0);
            LS_ASSERT(event.size <= LS_PACKET_BYTES_MAX);
        }
    }
    ls_transport_flush(run->client);
}

/* The server takes what the client has sent, and lets it in as any other. */
static void receive_sent(fuzz_run *run)
{
    uint8_t datagram[LS_UDP_DATAGRAM_BYTES_MAX];
    while (run->socket.out_size > 0) {
        size_t size = run->socket.out_size;
        memcpy(datagram, run->socket.out_bytes, size);
        run->socket.out_size = 0;
        ls_sealed_received got;
        ls_sealed_server_receive(run->server, &run->home, datagram, size, run->socket.now_ns, &got);
        if (got.is_opened) {
            if (run->is_open) {
                ls_sealed_server_close(run->server, run->index);
            }
            run->is_open = true;
            run->index = got.index;
        }
        if (got.answer_bytes > 0) {
            give_client(run, &run->socket.peer, got.answer, got.answer_bytes);
        }
    }
}

static void let_pass(fuzz_run *run)
{
    run->socket.now_ns += STEP_NS;
    give_client(run, &run->socket.peer, (const uint8_t *)"", 0);
    receive_sent(run);
}

static void open_run(fuzz_run *run, const ls_allocator *allocator)
{
    const ls_endpoint server = ls_endpoint_from_ipv4(1, 7300);
    *run = (fuzz_run){.home = ls_endpoint_from_ipv4(2, 4000),
                      .elsewhere = ls_endpoint_from_ipv4(3, 4000)};
    fuzz_socket_open(&run->socket, &server);
    ls_transport_udp_server_config config;
    LS_ASSERT(ls_transport_udp_server_config_default(&config) == LS_OK);
    config.sealed.connections_max = 4;
    config.sealed.per_address_max = 4;
    LS_ASSERT(ls_sealed_server_create(&config.sealed, ls_allocator_heap(), &run->server) == LS_OK);
    ls_transport_udp_client_config client = {.connect_timeout_ns = TIMEOUT_NS,
                                             .sealed.has_server_key = true};
    memcpy(client.sealed.server_key, config.sealed.identity.public_key,
           sizeof client.sealed.server_key);
    const ls_transport_udp_ground ground = fuzz_socket_ground(&run->socket);
    LS_ASSERT(ls_transport_udp_connect_on(&ground, &server, &client, allocator, &run->client) ==
              LS_OK);
    for (int i = 0; i < 4 && !run->is_open; i++) {
        let_pass(run);
    }
    LS_ASSERT(run->is_open);
}

static void close_run(fuzz_run *run)
{
    run->socket.now_ns += 10 * LS_NS_PER_SECOND;
    ls_sealed_server_destroy(run->server);
    ls_transport_destroy(run->client);
}

/* ---- moves ---- */

static void prepare(fuzz_run *run, const fuzz_move *move)
{
    if (move->lets_pass) {
        let_pass(run);
    }
    if ((move->what >> 4 & 1u) != 0 && run->peer != 0) {
        ls_transport_send(run->client, run->peer, LS_CHANNEL_RELIABLE, (const uint8_t *)"x", 1);
    }
    if ((move->what >> 5 & 1u) != 0) {
        LS_ASSERT(ls_transport_udp_reconnect(run->client, TIMEOUT_NS) == LS_OK);
        run->peer = 0;
        let_pass(run);
    }
}

static void make_move(fuzz_run *run, const fuzz_move *move)
{
    uint8_t datagram[LS_SEALED_DATAGRAM_BYTES_MAX];
    size_t size = move->size;
    prepare(run, move);
    bool is_sealed = move->is_sealed && run->is_open;
    if (size > 0) {
        memcpy(datagram + (is_sealed ? LS_SEALED_SERVER_HEADER_BYTES : 0), move->bytes, size);
    }
    if (is_sealed) {
        size = ls_sealed_server_seal(run->server, run->index, move->content, datagram, size);
    }
    if (size > 0) {
        give_client(run, move->is_elsewhere ? &run->elsewhere : &run->socket.peer, datagram, size);
        receive_sent(run);
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
