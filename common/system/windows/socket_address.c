#include "lockstep/common/system/windows/socket_address.h"

#include "lockstep/common/system/windows/errors.h"

#include <errno.h>
#include <mswsock.h>
#include <string.h>

#ifndef SIO_UDP_CONNRESET
#define SIO_UDP_CONNRESET _WSAIOW(IOC_VENDOR, 12)
#endif

static BOOL CALLBACK begin(INIT_ONCE *once, void *unused, void **context)
{
    WSADATA data;
    (void)once;
    (void)unused;
    (void)context;
    return WSAStartup(MAKEWORD(2, 2), &data) == 0;
}

void ls_winsock_begin(void)
{
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    (void)InitOnceExecuteOnce(&once, begin, NULL, NULL);
}

int ls_socket_address_of(const ls_endpoint *endpoint, int family, ls_socket_address *out)
{
    memset(out, 0, sizeof *out);
    if (family == AF_INET) {
        out->ipv4.sin_family = AF_INET;
        out->ipv4.sin_port = htons(endpoint->port);
        out->ipv4.sin_addr.s_addr = ls_endpoint_ipv4(endpoint);
        return sizeof out->ipv4;
    }
    out->ipv6.sin6_family = AF_INET6;
    out->ipv6.sin6_port = htons(endpoint->port);
    memcpy(&out->ipv6.sin6_addr, endpoint->address, sizeof endpoint->address);
    return sizeof out->ipv6;
}

int ls_socket_family_of(const ls_endpoint *endpoint)
{
    return ls_endpoint_is_ipv4(endpoint) ? AF_INET : AF_INET6;
}

ls_endpoint ls_socket_address_endpoint(const ls_socket_address *address)
{
    if (address->any.sa_family == AF_INET) {
        return ls_endpoint_from_ipv4(address->ipv4.sin_addr.s_addr, ntohs(address->ipv4.sin_port));
    }
    ls_endpoint endpoint = {.port = ntohs(address->ipv6.sin6_port)};
    memcpy(endpoint.address, &address->ipv6.sin6_addr, sizeof endpoint.address);
    return endpoint;
}

bool ls_socket_address_own(int socket, ls_socket_address *out)
{
    int size = sizeof *out;
    return getsockname(ls_winsock(socket), &out->any, &size) == 0 || ls_windows_fail();
}

bool ls_socket_bind(int socket, const ls_endpoint *endpoint)
{
    ls_socket_address address;
    int size = ls_socket_address_of(endpoint, ls_socket_family_of(endpoint), &address);
    return bind(ls_winsock(socket), &address.any, size) == 0 || ls_windows_fail();
}

bool ls_socket_make_ready(int socket)
{
    u_long on = 1;
    return ioctlsocket(ls_winsock(socket), (long)FIONBIO, &on) == 0 || ls_windows_fail();
}

/* That an earlier datagram met nobody is no failure of the socket of a server, whoever sent it. */
static void ignore_refusals(SOCKET made)
{
    BOOL off = FALSE;
    DWORD bytes = 0;
    (void)WSAIoctl(made, SIO_UDP_CONNRESET, &off, sizeof off, NULL, 0, &bytes, NULL, NULL);
}

int ls_socket_open(const ls_endpoint *like, int type)
{
    const DWORD flags = WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT;
    DWORD off = 0;
    ls_winsock_begin();
    int family = ls_socket_family_of(like);
    SOCKET made = WSASocketW(family, type, 0, NULL, 0, flags);
    if (made == INVALID_SOCKET) {
        (void)ls_windows_fail();
        return -1;
    }
    if (family == AF_INET6) {
        (void)setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, (const char *)&off, sizeof off);
    }
    if (type == SOCK_DGRAM) {
        ignore_refusals(made);
    }
    return ls_socket_make_ready((int)made) ? (int)made : ls_socket_give_up((int)made);
}

int ls_socket_give_up(int socket)
{
    int error = errno;
    if (socket >= 0) {
        closesocket(ls_winsock(socket));
    }
    errno = error;
    return -1;
}
