/* Fuzzes the transport behind the seal, of a server and of a client. */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/protocol/sealed/sealed_content.h"
#include "lockstep/protocol/sealed/sealed_server.h"
#include "lockstep/protocol/udp/transport_udp.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include "lockstep/tests/support/counting_allocator.h"

#include <string.h>

/* ==== a datagram socket without a network, for one datagram each way, its clock, and the moves of
 * a peer that sends to it ==== */

typedef struct fuzz_socket {
    ls_datagram_socket socket;
    uint64_t now_ns;
    ls_endpoint peer;   /* what is sent there is kept, what goes elsewhere is lost */
    ls_udp_datagram in; /* the datagram that has come; size 0: none */
    uint8_t in_bytes[LS_UDP_DATAGRAM_BYTES_MAX];
    uint8_t out_bytes[LS_UDP_DATAGRAM_BYTES_MAX]; /* the newest that was sent to the peer */
    size_t out_size;                              /* 0: none since this was set to 0 */
} fuzz_socket;

static fuzz_socket *socket_of(ls_datagram_socket *socket)
{
    return (fuzz_socket *)socket;
}

static void begin_turn(ls_datagram_socket *socket, uint64_t now_ns)
{
    (void)socket;
    (void)now_ns;
}

static ls_udp_receipt receive(ls_datagram_socket *socket, ls_udp_datagram *out)
{
    fuzz_socket *ours = socket_of(socket);
    if (ours->in.size == 0) {
        return LS_UDP_EMPTY;
    }
    *out = ours->in;
    ours->in.size = 0;
    return LS_UDP_RECEIVED;
}

static bool has_received(const ls_datagram_socket *socket)
{
    (void)socket;
    return false;
}

static const uint8_t *coming(const ls_datagram_socket *socket, uint32_t others, size_t *size)
{
    (void)socket;
    (void)others;
    (void)size;
    return NULL;
}

static void send_datagram(ls_datagram_socket *socket, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    fuzz_socket *ours = socket_of(socket);
    LS_ASSERT(size <= sizeof ours->out_bytes);
    if (ls_endpoint_is_equal(to, &ours->peer)) {
        memcpy(ours->out_bytes, bytes, size);
        ours->out_size = size;
    }
}

static ls_udp_sent flush(ls_datagram_socket *socket)
{
    (void)socket;
    return (ls_udp_sent){0};
}

static bool reroute(ls_datagram_socket *socket)
{
    (void)socket;
    return false;
}

static int descriptor(const ls_datagram_socket *socket)
{
    (void)socket;
    return -1;
}

static uint16_t port(const ls_datagram_socket *socket)
{
    (void)socket;
    return 7300;
}

static void close_socket(ls_datagram_socket *socket)
{
    (void)socket;
}

static const ls_datagram_socket_operations operations = {
    .begin_turn = begin_turn,
    .receive = receive,
    .has_received = has_received,
    .coming = coming,
    .send = send_datagram,
    .flush = flush,
    .reroute = reroute,
    .descriptor = descriptor,
    .port = port,
    .close = close_socket,
};

static uint64_t now_of(void *user)
{
    return ((const fuzz_socket *)user)->now_ns;
}

static void fuzz_socket_open(fuzz_socket *made, const ls_endpoint *peer)
{
    *made = (fuzz_socket){
        .socket.operations = &operations, .now_ns = 1000 * LS_NS_PER_SECOND, .peer = *peer};
}

/* Borrows the socket for as long as the transport lives. */
static ls_transport_udp_ground fuzz_socket_ground(fuzz_socket *socket)
{
    return (ls_transport_udp_ground){&socket->socket, {now_of, socket}};
}

/* A datagram has come. The bytes are copied. */
static void fuzz_socket_give(fuzz_socket *socket, const ls_endpoint *from, const uint8_t *bytes,
                             size_t size)
{
    LS_ASSERT(size <= sizeof socket->in_bytes);
    memcpy(socket->in_bytes, bytes, size);
    socket->in = (ls_udp_datagram){
        .from = *from, .bytes = socket->in_bytes, .size = size, .arrived_ns = socket->now_ns};
}

/* One move, in bytes:
 *   u8 what    low 2 bits: PACKET, PACKETS, ENET, or a datagram that is not sealed; bit 2: from
 *              another address; bit 3: 100 ms pass first; the others are the target's
 *   u8 size    of the content, in steps of 5 bytes
 *   ...        the content */
typedef struct fuzz_move {
    uint8_t what;
    bool is_sealed;
    ls_sealed_content content; /* is_sealed */
    bool is_elsewhere;
    bool lets_pass;
    const uint8_t *bytes; /* borrowed from the input */
    size_t size;          /* 0 .. LS_SEALED_CONTENT_BYTES_MAX */
} fuzz_move;

static fuzz_move fuzz_take_move(fuzz_input *input)
{
    static const ls_sealed_content contents[] = {LS_SEALED_PACKET, LS_SEALED_PACKETS,
                                                 LS_SEALED_ENET};
    uint8_t what = fuzz_take_u8(input);
    fuzz_move move = {.what = what,
                      .is_sealed = (what & 3u) < sizeof contents / sizeof contents[0],
                      .is_elsewhere = (what >> 2 & 1u) != 0,
                      .lets_pass = (what >> 3 & 1u) != 0};
    if (move.is_sealed) {
        move.content = contents[what & 3u];
    }
    size_t size = 5u * fuzz_take_u8(input);
    size = LS_MIN(size, LS_SEALED_CONTENT_BYTES_MAX);
    move.bytes = fuzz_take_bytes(input, size, &move.size);
    return move;
}

/* ==== transport ==== */

/* Fuzzes the transport of a server behind the seal: a client that was let in, with the right keys,
 * sends any contents: packets beside ENet, several in one, and datagrams of ENet, through the
 * filter before it; and what is not sealed.
 *
 * A list of moves (fuzz_move), where bit 4 of `what` means: the server sends something first
 */

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

FUZZ_TARGET(transport)
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

/* ==== transport_client ==== */

/* Fuzzes the transport of a client behind the seal: the server that it asked for, which has the
 * right keys, sends any contents: packets beside ENet, several in one, and datagrams of ENet,
 * through the filter before it; and others send what is not sealed.
 *
 * A list of moves (fuzz_move), where bit 4 of `what` means: the client sends something first;
 * bit 5: it begins a new connection first
 */

#define TIMEOUT_NS (5 * LS_NS_PER_SECOND)
#define CLIENT_MEMORY_MAX ((size_t)4 << 20)

typedef struct client_run {
    fuzz_socket socket; /* the client's, whose peer is the server */
    ls_transport *client;
    ls_sealed_server *server;
    ls_endpoint home, elsewhere; /* of the client; of somebody else */
    uint32_t index;              /* of the client's connection, at the server */
    bool is_open;                /* the server has it */
    ls_peer_id peer;             /* 0: the client has no connection */
} client_run;

/* ---- the server ---- */

static void give_client(client_run *run, const ls_endpoint *from, const uint8_t *bytes, size_t size)
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
static void receive_sent(client_run *run)
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

static void client_let_pass(client_run *run)
{
    run->socket.now_ns += STEP_NS;
    give_client(run, &run->socket.peer, (const uint8_t *)"", 0);
    receive_sent(run);
}

static void client_open_run(client_run *run, const ls_allocator *allocator)
{
    const ls_endpoint server = ls_endpoint_from_ipv4(1, 7300);
    *run = (client_run){.home = ls_endpoint_from_ipv4(2, 4000),
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
        client_let_pass(run);
    }
    LS_ASSERT(run->is_open);
}

static void client_close_run(client_run *run)
{
    run->socket.now_ns += 10 * LS_NS_PER_SECOND;
    ls_sealed_server_destroy(run->server);
    ls_transport_destroy(run->client);
}

/* ---- moves ---- */

static void prepare(client_run *run, const fuzz_move *move)
{
    if (move->lets_pass) {
        client_let_pass(run);
    }
    if ((move->what >> 4 & 1u) != 0 && run->peer != 0) {
        ls_transport_send(run->client, run->peer, LS_CHANNEL_RELIABLE, (const uint8_t *)"x", 1);
    }
    if ((move->what >> 5 & 1u) != 0) {
        LS_ASSERT(ls_transport_udp_reconnect(run->client, TIMEOUT_NS) == LS_OK);
        run->peer = 0;
        client_let_pass(run);
    }
}

static void client_make_move(client_run *run, const fuzz_move *move)
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

FUZZ_TARGET(transport_client)
{
    static client_run run;
    fuzz_input input = {bytes, size};
    counting_allocator counting;
    counting_allocator_init(&counting);
    LS_ASSERT(ls_cipher_init() == LS_OK);
    client_open_run(&run, &counting.allocator);
    for (uint32_t i = 0; i < MOVES_MAX && input.size > 0; i++) {
        const fuzz_move move = fuzz_take_move(&input);
        client_make_move(&run, &move);
        LS_ASSERT(counting.live_bytes <= CLIENT_MEMORY_MAX);
    }
    client_close_run(&run);
    LS_ASSERT(counting.live_blocks == 0);
    return 0;
}
