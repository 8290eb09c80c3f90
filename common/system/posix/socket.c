#define _GNU_SOURCE
#include "lockstep/common/system/socket.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket_address.h"
#include "lockstep/common/system/udp_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <time.h>

enum {
    LISTEN_BACKLOG = 4096, /* a burst waits in the queue, or its clients ask again after a second */
};

int ls_socket_find_host(const char *host, struct addrinfo **found, const char **why)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    int failure = getaddrinfo(host, NULL, &hints, found);
    *why = failure == EAI_SYSTEM ? strerror(errno) : gai_strerror(failure);
    return failure;
}

int ls_socket_open(const ls_endpoint *like, int type)
{
    int family = ls_socket_family_of(like);
    int made = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made >= 0 && SOCK_NONBLOCK == 0) {
        (void)ls_socket_make_ready(made);
    }
    if (made >= 0 && family == AF_INET6) {
        (void)ls_socket_set(made, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    }
    return made;
}

/* Flags of the descriptor that are not set are off. */
bool ls_socket_make_ready(int socket)
{
    int flags = fcntl(socket, F_GETFL);
    return flags >= 0 && fcntl(socket, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(socket, F_SETFD, FD_CLOEXEC) == 0;
}

ls_status ls_socket_pair(int sockets[2])
{
    bool is_made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0;
    for (int i = 0; is_made && SOCK_CLOEXEC == 0 && i < 2; i++) {
        (void)fcntl(sockets[i], F_SETFD, FD_CLOEXEC);
    }
    return is_made ? LS_OK : LS_IO;
}

/* SEQPACKET, whose sends ignore an address. */
ls_status ls_socket_message_pair(int sockets[2], int buffer_bytes)
{
    const int type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
    if (socketpair(AF_UNIX, type, 0, sockets) != 0) {
        return LS_IO;
    }
    for (int i = 0; i < 2; i++) {
        if (SOCK_NONBLOCK == 0) {
            (void)ls_socket_make_ready(sockets[i]);
        }
        (void)ls_socket_set(sockets[i], SOL_SOCKET, SO_SNDBUF, buffer_bytes);
    }
    return LS_OK;
}

int ls_socket_listen(const ls_endpoint *endpoint)
{
    int made = ls_socket_open(endpoint, SOCK_STREAM);
    if (made >= 0) {
        (void)ls_socket_set(made, SOL_SOCKET, SO_REUSEADDR, 1);
    }
    bool is_listening =
        made >= 0 && ls_socket_bind(made, endpoint) && listen(made, LISTEN_BACKLOG) == 0;
    return is_listening ? made : ls_socket_give_up(made);
}

void ls_socket_shut(int socket)
{
    (void)shutdown(socket, SHUT_RDWR);
}

void ls_socket_hurry(int socket, int unsent_bytes)
{
    (void)ls_socket_set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
#ifdef TCP_NOTSENT_LOWAT
    (void)ls_socket_set(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent_bytes);
#else
    (void)ls_socket_set(socket, SOL_SOCKET, SO_SNDBUF, unsent_bytes);
#endif
}

static int option_of(int socket, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    (void)getsockopt(socket, SOL_SOCKET, option, &value, &size);
    return value;
}

/* Where the system does not say its protocol a socket of datagrams is taken for one of UDP. */
ls_socket_kind ls_socket_kind_of(int socket)
{
    ls_socket_address address;
    bool is_named = ls_socket_address_own(socket, &address);
    bool is_inet =
        is_named && (address.any.sa_family == AF_INET || address.any.sa_family == AF_INET6);
    bool is_udp = is_inet && option_of(socket, SO_TYPE) == SOCK_DGRAM;
#ifdef SO_PROTOCOL
    is_udp = is_udp && option_of(socket, SO_PROTOCOL) == IPPROTO_UDP;
#endif
    bool is_listening = is_inet && option_of(socket, SO_TYPE) == SOCK_STREAM &&
                        option_of(socket, SO_ACCEPTCONN) > 0;
    errno = is_named && !is_udp ? EPROTOTYPE : errno;
    return is_udp ? LS_SOCKET_DATAGRAMS : is_listening ? LS_SOCKET_LISTENING : LS_SOCKET_OTHER;
}

LS_TICK_CODE bool ls_socket_await(int descriptor, uint64_t wait_ns)
{
    struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
#if defined(__APPLE__) /* waits for whole milliseconds alone */
    const uint64_t wait_ms = LS_MIN(wait_ns / LS_NS_PER_MS, (uint64_t)INT_MAX - 1) + 1;
    return poll(&waiting, 1, wait_ns == LS_SOCKET_FOR_EVER ? -1 : (int)wait_ms) > 0;
#else
    const struct timespec patience = {.tv_sec = (time_t)(wait_ns / LS_NS_PER_SECOND),
                                      .tv_nsec = (long)(wait_ns % LS_NS_PER_SECOND)};
    return ppoll(&waiting, 1, wait_ns == LS_SOCKET_FOR_EVER ? NULL : &patience, NULL) > 0;
#endif
}

static ptrdiff_t outcome_of(ssize_t size)
{
    bool is_to_be_repeated = size < 0 && (errno == EAGAIN || errno == EINTR);
    return is_to_be_repeated ? 0 : size;
}

ptrdiff_t ls_socket_send_some(int socket, const uint8_t *bytes, size_t size)
{
    return outcome_of(send(socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT));
}

ptrdiff_t ls_socket_receive_some(int socket, uint8_t *bytes, size_t size)
{
    ssize_t received = recv(socket, bytes, size, MSG_DONTWAIT);
    return received == 0 ? -1 : outcome_of(received);
}

ls_status ls_socket_send_all(int socket, const void *bytes, size_t size)
{
    const uint8_t *left = bytes;
    while (size > 0) {
        ptrdiff_t sent = outcome_of(send(socket, left, size, MSG_NOSIGNAL));
        if (sent < 0) {
            return LS_IO;
        }
        left += sent;
        size -= (size_t)sent;
    }
    return LS_OK;
}

/* ---- parts of udp_socket ---- */

void ls_udp_part_prepare(int socket, bool is_listening)
{
    (void)socket;
    (void)is_listening;
}

bool ls_udp_descriptor_share(int descriptor)
{
    return ls_socket_set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1);
}

bool ls_udp_part_is_shared(int socket, bool *is_shared)
{
    int shared = 0;
    socklen_t bytes = sizeof shared;
    if (getsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &shared, &bytes) != 0) {
        return false;
    }
    *is_shared = shared != 0;
    return true;
}
