/* Socket address: an endpoint as the system's calls take it, and back, and what its calls about
 * sockets are named. A socket of IPv6 reaches IPv4 addresses as mapped ones; one of IPv4 reaches no
 * others. For no other folder. */
#ifndef LOCKSTEP_COMMON_SYSTEM_SOCKET_ADDRESS_H
#define LOCKSTEP_COMMON_SYSTEM_SOCKET_ADDRESS_H

#include "lockstep/common/base/endpoint.h"

#ifdef _WIN32
#include "lockstep/common/system/windows/errors.h"
typedef SOCKET ls_socket_handle;
#else
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
typedef int ls_socket_handle;
#define closesocket close
#endif

/* As macOS has it, where ls_socket_make_ready does the same a moment later. */
#if !defined(SOCK_CLOEXEC)
#define SOCK_CLOEXEC 0
#define SOCK_NONBLOCK 0
#endif

typedef union ls_socket_address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
} ls_socket_address;

/* Sockets are numbers that fit an int, which handles of Windows do as well. */
static inline ls_socket_handle ls_socket_handle_of(int socket)
{
    return (ls_socket_handle)(unsigned)socket;
}

/* Has errno say why the call before failed, and returns false. */
static inline bool ls_socket_fail(void)
{
#ifdef _WIN32
    return ls_windows_fail();
#else
    return false;
#endif
}

/* ---- of each system, in its socket.c ---- */

struct addrinfo;

/* The addresses of a host, for freeaddrinfo; or the number of what failed, and words about it. */
int ls_socket_find_host(const char *host, struct addrinfo **found, const char **why);

/* A socket for endpoints of this kind, of SOCK_DGRAM or SOCK_STREAM, that never waits and that
 * children do not inherit; one of IPv6 is for IPv4 as well. -1 with errno. */
int ls_socket_open(const ls_endpoint *like, int type);

/* Of a socket that somebody else has made: never waits from now on, and children do not inherit it.
 * False with errno. */
bool ls_socket_make_ready(int socket);

/* ---- of all ---- */

/* For a socket of this family, AF_INET or AF_INET6; returns the size of what is written. */
socklen_t ls_socket_address_of(const ls_endpoint *endpoint, int family, ls_socket_address *out);

/* The family of a socket that is for this endpoint alone. */
int ls_socket_family_of(const ls_endpoint *endpoint);

ls_endpoint ls_socket_address_endpoint(const ls_socket_address *address);

/* Where a socket is bound; false with errno. */
bool ls_socket_address_own(int socket, ls_socket_address *out);

bool ls_socket_bind(int socket, const ls_endpoint *endpoint);

/* A number as the value of a socket's option; false with errno. */
bool ls_socket_set(int socket, int level, int option, int value);

/* For a failure that is told later than its socket is closed: -1, and errno stays. */
int ls_socket_give_up(int socket);

#endif
