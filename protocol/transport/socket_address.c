#define _POSIX_C_SOURCE 200809L
#include "lockstep/protocol/transport/socket_address.h"

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
