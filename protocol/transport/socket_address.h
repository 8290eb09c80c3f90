/* Socket address: an endpoint as the system's calls take it, and back. A socket of IPv6 reaches
 * IPv4 addresses as mapped ones; one of IPv4 reaches no others. */
#ifndef LOCKSTEP_PROTOCOL_TRANSPORT_SOCKET_ADDRESS_H
#define LOCKSTEP_PROTOCOL_TRANSPORT_SOCKET_ADDRESS_H

#include "lockstep/protocol/transport/endpoint.h"

#include <netinet/in.h>
#include <sys/socket.h>

typedef union ls_socket_address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
} ls_socket_address;

/* For a socket of this family, AF_INET or AF_INET6; returns the size of what is written. */
socklen_t ls_socket_address_of(const ls_endpoint *endpoint, int family, ls_socket_address *out);

/* The family of a socket that is for this endpoint alone. */
int ls_socket_family_of(const ls_endpoint *endpoint);

ls_endpoint ls_socket_address_endpoint(const ls_socket_address *address);

#endif
