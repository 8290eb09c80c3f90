#define _GNU_SOURCE
#include "lockstep/protocol/udp/udp_socket.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/transport/socket_address.h"
#include "lockstep/protocol/udp/arrival_clock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 4 << 20, /* the system's default of 208 KiB holds 500 small datagrams */
    IPV4_HEADER_BYTES = 20,
    IPV6_HEADER_BYTES = 40,
    UDP_HEADER_BYTES = 8,
};

struct ls_udp_socket {
    const ls_allocator *allocator;
    int descriptor;
    int family;
    uint16_t port;
    bool is_connected;
    ls_endpoint server; /* connected */
    ls_arrival_clock arrivals;
    uint32_t waiting;
    int failure; /* of what was flushed since it was last asked for */
    ls_socket_address addresses[LS_UDP_WAITING_MAX];
    struct iovec pieces[LS_UDP_WAITING_MAX];
    struct mmsghdr messages[LS_UDP_WAITING_MAX];
};

/* ---- Making and ending ---- */

static int open_descriptor(int family)
{
    int descriptor = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int bytes = BUFFER_BYTES;
    int off = 0;
    if (descriptor >= 0) {
        (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    if (descriptor >= 0 && family == AF_INET6) {
        (void)setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    return descriptor;
}

static bool bind_to(int descriptor, int family, const ls_endpoint *endpoint)
{
    ls_socket_address address;
    socklen_t bytes = ls_socket_address_of(endpoint, family, &address);
    return bind(descriptor, &address.any, bytes) == 0;
}

static ls_status make(int family, const ls_allocator *allocator, ls_udp_socket **out)
{
    ls_udp_socket *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->allocator = allocator;
    made->family = family;
    made->descriptor = open_descriptor(family);
    if (made->descriptor < 0) {
        int error = errno;
        ls_release(allocator, made);
        errno = error;
        return LS_IO;
    }
    *out = made;
    return LS_OK;
}

static ls_status fail(ls_udp_socket *made)
{
    int error = errno;
    ls_udp_socket_close(made);
    errno = error;
    return LS_IO;
}

static bool read_own(int descriptor, ls_endpoint *own)
{
    ls_socket_address address;
    socklen_t bytes = sizeof address;
    if (getsockname(descriptor, &address.any, &bytes) != 0) {
        return false;
    }
    *own = ls_socket_address_endpoint(&address);
    return true;
}

ls_status ls_udp_socket_listen(const ls_endpoint *endpoint, const ls_allocator *allocator,
                               ls_udp_socket **out)
{
    ls_udp_socket *made = NULL;
    ls_endpoint own;
    ls_status status = make(ls_socket_family_of(endpoint), allocator, &made);
    if (status == LS_IO && errno == EAFNOSUPPORT && ls_endpoint_is_any(endpoint)) {
        ls_endpoint all = ls_endpoint_from_ipv4(htonl(INADDR_ANY), endpoint->port);
        return ls_udp_socket_listen(&all, allocator, out);
    }
    if (status != LS_OK) {
        return status;
    }
    if (!bind_to(made->descriptor, made->family, endpoint) || !read_own(made->descriptor, &own)) {
        return fail(made);
    }
    made->port = own.port;
    ls_arrival_clock_init(&made->arrivals, made->descriptor);
    *out = made;
    return LS_OK;
}

static bool connect_to(int descriptor, int family, const ls_endpoint *endpoint)
{
    ls_socket_address address;
    socklen_t bytes = ls_socket_address_of(endpoint, family, &address);
    return connect(descriptor, &address.any, bytes) == 0;
}

/* Asked of another socket: this one goes on as it is unless there is something to gain. */
bool ls_udp_socket_reroute(ls_udp_socket *socket)
{
    LS_ASSERT(socket->is_connected);
    ls_endpoint present, best;
    int probe = open_descriptor(socket->family);
    bool is_other = probe >= 0 && connect_to(probe, socket->family, &socket->server) &&
                    read_own(probe, &best) && read_own(socket->descriptor, &present) &&
                    memcmp(present.address, best.address, sizeof best.address) != 0;
    if (probe >= 0) {
        close(probe);
    }
    if (is_other) {
        ls_socket_address none = {.any.sa_family = AF_UNSPEC};
        (void)connect(socket->descriptor, &none.any, sizeof none);
        (void)connect_to(socket->descriptor, socket->family, &socket->server);
    }
    return is_other;
}

ls_status ls_udp_socket_connect(const ls_endpoint *endpoint, const ls_allocator *allocator,
                                ls_udp_socket **out)
{
    ls_udp_socket *made = NULL;
    ls_status status = make(ls_socket_family_of(endpoint), allocator, &made);
    if (status != LS_OK) {
        return status;
    }
    made->is_connected = true;
    made->server = *endpoint;
    ls_endpoint own;
    if (!connect_to(made->descriptor, made->family, endpoint) ||
        !read_own(made->descriptor, &own)) {
        return fail(made);
    }
    made->port = own.port;
    *out = made;
    return LS_OK;
}

void ls_udp_socket_close(ls_udp_socket *socket)
{
    if (socket) {
        close(socket->descriptor);
        ls_release(socket->allocator, socket);
    }
}

int ls_udp_socket_descriptor(const ls_udp_socket *socket)
{
    return socket->descriptor;
}

uint16_t ls_udp_socket_port(const ls_udp_socket *socket)
{
    return socket->port;
}

bool ls_udp_own_address(ls_endpoint *out)
{
    const uint32_t documentation = UINT32_C(0xc0000201); /* 192.0.2.1, which is nobody's */
    ls_endpoint outside = ls_endpoint_from_ipv4(htonl(documentation), 9);
    int probe = open_descriptor(AF_INET);
    bool is_found = probe >= 0 && connect_to(probe, AF_INET, &outside) && read_own(probe, out);
    if (probe >= 0) {
        close(probe);
    }
    out->port = 0;
    return is_found;
}

size_t ls_udp_header_bytes(const ls_endpoint *endpoint)
{
    return UDP_HEADER_BYTES +
           (ls_endpoint_is_ipv4(endpoint) ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES);
}

/* ---- Receiving ---- */

void ls_udp_socket_begin_turn(ls_udp_socket *socket, uint64_t now_ns)
{
    ls_arrival_clock_begin_turn(&socket->arrivals, now_ns);
}

ls_udp_receipt ls_udp_socket_receive(ls_udp_socket *socket, uint8_t *bytes, size_t capacity,
                                     ls_udp_datagram *out)
{
    ls_socket_address from;
    socklen_t from_bytes = sizeof from;
    ssize_t size = -1;
    do {
        size = recvfrom(socket->descriptor, bytes, capacity, MSG_TRUNC,
                        socket->is_connected ? NULL : &from.any,
                        socket->is_connected ? NULL : &from_bytes);
    } while (size < 0 && errno == EINTR);
    if (size < 0) {
        out->error = errno;
        return errno == EAGAIN || errno == EWOULDBLOCK ? LS_UDP_EMPTY : LS_UDP_ERROR;
    }
    *out = (ls_udp_datagram){.from = socket->is_connected ? socket->server
                                                          : ls_socket_address_endpoint(&from),
                             .size = (size_t)size,
                             .arrived_ns = ls_arrival_clock_read(&socket->arrivals)};
    return LS_UDP_RECEIVED;
}

/* ---- Sending ---- */

void ls_udp_socket_send(ls_udp_socket *socket, const ls_endpoint *to, const uint8_t *bytes,
                        size_t size)
{
    if (socket->waiting == LS_UDP_WAITING_MAX) {
        int failure = ls_udp_socket_flush(socket);
        socket->failure = failure != 0 ? failure : socket->failure;
    }
    uint32_t at = socket->waiting++;
    struct msghdr *message = &socket->messages[at].msg_hdr;
    memset(message, 0, sizeof *message);
    if (!socket->is_connected) {
        message->msg_namelen = ls_socket_address_of(to, socket->family, &socket->addresses[at]);
        message->msg_name = &socket->addresses[at];
    }
    socket->pieces[at] = (struct iovec){(void *)(uintptr_t)bytes, size};
    message->msg_iov = &socket->pieces[at];
    message->msg_iovlen = 1;
}

int ls_udp_socket_flush(ls_udp_socket *socket)
{
    int failure = socket->failure;
    uint32_t next = 0;
    while (next < socket->waiting) {
        int sent = sendmmsg(socket->descriptor, socket->messages + next, socket->waiting - next,
                            MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
            failure = errno;
        }
        next += sent > 0 ? (uint32_t)sent : 1;
    }
    socket->waiting = 0;
    socket->failure = 0;
    return failure;
}
