#include "lockstep/common/system/udp_socket.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/windows/errors.h"
#include "lockstep/common/system/windows/socket_address.h"

#include <errno.h>
#include <string.h>

enum {
    BUFFER_BYTES = 4 << 20, /* as on other systems */
};

/* One datagram by one call: Winsock has no call for many. One more than may be taken has come when
 * it is cut. */
typedef struct udp_socket {
    ls_datagram_socket base;
    const ls_allocator *allocator;
    int descriptor;
    int family;
    uint16_t port;
    bool is_connected;
    ls_endpoint server; /* connected */
    uint64_t turn_ns;   /* a datagram arrives when it is read */
    uint8_t arrived[LS_UDP_RECEIVED_BYTES_MAX + 1];

    uint32_t waiting;
    ls_socket_address addresses[LS_UDP_WAITING_MAX];
    int address_bytes[LS_UDP_WAITING_MAX];
    WSABUF pieces[LS_UDP_WAITING_MAX];
} udp_socket;

static const ls_datagram_socket_operations operations;

static udp_socket *from_base(ls_datagram_socket *base)
{
    LS_ASSERT(base->operations == &operations);
    return (udp_socket *)base;
}

static const udp_socket *from_const_base(const ls_datagram_socket *base)
{
    LS_ASSERT(base->operations == &operations);
    return (const udp_socket *)base;
}

/* ---- Descriptors ---- */

static void widen_buffers(int descriptor)
{
    const int bytes = BUFFER_BYTES;
    const char *value = (const char *)&bytes;
    (void)setsockopt(ls_winsock(descriptor), SOL_SOCKET, SO_RCVBUF, value, sizeof bytes);
    (void)setsockopt(ls_winsock(descriptor), SOL_SOCKET, SO_SNDBUF, value, sizeof bytes);
}

static int open_descriptor(const ls_endpoint *like)
{
    int descriptor = ls_socket_open(like, SOCK_DGRAM);
    if (descriptor >= 0) {
        widen_buffers(descriptor);
    }
    return descriptor;
}

bool ls_udp_descriptor_share(int descriptor)
{
    (void)descriptor;
    errno = ENOSYS;
    return false;
}

bool ls_udp_descriptor_steer(int first, const ls_udp_steering *steering)
{
    (void)first;
    (void)steering;
    return false;
}

/* Another program may not take the port away, as it may here unless it is forbidden. */
static bool bind_alone(int descriptor, const ls_endpoint *endpoint)
{
    BOOL on = TRUE;
    (void)setsockopt(ls_winsock(descriptor), SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&on,
                     sizeof on);
    return ls_socket_bind(descriptor, endpoint);
}

int ls_udp_descriptor_listen(const ls_endpoint *endpoint, bool shares_port)
{
    int descriptor = open_descriptor(endpoint);
    if (descriptor < 0 && errno == EAFNOSUPPORT && !ls_endpoint_is_ipv4(endpoint) &&
        ls_endpoint_is_any(endpoint)) {
        ls_endpoint all = ls_endpoint_from_ipv4(INADDR_ANY, endpoint->port);
        return ls_udp_descriptor_listen(&all, shares_port);
    }
    bool is_bound = descriptor >= 0 && (!shares_port || ls_udp_descriptor_share(descriptor)) &&
                    bind_alone(descriptor, endpoint);
    return is_bound ? descriptor : ls_socket_give_up(descriptor);
}

bool ls_udp_descriptor_ready(int descriptor, ls_endpoint *own, bool *is_shared)
{
    if (ls_socket_kind_of(descriptor) != LS_SOCKET_DATAGRAMS || !ls_socket_own(descriptor, own)) {
        return false;
    }
    if (own->port == 0) {
        errno = EADDRNOTAVAIL;
        return false;
    }
    *is_shared = false;
    widen_buffers(descriptor);
    return ls_socket_make_ready(descriptor);
}

/* ---- Making and ending ---- */

static void close_socket(ls_datagram_socket *base)
{
    udp_socket *socket = from_base(base);
    ls_socket_close(socket->descriptor);
    ls_release(socket->allocator, socket);
}

/* Takes the descriptor, also on failure. */
static ls_status make(int descriptor, const ls_allocator *allocator, udp_socket **out)
{
    udp_socket *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        ls_socket_close(descriptor);
        return LS_NO_MEMORY;
    }
    made->base.operations = &operations;
    made->allocator = allocator;
    made->descriptor = descriptor;
    *out = made;
    return LS_OK;
}

static ls_status fail(udp_socket *made)
{
    int error = errno;
    close_socket(&made->base);
    errno = error;
    return LS_IO;
}

ls_status ls_udp_socket_adopt(int descriptor, const ls_allocator *allocator,
                              ls_datagram_socket **out)
{
    udp_socket *made = NULL;
    ls_endpoint own;
    ls_socket_address address;
    bool is_shared = false;
    ls_status status = make(descriptor, allocator, &made);
    if (status != LS_OK) {
        return status;
    }
    if (!ls_udp_descriptor_ready(descriptor, &own, &is_shared) ||
        !ls_socket_address_own(descriptor, &address)) {
        return fail(made);
    }
    made->family = address.any.sa_family;
    made->port = own.port;
    *out = &made->base;
    return LS_OK;
}

ls_status ls_udp_socket_listen(const ls_endpoint *endpoint, const ls_allocator *allocator,
                               ls_datagram_socket **out)
{
    int descriptor = ls_udp_descriptor_listen(endpoint, false);
    return descriptor >= 0 ? ls_udp_socket_adopt(descriptor, allocator, out) : LS_IO;
}

static bool connect_to(int descriptor, const ls_endpoint *endpoint)
{
    ls_socket_address address;
    int bytes = ls_socket_address_of(endpoint, ls_socket_family_of(endpoint), &address);
    return connect(ls_winsock(descriptor), &address.any, bytes) == 0 || ls_windows_fail();
}

/* A connected socket goes where it went, or is connected anew: Winsock lets it. */
static bool reroute(ls_datagram_socket *base)
{
    udp_socket *socket = from_base(base);
    LS_ASSERT(socket->is_connected);
    ls_endpoint present, best;
    int probe = open_descriptor(&socket->server);
    bool is_other = probe >= 0 && connect_to(probe, &socket->server) &&
                    ls_socket_own(probe, &best) && ls_socket_own(socket->descriptor, &present) &&
                    memcmp(present.address, best.address, sizeof best.address) != 0;
    ls_socket_close(probe);
    return is_other && connect_to(socket->descriptor, &socket->server);
}

/* Of a server that is not there a connected socket hears. */
static void hear_refusals(int descriptor)
{
    BOOL on = TRUE;
    DWORD bytes = 0;
    (void)WSAIoctl(ls_winsock(descriptor), _WSAIOW(IOC_VENDOR, 12), &on, sizeof on, NULL, 0, &bytes,
                   NULL, NULL);
}

ls_status ls_udp_socket_connect(const ls_endpoint *endpoint, const ls_allocator *allocator,
                                ls_datagram_socket **out)
{
    udp_socket *made = NULL;
    int descriptor = open_descriptor(endpoint);
    if (descriptor < 0) {
        return LS_IO;
    }
    ls_status status = make(descriptor, allocator, &made);
    if (status != LS_OK) {
        return status;
    }
    made->family = ls_socket_family_of(endpoint);
    made->is_connected = true;
    made->server = *endpoint;
    hear_refusals(descriptor);
    ls_endpoint own;
    if (!connect_to(made->descriptor, endpoint) || !ls_socket_own(made->descriptor, &own)) {
        return fail(made);
    }
    made->port = own.port;
    *out = &made->base;
    return LS_OK;
}

static int descriptor_of(const ls_datagram_socket *base)
{
    return from_const_base(base)->descriptor;
}

static uint16_t port_of(const ls_datagram_socket *base)
{
    return from_const_base(base)->port;
}

bool ls_udp_own_address(ls_endpoint *out)
{
    const uint32_t documentation = UINT32_C(0xc0000201); /* 192.0.2.1, which is nobody's */
    ls_endpoint outside = ls_endpoint_from_ipv4(htonl(documentation), 9);
    int probe = open_descriptor(&outside);
    bool is_found = probe >= 0 && connect_to(probe, &outside) && ls_socket_own(probe, out);
    ls_socket_close(probe);
    out->port = 0;
    return is_found;
}

/* ---- Receiving ---- */

static void begin_turn(ls_datagram_socket *base, uint64_t now_ns)
{
    from_base(base)->turn_ns = now_ns;
}

static bool has_received(const ls_datagram_socket *base)
{
    (void)base;
    return false;
}

static const uint8_t *coming(const ls_datagram_socket *base, uint32_t others, size_t *size)
{
    (void)base;
    (void)others;
    (void)size;
    return NULL;
}

static ls_udp_receipt receive(ls_datagram_socket *base, ls_udp_datagram *out)
{
    udp_socket *socket = from_base(base);
    ls_socket_address from = {0};
    int from_bytes = sizeof from;
    DWORD size = 0;
    DWORD flags = 0;
    WSABUF piece = {sizeof socket->arrived, (char *)socket->arrived};
    int failure = WSARecvFrom(ls_winsock(socket->descriptor), &piece, 1, &size, &flags, &from.any,
                              &from_bytes, NULL, NULL);
    bool is_cut = failure != 0 && WSAGetLastError() == WSAEMSGSIZE;
    if (failure != 0 && !is_cut) {
        (void)ls_windows_fail();
        out->error = errno;
        return errno == EWOULDBLOCK ? LS_UDP_EMPTY : LS_UDP_ERROR;
    }
    *out = (ls_udp_datagram){.from = socket->is_connected ? socket->server
                                                          : ls_socket_address_endpoint(&from),
                             .bytes = socket->arrived,
                             .size = is_cut ? sizeof socket->arrived : size,
                             .arrived_ns = socket->turn_ns};
    return LS_UDP_RECEIVED;
}

/* ---- Sending ---- */

static void send_datagram(ls_datagram_socket *base, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    udp_socket *socket = from_base(base);
    LS_ASSERT(socket->waiting < LS_UDP_WAITING_MAX);
    uint32_t at = socket->waiting++;
    if (!socket->is_connected) {
        socket->address_bytes[at] =
            ls_socket_address_of(to, socket->family, &socket->addresses[at]);
    }
    socket->pieces[at] = (WSABUF){(u_long)size, (char *)(uintptr_t)bytes};
}

static bool send_one(udp_socket *socket, uint32_t at)
{
    DWORD sent = 0;
    SOCKET to = ls_winsock(socket->descriptor);
    int failure = socket->is_connected
                      ? WSASend(to, &socket->pieces[at], 1, &sent, 0, NULL, NULL)
                      : WSASendTo(to, &socket->pieces[at], 1, &sent, 0, &socket->addresses[at].any,
                                  socket->address_bytes[at], NULL, NULL);
    return failure == 0 || ls_windows_fail();
}

static ls_udp_sent flush(ls_datagram_socket *base)
{
    udp_socket *socket = from_base(base);
    ls_udp_sent outcome = {0};
    for (uint32_t at = 0; at < socket->waiting; at++) {
        if (!send_one(socket, at)) {
            outcome.error = errno == EWOULDBLOCK ? outcome.error : errno;
            outcome.lost |= UINT64_C(1) << at;
        }
    }
    socket->waiting = 0;
    return outcome;
}

static const ls_datagram_socket_operations operations = {
    .begin_turn = begin_turn,
    .receive = receive,
    .has_received = has_received,
    .coming = coming,
    .send = send_datagram,
    .flush = flush,
    .reroute = reroute,
    .descriptor = descriptor_of,
    .port = port_of,
    .close = close_socket,
};
