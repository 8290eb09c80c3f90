/* UDP socket: a datagram socket of the system, of IPv6 and IPv4 through one port where the system
 * has both. Many datagrams come and leave with one call of the system. Knows when each one that
 * came reached this machine. Owns the descriptor; never waits. */
#ifndef LOCKSTEP_PROTOCOL_UDP_UDP_SOCKET_H
#define LOCKSTEP_PROTOCOL_UDP_UDP_SOCKET_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/udp/datagram_socket.h"

LS_C_BEGIN

/* Bound to this endpoint; "::" takes IPv4 as well, and is all of IPv4 where there is no IPv6. IO
 * (errno says why), NO_MEMORY. Its turns begin at times of CLOCK_MONOTONIC. */
ls_status ls_udp_socket_listen(const ls_endpoint *endpoint, const ls_allocator *allocator,
                               ls_datagram_socket **out);
/* Stands on a UDP socket of the system that is bound already: that of a parent process, or of a
 * group (udp_group.h). The descriptor is taken, also on failure. IO (errno: no such socket, or not
 * bound), NO_MEMORY. */
ls_status ls_udp_socket_adopt(int descriptor, const ls_allocator *allocator,
                              ls_datagram_socket **out);
/* Connected: hears of nobody else, and of refusals. */
ls_status ls_udp_socket_connect(const ls_endpoint *endpoint, const ls_allocator *allocator,
                                ls_datagram_socket **out);

/* The address that this machine sends from to the world outside, with port 0: nothing is sent to
 * find it. False when there is no way there. */
bool ls_udp_own_address(ls_endpoint *out);

LS_C_END

#endif
