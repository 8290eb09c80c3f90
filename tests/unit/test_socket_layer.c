#include "lockstep/common/system/socket_layer.h"

#include <criterion/criterion.h>
#include <string.h>

/* The socket beneath: every datagram that comes to it is one byte, and what leaves is kept. */
static ls_datagram_socket beneath;
static uint8_t coming_bytes[128];
static uint32_t coming_count, taken;
static uint8_t taken_byte;
static uint8_t left[LS_UDP_WAITING_MAX];
static uint32_t left_count, flushes, closed;
static uint64_t lost_beneath;

static void begin_turn(ls_datagram_socket *socket, uint64_t now_ns)
{
    (void)socket;
    (void)now_ns;
}

static ls_udp_receipt receive(ls_datagram_socket *socket, ls_udp_datagram *out)
{
    (void)socket;
    if (taken == coming_count) {
        return LS_UDP_EMPTY;
    }
    taken_byte = coming_bytes[taken++];
    *out = (ls_udp_datagram){.bytes = &taken_byte, .size = 1};
    return LS_UDP_RECEIVED;
}

static bool has_received(const ls_datagram_socket *socket)
{
    (void)socket;
    return taken < coming_count;
}

static const uint8_t *coming(const ls_datagram_socket *socket, uint32_t others, size_t *size)
{
    (void)socket;
    *size = 1;
    return taken + others < coming_count ? &coming_bytes[taken + others] : NULL;
}

static void send_datagram(ls_datagram_socket *socket, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    (void)socket;
    (void)to;
    cr_assert_eq(size, 1);
    left[left_count++] = bytes[0];
}

static ls_udp_sent flush(ls_datagram_socket *socket)
{
    (void)socket;
    flushes++;
    return (ls_udp_sent){.lost = lost_beneath};
}

static int descriptor(const ls_datagram_socket *socket)
{
    (void)socket;
    return 5;
}

static uint16_t port(const ls_datagram_socket *socket)
{
    (void)socket;
    return 7300;
}

static void close_socket(ls_datagram_socket *socket)
{
    (void)socket;
    closed++;
}

static const ls_datagram_socket_operations operations = {
    .begin_turn = begin_turn,
    .receive = receive,
    .has_received = has_received,
    .coming = coming,
    .send = send_datagram,
    .flush = flush,
    .descriptor = descriptor,
    .port = port,
    .close = close_socket,
};

/* A layer to which odd bytes that come belong; of those that go 'l' has no way, 'o' is the layer's
 * to send, and 'a' leaves as 'A'. */
static uint32_t own_left;
static uint8_t own_byte = 'w';
static uint32_t closed_layers;

static bool layer_has_own(const ls_socket_layer *layer)
{
    (void)layer;
    return own_left > 0;
}

static void layer_receive_own(ls_socket_layer *layer, ls_udp_datagram *out)
{
    (void)layer;
    own_left--;
    *out = (ls_udp_datagram){.bytes = &own_byte, .size = 1};
}

static bool layer_receive(ls_socket_layer *layer, ls_udp_datagram *came)
{
    (void)layer;
    return came->bytes[0] % 2 == 0;
}

static ls_layer_fate layer_send(ls_socket_layer *layer, ls_outgoing_datagram *going)
{
    (void)layer;
    if (going->bytes[0] == 'a') {
        going->room[0] = 'A';
        going->bytes = going->room;
    }
    return going->bytes[0] == 'l'   ? LS_LAYER_LOST
           : going->bytes[0] == 'o' ? LS_LAYER_SENT
                                    : LS_LAYER_FORWARDED;
}

static void layer_closed(ls_socket_layer *layer)
{
    cr_assert_null(layer->inner);
    closed_layers++;
}

static const ls_socket_layer_kind plain = {.receive = layer_receive, .send = layer_send};
static const ls_socket_layer_kind full = {.has_own = layer_has_own,
                                          .receive_own = layer_receive_own,
                                          .receive = layer_receive,
                                          .send = layer_send,
                                          .closed = layer_closed};
static ls_socket_layer layer;

static ls_datagram_socket *begin(const ls_socket_layer_kind *kind)
{
    beneath.operations = &operations;
    coming_count = taken = left_count = flushes = closed = own_left = closed_layers = 0;
    lost_beneath = 0;
    ls_socket_layer_init(&layer, kind, &beneath);
    return &layer.base;
}

static void come(const char *bytes, size_t size)
{
    memcpy(coming_bytes, bytes, size);
    coming_count = (uint32_t)size;
}

Test(socket_layer, transport_receives_what_is_not_the_layers_and_its_own_ways_first)
{
    ls_datagram_socket *socket = begin(&full);
    ls_udp_datagram came;
    come("13245", 5);
    own_left = 1;
    cr_assert(ls_datagram_socket_has_received(socket));
    cr_assert_eq(ls_datagram_socket_receive(socket, &came), LS_UDP_RECEIVED);
    cr_assert_eq(came.bytes[0], 'w');
    cr_assert_eq(ls_datagram_socket_receive(socket, &came), LS_UDP_RECEIVED);
    cr_assert_eq(came.bytes[0], '2');
    cr_assert_eq(ls_datagram_socket_receive(socket, &came), LS_UDP_RECEIVED);
    cr_assert_eq(came.bytes[0], '4');
    cr_assert_eq(ls_datagram_socket_receive(socket, &came), LS_UDP_EMPTY);
    own_left = 1;
    cr_assert(ls_datagram_socket_has_received(socket), "though nothing is left beneath");
}

Test(socket_layer, flood_of_its_own_returns_to_the_transport)
{
    ls_datagram_socket *socket = begin(&plain);
    ls_udp_datagram came = {.size = 1};
    memset(coming_bytes, '1', sizeof coming_bytes);
    coming_count = sizeof coming_bytes;
    cr_assert_eq(ls_datagram_socket_receive(socket, &came), LS_UDP_RECEIVED);
    cr_assert_eq(came.size, 0);
    cr_assert_lt(taken, coming_count);
}

Test(socket_layer, fates_are_told_by_the_transports_count)
{
    ls_datagram_socket *socket = begin(&plain);
    const ls_endpoint to = ls_endpoint_from_ipv4(0x7f000001, 7300);
    for (const char *each = "xlaoyl"; *each; each++) {
        ls_datagram_socket_send(socket, &to, (const uint8_t *)each, 1);
    }
    cr_assert_eq(left_count, 3);
    cr_assert_arr_eq(left, "xAy", 3);
    lost_beneath = 1u << 2; /* the third that the socket beneath was given */
    ls_udp_sent sent = ls_datagram_socket_flush(socket);
    cr_assert_eq(sent.lost, 1u << 1 | 1u << 4 | 1u << 5);
    lost_beneath = 0;
    sent = ls_datagram_socket_flush(socket);
    cr_assert_eq(sent.lost, 0, "nothing waits any more");
}

Test(socket_layer, own_datagrams_never_leave_among_the_transports)
{
    ls_datagram_socket *socket = begin(&plain);
    const ls_endpoint to = ls_endpoint_from_ipv4(0x7f000001, 7300);
    ls_socket_layer_send_own(&layer, &to, (const uint8_t *)"p", 1);
    cr_assert_eq(left_count, 1);
    cr_assert_eq(flushes, 1);
    ls_datagram_socket_send(socket, &to, (const uint8_t *)"x", 1);
    ls_socket_layer_send_own(&layer, &to, (const uint8_t *)"p", 1);
    cr_assert_eq(left_count, 2);
    (void)ls_datagram_socket_flush(socket);
    ls_socket_layer_send_own(&layer, &to, (const uint8_t *)"p", 1);
    cr_assert_eq(left_count, 3);
}

Test(socket_layer, the_rest_is_that_of_the_socket_beneath)
{
    ls_datagram_socket *socket = begin(&full);
    size_t size = 0;
    come("24", 2);
    cr_assert_eq(*ls_datagram_socket_coming(socket, 1, &size), '4');
    cr_assert_null(ls_datagram_socket_coming(socket, 2, &size));
    cr_assert_eq(ls_datagram_socket_descriptor(socket), 5);
    cr_assert_eq(ls_datagram_socket_port(socket), 7300);
    cr_assert_not(ls_datagram_socket_reroute(socket));
    ls_datagram_socket_close(socket);
    cr_assert_eq(closed, 1);
    cr_assert_eq(closed_layers, 1);
}
