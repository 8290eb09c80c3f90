#include "lockstep/common/system/socket.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket_address.h"
#include "lockstep/common/system/udp_parts.h"
#include "lockstep/common/system/windows/errors.h"

#include <errno.h>
#include <mswsock.h>

enum {
    LISTEN_BACKLOG = 128,
};

static BOOL CALLBACK begin(INIT_ONCE *once, void *unused, void **context)
{
    WSADATA data;
    (void)once;
    (void)unused;
    (void)context;
    return WSAStartup(MAKEWORD(2, 2), &data) == 0;
}

/* Winsock has to be begun; once is enough. */
static void begin_once(void)
{
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    (void)InitOnceExecuteOnce(&once, begin, NULL, NULL);
}

int ls_socket_find_host(const char *host, struct addrinfo **found, const char **why)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    begin_once();
    int failure = getaddrinfo(host, NULL, &hints, found);
    SetLastError((DWORD)failure);
    *why = ls_windows_words();
    return failure;
}

bool ls_socket_make_ready(int socket)
{
    u_long on = 1;
    return ioctlsocket(ls_socket_handle_of(socket), (long)FIONBIO, &on) == 0 || ls_windows_fail();
}

void ls_windows_hear_refusals(int socket, bool is_on)
{
    BOOL on = is_on;
    DWORD bytes = 0;
    (void)WSAIoctl(ls_socket_handle_of(socket), _WSAIOW(IOC_VENDOR, 12), &on, sizeof on, NULL, 0,
                   &bytes, NULL, NULL);
}

int ls_socket_open(const ls_endpoint *like, int type)
{
    const DWORD flags = WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT;
    begin_once();
    int family = ls_socket_family_of(like);
    SOCKET handle = WSASocketW(family, type, 0, NULL, 0, flags);
    if (handle == INVALID_SOCKET) {
        (void)ls_windows_fail();
        return -1;
    }
    int made = (int)handle;
    if (family == AF_INET6) {
        (void)ls_socket_set(made, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    }
    if (type == SOCK_DGRAM) {
        /* That an earlier datagram met nobody is no failure of a server's socket. */
        ls_windows_hear_refusals(made, false);
    }
    return ls_socket_make_ready(made) ? made : ls_socket_give_up(made);
}

/* ---- pairs ---- */

static int connect_to(const ls_endpoint *endpoint)
{
    ls_socket_address address;
    int size = ls_socket_address_of(endpoint, AF_INET, &address);
    SOCKET made = socket(AF_INET, SOCK_STREAM, 0);
    if (made != INVALID_SOCKET && connect(made, &address.any, size) == 0) {
        return (int)made;
    }
    (void)ls_windows_fail();
    return made == INVALID_SOCKET ? -1 : ls_socket_give_up((int)made);
}

/* Another program may have connected first. */
static int accept_from(int listening, int connected)
{
    ls_endpoint own, peer;
    if (!ls_socket_await(listening, LS_NS_PER_SECOND)) {
        return -1;
    }
    SOCKET made = accept(ls_socket_handle_of(listening), NULL, NULL);
    if (made == INVALID_SOCKET) {
        return -1;
    }
    u_long off = 0;
    (void)ioctlsocket(made, (long)FIONBIO, &off);
    bool is_ours = ls_socket_own(connected, &own) && ls_socket_peer((int)made, &peer) &&
                   ls_endpoint_is_equal(&own, &peer);
    return is_ours ? (int)made : ls_socket_give_up((int)made);
}

ls_status ls_socket_pair(int sockets[2])
{
    const ls_endpoint loopback = ls_endpoint_from_ipv4(htonl(INADDR_LOOPBACK), 0);
    ls_endpoint own;
    int listening = ls_socket_listen(&loopback);
    int first = listening >= 0 && ls_socket_own(listening, &own) ? connect_to(&own) : -1;
    int second = first >= 0 ? accept_from(listening, first) : -1;
    ls_socket_close(listening);
    if (second < 0) {
        ls_socket_close(first);
        return LS_IO;
    }
    sockets[0] = first;
    sockets[1] = second;
    return LS_OK;
}

/* ---- listening ---- */

int ls_socket_listen(const ls_endpoint *endpoint)
{
    int made = ls_socket_open(endpoint, SOCK_STREAM);
    if (made >= 0 && ls_socket_bind(made, endpoint) &&
        (listen(ls_socket_handle_of(made), LISTEN_BACKLOG) == 0 || ls_windows_fail())) {
        return made;
    }
    return ls_socket_give_up(made);
}

void ls_socket_shut(int socket)
{
    (void)shutdown(ls_socket_handle_of(socket), SD_BOTH);
}

void ls_socket_hurry(int socket, int unsent_bytes)
{
    const BOOL is_on = TRUE;
    const SOCKET of = ls_socket_handle_of(socket);
    (void)setsockopt(of, IPPROTO_TCP, TCP_NODELAY, (const char *)&is_on, sizeof is_on);
    (void)setsockopt(of, SOL_SOCKET, SO_SNDBUF, (const char *)&unsent_bytes, sizeof unsent_bytes);
}

ls_socket_kind ls_socket_kind_of(int socket)
{
    int type = 0;
    int is_listening = 0;
    int size = sizeof type;
    if (getsockopt(ls_socket_handle_of(socket), SOL_SOCKET, SO_TYPE, (char *)&type, &size) != 0) {
        (void)ls_windows_fail();
        return LS_SOCKET_OTHER;
    }
    size = sizeof is_listening;
    (void)getsockopt(ls_socket_handle_of(socket), SOL_SOCKET, SO_ACCEPTCONN, (char *)&is_listening,
                     &size);
    errno = type == SOCK_DGRAM ? errno : EPROTOTYPE;
    return type == SOCK_DGRAM                    ? LS_SOCKET_DATAGRAMS
           : type == SOCK_STREAM && is_listening ? LS_SOCKET_LISTENING
                                                 : LS_SOCKET_OTHER;
}

/* ---- waiting, sending, receiving ---- */

static bool await(int descriptor, short events, uint64_t wait_ns)
{
    WSAPOLLFD waiting = {.fd = ls_socket_handle_of(descriptor), .events = events};
    uint64_t wait_ms = wait_ns / LS_NS_PER_MS + (wait_ns % LS_NS_PER_MS > 0 ? 1 : 0);
    int patience = wait_ns == LS_SOCKET_FOR_EVER ? -1 : (int)LS_MIN(wait_ms, (uint64_t)INT_MAX);
    errno = 0;
    return WSAPoll(&waiting, 1, patience) > 0;
}

bool ls_socket_await(int descriptor, uint64_t wait_ns)
{
    return await(descriptor, POLLRDNORM, wait_ns);
}

static ptrdiff_t outcome_of(int size)
{
    if (size == SOCKET_ERROR) {
        (void)ls_windows_fail();
        return errno == EWOULDBLOCK ? 0 : -1;
    }
    return size;
}

ptrdiff_t ls_socket_send_some(int socket, const uint8_t *bytes, size_t size)
{
    int piece = (int)LS_MIN(size, (size_t)INT_MAX);
    return await(socket, POLLWRNORM, 0)
               ? outcome_of(send(ls_socket_handle_of(socket), (const char *)bytes, piece, 0))
               : 0;
}

ptrdiff_t ls_socket_receive_some(int socket, uint8_t *bytes, size_t size)
{
    if (!ls_socket_await(socket, 0)) {
        return 0;
    }
    int piece = (int)LS_MIN(size, (size_t)INT_MAX);
    int received = recv(ls_socket_handle_of(socket), (char *)bytes, piece, 0);
    return received == 0 ? -1 : outcome_of(received);
}

ls_status ls_socket_send_all(int socket, const void *bytes, size_t size)
{
    const uint8_t *left = bytes;
    while (size > 0) {
        ptrdiff_t sent = await(socket, POLLWRNORM, LS_SOCKET_FOR_EVER)
                             ? outcome_of(send(ls_socket_handle_of(socket), (const char *)left,
                                               (int)LS_MIN(size, (size_t)INT_MAX), 0))
                             : -1;
        if (sent < 0) {
            return LS_IO;
        }
        left += sent;
        size -= (size_t)sent;
    }
    return LS_OK;
}
