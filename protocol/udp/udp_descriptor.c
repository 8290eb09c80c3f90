#define _GNU_SOURCE
#include "lockstep/protocol/udp/udp_descriptor.h"

#include "lockstep/protocol/transport/socket_address.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 4 << 20, /* the system's default of 208 KiB holds 500 small datagrams */
};

static void widen_buffers(int descriptor)
{
    int bytes = BUFFER_BYTES;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    (void)setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

int ls_udp_descriptor_open(int family)
{
    int descriptor = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int off = 0;
    if (descriptor >= 0) {
        widen_buffers(descriptor);
    }
    if (descriptor >= 0 && family == AF_INET6) {
        (void)setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    return descriptor;
}

bool ls_udp_descriptor_share(int descriptor)
{
    int on = 1;
    return setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0;
}

static bool bind_to(int descriptor, int family, const ls_endpoint *endpoint)
{
    ls_socket_address address;
    socklen_t bytes = ls_socket_address_of(endpoint, family, &address);
    return bind(descriptor, &address.any, bytes) == 0;
}

int ls_udp_descriptor_listen(const ls_endpoint *endpoint, bool shares_port)
{
    int family = ls_socket_family_of(endpoint);
    int descriptor = ls_udp_descriptor_open(family);
    if (descriptor < 0 && errno == EAFNOSUPPORT && family != AF_INET &&
        ls_endpoint_is_any(endpoint)) {
        ls_endpoint all = ls_endpoint_from_ipv4(htonl(INADDR_ANY), endpoint->port);
        return ls_udp_descriptor_listen(&all, shares_port);
    }
    bool is_bound = descriptor >= 0 && (!shares_port || ls_udp_descriptor_share(descriptor)) &&
                    bind_to(descriptor, family, endpoint);
    if (descriptor >= 0 && !is_bound) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

/* Those that are not set are off. */
static bool set_flags(int descriptor)
{
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
}

bool ls_udp_descriptor_ready(int descriptor, int *family)
{
    int protocol = 0;
    socklen_t protocol_bytes = sizeof protocol, family_bytes = sizeof *family;
    ls_endpoint own;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_bytes) != 0 ||
        getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, family, &family_bytes) != 0) {
        return false;
    }
    if (protocol != IPPROTO_UDP || (*family != AF_INET && *family != AF_INET6)) {
        errno = EPROTOTYPE;
        return false;
    }
    if (!ls_udp_descriptor_own(descriptor, &own)) {
        return false;
    }
    if (own.port == 0) {
        errno = EADDRNOTAVAIL;
        return false;
    }
    widen_buffers(descriptor);
    return set_flags(descriptor);
}

bool ls_udp_descriptor_own(int descriptor, ls_endpoint *own)
{
    ls_socket_address address;
    socklen_t bytes = sizeof address;
    if (getsockname(descriptor, &address.any, &bytes) != 0) {
        return false;
    }
    *own = ls_socket_address_endpoint(&address);
    return true;
}
