/* UDP socket: a datagram socket of the system, of IPv6 and IPv4 through one port where the system
 * has both. Many datagrams come and leave with one call of the system. Knows when each one that
 * came reached this machine. Owns the descriptor; never waits. And bare descriptors, for a port
 * that several processes share. Called by transport_udp, udp_group and proxies. */
#ifndef LOCKSTEP_COMMON_SYSTEM_UDP_SOCKET_H
#define LOCKSTEP_COMMON_SYSTEM_UDP_SOCKET_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/system/datagram_socket.h"

LS_C_BEGIN

/* Bound to this endpoint; "::" takes IPv4 as well, and is all of IPv4 where there is no IPv6. IO
 * (errno says why), NO_MEMORY. Its turns begin at times of ls_clock_system. */
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

/* ---- bare descriptors, which are the caller's to close; failures are told by errno ---- */

/* As ls_udp_socket_listen; with `shares_port` also at a port of others that share theirs. -1 on
 * failure. */
int ls_udp_descriptor_listen(const ls_endpoint *endpoint, bool shares_port);

/* From now on others of the same user that share their port may be bound to that of this one, which
 * is bound already. */
bool ls_udp_descriptor_share(int descriptor);

/* Makes a socket that somebody else has bound as one that is opened here, and says where it is
 * bound and whether it shares its port. False when it is not one of UDP, or not bound. */
bool ls_udp_descriptor_ready(int descriptor, ls_endpoint *own, bool *is_shared);

/* How a datagram says which of the sockets that share a port it is for. */
typedef struct ls_udp_steering {
    uint32_t sockets;
    uint32_t default_socket; /* gets what says nothing */
    /* Its first two bytes are a number, the higher byte first. With this bit in it it is for socket
     * (number & index_mask) % sockets. */
    uint16_t index_bit;
    uint16_t index_mask;
    /* Else the last byte of one that begins with a byte of these is the socket + 1, with or without
     * `route_flag` more: a power of 2, and as many as there can be sockets. */
    uint8_t routed[2];
    uint8_t route_flag;
    /* Of one that begins with `carrier`, that counts which stands behind so many bytes of it. The
     * others that begin with own_first .. own_end - 1 are for this socket. */
    uint8_t carrier, carrier_bytes, own_first, own_end;
    uint32_t own_socket;
} ls_udp_steering;

/* From the next datagram on; sockets count in the order in which they were bound, from `first` on.
 * False where the system cannot do it, and all is as before. */
bool ls_udp_descriptor_steer(int first, const ls_udp_steering *steering);

LS_C_END

#endif
