#include "lockstep/common/system/socket_layer.h"

#include "lockstep/common/base/assert.h"

enum {
    OWN_PER_RECEIVE_MAX = 64, /* a flood of the layer's own must not hold up the transport */
};

static const ls_datagram_socket_operations operations;

static ls_socket_layer *from_base(ls_datagram_socket *base)
{
    LS_ASSERT(base->operations == &operations);
    return (ls_socket_layer *)base;
}

static const ls_socket_layer *from_const_base(const ls_datagram_socket *base)
{
    LS_ASSERT(base->operations == &operations);
    return (const ls_socket_layer *)base;
}

static void begin_turn(ls_datagram_socket *base, uint64_t now_ns)
{
    ls_socket_layer *layer = from_base(base);
    ls_datagram_socket_begin_turn(layer->inner, now_ns);
    if (layer->kind->begin_turn) {
        layer->kind->begin_turn(layer, now_ns);
    }
}

/* ---- in ---- */

static bool has_own(const ls_socket_layer *layer)
{
    return layer->kind->has_own && layer->kind->has_own(layer);
}

static ls_udp_receipt receive(ls_datagram_socket *base, ls_udp_datagram *out)
{
    ls_socket_layer *layer = from_base(base);
    if (has_own(layer)) {
        layer->kind->receive_own(layer, out);
        return LS_UDP_RECEIVED;
    }
    for (uint32_t i = 0;; i++) {
        ls_udp_receipt receipt = ls_datagram_socket_receive(layer->inner, out);
        if (receipt != LS_UDP_RECEIVED || layer->kind->receive(layer, out)) {
            return receipt;
        }
        if (i >= OWN_PER_RECEIVE_MAX) { /* one that the transport drops */
            out->size = 0;
            return receipt;
        }
    }
}

static bool has_received(const ls_datagram_socket *base)
{
    const ls_socket_layer *layer = from_const_base(base);
    return has_own(layer) || ls_datagram_socket_has_received(layer->inner);
}

/* Those of the layer's own ways are not foreseen: this is a hint. */
static const uint8_t *coming(const ls_datagram_socket *base, uint32_t others, size_t *size)
{
    const ls_socket_layer *layer = from_const_base(base);
    const uint8_t *bytes = ls_datagram_socket_coming(layer->inner, others, size);
    return bytes && layer->kind->peek ? layer->kind->peek(bytes, size) : bytes;
}

/* ---- out ---- */

static void send_datagram(ls_datagram_socket *base, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    ls_socket_layer *layer = from_base(base);
    LS_ASSERT(layer->waiting < LS_UDP_WAITING_MAX);
    uint32_t number = layer->waiting++;
    ls_outgoing_datagram going = {to, bytes, size, layer->rooms[number]};
    ls_layer_fate fate = layer->kind->send(layer, &going);
    if (fate == LS_LAYER_FORWARDED) {
        layer->numbers[layer->passed++] = (uint8_t)number;
        ls_datagram_socket_send(layer->inner, going.to, going.bytes, going.size);
    } else if (fate == LS_LAYER_LOST) {
        layer->lost |= UINT64_C(1) << number;
    }
}

static ls_udp_sent flush(ls_datagram_socket *base)
{
    ls_socket_layer *layer = from_base(base);
    ls_udp_sent sent = ls_datagram_socket_flush(layer->inner);
    ls_udp_sent all = {.lost = layer->lost, .error = sent.error};
    for (uint32_t i = 0; sent.lost != 0 && i < layer->passed; i++) {
        all.lost |= (sent.lost >> i & 1u) << layer->numbers[i];
    }
    layer->waiting = 0;
    layer->passed = 0;
    layer->lost = 0;
    return all;
}

void ls_socket_layer_send_own(ls_socket_layer *layer, const ls_endpoint *to, const uint8_t *bytes,
                              size_t size)
{
    if (layer->waiting == 0) {
        ls_datagram_socket_send(layer->inner, to, bytes, size);
        (void)ls_datagram_socket_flush(layer->inner);
    }
}

/* ---- the socket ---- */

/* One that listens sends from whichever address leads to the other side. */
static bool reroute(ls_datagram_socket *base)
{
    (void)base;
    return false;
}

static int descriptor(const ls_datagram_socket *base)
{
    return ls_datagram_socket_descriptor(from_const_base(base)->inner);
}

static uint16_t port(const ls_datagram_socket *base)
{
    return ls_datagram_socket_port(from_const_base(base)->inner);
}

static void close_socket(ls_datagram_socket *base)
{
    ls_socket_layer *layer = from_base(base);
    ls_datagram_socket_close(layer->inner);
    layer->inner = NULL;
    if (layer->kind->closed) {
        layer->kind->closed(layer);
    }
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

void ls_socket_layer_init(ls_socket_layer *layer, const ls_socket_layer_kind *kind,
                          ls_datagram_socket *inner)
{
    layer->base = (ls_datagram_socket){.operations = &operations};
    layer->kind = kind;
    layer->inner = inner;
    layer->waiting = 0;
    layer->passed = 0;
    layer->lost = 0;
}
