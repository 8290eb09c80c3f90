/* UDP descriptor: the system's UDP sockets with the options that a game's datagrams want: opened,
 * bound, and made ready when somebody else has bound them. Owns none: they are the caller's to
 * close. Never waits. */
#ifndef LOCKSTEP_PROTOCOL_UDP_UDP_DESCRIPTOR_H
#define LOCKSTEP_PROTOCOL_UDP_UDP_DESCRIPTOR_H

#include "lockstep/protocol/transport/endpoint.h"

#include <stdbool.h>

/* Of AF_INET, or of AF_INET6 for IPv4 as well. -1 on failure, and errno says why. */
int ls_udp_descriptor_open(int family);

/* Bound to this endpoint; "::" takes IPv4 as well, and is all of IPv4 where there is no IPv6. With
 * `shares_port` also to a port that others have who share it. -1 on failure, and errno says why. */
int ls_udp_descriptor_listen(const ls_endpoint *endpoint, bool shares_port);

/* From now on others of the same user that share their port may be bound to that of this one, which
 * is bound already. False on failure, and errno says why. */
bool ls_udp_descriptor_share(int descriptor);

/* Makes a socket that somebody else has bound as one that is opened here, and gives its family.
 * False when it is not one of UDP, or not bound, and errno says so. */
bool ls_udp_descriptor_ready(int descriptor, int *family);

/* Where it is bound. */
bool ls_udp_descriptor_own(int descriptor, ls_endpoint *own);

#endif
