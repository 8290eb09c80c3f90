/* Socket address: an endpoint as Winsock's calls take it, and back; and sockets as numbers that fit
 * an int, which handles of the system do. For no other folder. */
#ifndef LOCKSTEP_COMMON_SYSTEM_WINDOWS_SOCKET_ADDRESS_H
#define LOCKSTEP_COMMON_SYSTEM_WINDOWS_SOCKET_ADDRESS_H

#include "lockstep/common/base/endpoint.h"

#include <winsock2.h>
#include <ws2tcpip.h>

typedef union ls_socket_address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
} ls_socket_address;

static inline SOCKET ls_winsock(int socket)
{
    return (SOCKET)(unsigned)socket;
}

/* Winsock has to be begun; once is enough. */
void ls_winsock_begin(void);

int ls_socket_address_of(const ls_endpoint *endpoint, int family, ls_socket_address *out);
int ls_socket_family_of(const ls_endpoint *endpoint);
ls_endpoint ls_socket_address_endpoint(const ls_socket_address *address);

/* False with errno: here and below. */
bool ls_socket_address_own(int socket, ls_socket_address *out);
bool ls_socket_bind(int socket, const ls_endpoint *endpoint);
bool ls_socket_make_ready(int socket);

/* For endpoints of this kind, of SOCK_DGRAM or SOCK_STREAM: never waits, and children do not
 * inherit it; one of IPv6 is for IPv4 as well. -1 with errno. */
int ls_socket_open(const ls_endpoint *like, int type);
int ls_socket_give_up(int socket);

#endif
