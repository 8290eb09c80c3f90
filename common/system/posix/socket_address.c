#define _GNU_SOURCE
#include "lockstep/common/system/posix/socket_address.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
    return getsockname(socket, &out->any, &size) == 0;
}

bool ls_socket_bind(int socket, const ls_endpoint *endpoint)
{
    ls_socket_address address;
    socklen_t size = ls_socket_address_of(endpoint, ls_socket_family_of(endpoint), &address);
    return bind(socket, &address.any, size) == 0;
}

int ls_socket_open(const ls_endpoint *like, int type)
{
    int family = ls_socket_family_of(like);
    int made = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int off = 0;
    if (made >= 0 && SOCK_NONBLOCK == 0) {
        (void)ls_socket_make_ready(made);
    }
    if (made >= 0 && family == AF_INET6) {
        (void)setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
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

int ls_socket_give_up(int socket)
{
    int error = errno;
    if (socket >= 0) {
        close(socket);
    }
    errno = error;
    return -1;
}
