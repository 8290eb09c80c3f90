/* The socket of a page: whatever address it is told, its datagrams pass the one pipe that the page
 * has to the server. */
#include "lockstep/common/system/udp_socket.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/common/system/wasm/page.h"

#include <stdio.h>
#include <string.h>

#define WAITING_MAX 512u /* a state that comes in a burst fits */

typedef struct datagram {
    size_t size; /* of what came; at most LS_UDP_RECEIVED_BYTES_MAX of it are here */
    uint64_t arrived_ns;
    uint8_t bytes[LS_UDP_RECEIVED_BYTES_MAX];
} datagram;

/* One pipe a page, whoever has it. */
static datagram waiting[WAITING_MAX];
static uint32_t first;
static uint32_t count;
static bool has_moved;

void ls_pipe_receive(const uint8_t *bytes, size_t size)
{
    if (count == WAITING_MAX) {
        return;
    }
    const ls_clock clock = ls_clock_system();
    datagram *to = &waiting[(first + count++) % WAITING_MAX];
    to->size = size;
    to->arrived_ns = ls_clock_now_ns(&clock);
    memcpy(to->bytes, bytes, LS_MIN(size, sizeof to->bytes));
}

void ls_pipe_note_move(void)
{
    has_moved = true;
}

/* ---- the socket ---- */

typedef struct pipe_socket {
    ls_datagram_socket base;
    const ls_allocator *allocator;
    ls_endpoint server;
} pipe_socket;

static void begin_turn(ls_datagram_socket *base, uint64_t now_ns)
{
    (void)now_ns;
    base->has_moved |= has_moved;
    has_moved = false;
}

static ls_udp_receipt receive(ls_datagram_socket *base, ls_udp_datagram *out)
{
    if (count == 0) {
        return LS_UDP_EMPTY;
    }
    datagram *from = &waiting[first];
    first = (first + 1) % WAITING_MAX;
    count--;
    *out = (ls_udp_datagram){.from = ((const pipe_socket *)base)->server,
                             .bytes = from->bytes,
                             .size = from->size,
                             .arrived_ns = from->arrived_ns};
    return LS_UDP_RECEIVED;
}

static bool has_received(const ls_datagram_socket *base)
{
    (void)base;
    return count > 0;
}

static const uint8_t *coming(const ls_datagram_socket *base, uint32_t others, size_t *size)
{
    (void)base;
    if (others >= count) {
        return NULL;
    }
    const datagram *at = &waiting[(first + others) % WAITING_MAX];
    *size = at->size;
    return at->bytes;
}

static void send_datagram(ls_datagram_socket *base, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    (void)base;
    (void)to;
    ls_page_send(bytes, size);
}

static ls_udp_sent flush(ls_datagram_socket *base)
{
    (void)base;
    return (ls_udp_sent){0};
}

static bool reroute(ls_datagram_socket *base)
{
    (void)base;
    return false;
}

static int descriptor(const ls_datagram_socket *base)
{
    (void)base;
    return -1;
}

static uint16_t port(const ls_datagram_socket *base)
{
    (void)base;
    return 0;
}

static void close_socket(ls_datagram_socket *base)
{
    pipe_socket *closed = (pipe_socket *)base;
    ls_release(closed->allocator, closed);
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

static ls_endpoint other_end(void)
{
    return ls_endpoint_from_ipv4(UINT32_C(0x0100007F), LS_ENDPOINT_DEFAULT_PORT);
}

ls_status ls_udp_socket_connect(const ls_endpoint *endpoint, const ls_allocator *allocator,
                                ls_datagram_socket **out)
{
    pipe_socket *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    *made =
        (pipe_socket){.base.operations = &operations, .allocator = allocator, .server = *endpoint};
    *out = &made->base;
    return LS_OK;
}

/* Every datagram comes of the other end, whichever address was given. */
ls_status ls_udp_socket_listen(const ls_endpoint *endpoint, const ls_allocator *allocator,
                               ls_datagram_socket **out)
{
    (void)endpoint;
    const ls_endpoint other = other_end();
    return ls_udp_socket_connect(&other, allocator, out);
}

bool ls_socket_await(int socket, uint64_t wait_ns)
{
    (void)socket;
    (void)wait_ns;
    return false;
}

/* ---- addresses: any text means the other end of the pipe ---- */

ls_status ls_endpoint_parse(const char *text, ls_endpoint *endpoint, ls_text *error)
{
    return ls_endpoint_resolve(text, LS_ENDPOINT_DEFAULT_PORT, endpoint, error);
}

ls_status ls_endpoint_resolve(const char *host, uint16_t number, ls_endpoint *endpoint,
                              ls_text *error)
{
    (void)host;
    (void)number;
    (void)error;
    *endpoint = other_end();
    return LS_OK;
}

void ls_endpoint_join(const char *host, uint16_t number, char text[LS_ENDPOINT_JOINED_BYTES])
{
    snprintf(text, LS_ENDPOINT_JOINED_BYTES, "%.253s:%u", host, number);
}

void ls_endpoint_format(const ls_endpoint *endpoint, char text[LS_ENDPOINT_NUMERIC_BYTES])
{
    (void)endpoint;
    snprintf(text, LS_ENDPOINT_NUMERIC_BYTES, "the server");
}
