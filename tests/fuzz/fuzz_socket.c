#include "lockstep/tests/fuzz/fuzz_socket.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"

#include <string.h>

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

void fuzz_socket_open(fuzz_socket *made, const ls_endpoint *peer)
{
    *made = (fuzz_socket){
        .socket.operations = &operations, .now_ns = 1000 * LS_NS_PER_SECOND, .peer = *peer};
}

ls_transport_udp_ground fuzz_socket_ground(fuzz_socket *socket)
{
    return (ls_transport_udp_ground){&socket->socket, {now_of, socket}};
}

void fuzz_socket_give(fuzz_socket *socket, const ls_endpoint *from, const uint8_t *bytes,
                      size_t size)
{
    LS_ASSERT(size <= sizeof socket->in_bytes);
    memcpy(socket->in_bytes, bytes, size);
    socket->in = (ls_udp_datagram){
        .from = *from, .bytes = socket->in_bytes, .size = size, .arrived_ns = socket->now_ns};
}

fuzz_move fuzz_take_move(fuzz_input *input)
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
