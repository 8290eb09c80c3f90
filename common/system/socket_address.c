#define _GNU_SOURCE
#include "lockstep/common/system/socket_address.h"

#include "lockstep/common/system/socket.h"

#include <errno.h>
#include <string.h>

socklen_t ls_socket_address_of(const ls_endpoint *endpoint, int family, ls_socket_address *out)
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
    socklen_t size = sizeof *out;
    return getsockname(ls_socket_handle_of(socket), &out->any, &size) == 0 || ls_socket_fail();
}

bool ls_socket_own(int socket, ls_endpoint *own)
{
    ls_socket_address address;
    if (!ls_socket_address_own(socket, &address)) {
        return false;
    }
    *own = ls_socket_address_endpoint(&address);
    return true;
}

bool ls_socket_peer(int socket, ls_endpoint *peer)
{
    ls_socket_address address;
    socklen_t size = sizeof address;
    if (getpeername(ls_socket_handle_of(socket), &address.any, &size) != 0) {
        return ls_socket_fail();
    }
    *peer = ls_socket_address_endpoint(&address);
    return true;
}

bool ls_socket_bind(int socket, const ls_endpoint *endpoint)
{
    ls_socket_address address;
    socklen_t size = ls_socket_address_of(endpoint, ls_socket_family_of(endpoint), &address);
    return bind(ls_socket_handle_of(socket), &address.any, size) == 0 || ls_socket_fail();
}

bool ls_socket_set(int socket, int level, int option, int value)
{
    return setsockopt(ls_socket_handle_of(socket), level, option, (const char *)&value,
                      sizeof value) == 0 ||
           ls_socket_fail();
}

void ls_socket_close(int socket)
{
    if (socket >= 0) {
        closesocket(ls_socket_handle_of(socket));
    }
}

int ls_socket_give_up(int socket)
{
    int error = errno;
    ls_socket_close(socket);
    errno = error;
    return -1;
}
