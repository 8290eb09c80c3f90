/* UDP socket: sends and receives datagrams, of IPv6 and IPv4 through one port where the system has
 * both. Many datagrams come and leave with one call of the system. Knows when each one that came
 * reached this machine. Owns the descriptor; never waits. Called by transport_udp. */
#ifndef LOCKSTEP_PROTOCOL_UDP_UDP_SOCKET_H
#define LOCKSTEP_PROTOCOL_UDP_UDP_SOCKET_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/transport/endpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

typedef struct ls_udp_socket ls_udp_socket;

/* Bound to this endpoint; "::" takes IPv4 as well, and is all of IPv4 where there is no IPv6. IO
 * (errno says why), NO_MEMORY. */
ls_status ls_udp_socket_listen(const ls_endpoint *endpoint, const ls_allocator *allocator,
                               ls_udp_socket **out);
/* Connected: hears of nobody else, and of refusals. */
ls_status ls_udp_socket_connect(const ls_endpoint *endpoint, const ls_allocator *allocator,
                                ls_udp_socket **out);
/* NULL is allowed. */
void ls_udp_socket_close(ls_udp_socket *socket);

/* Of a connected one: whether the system would send from another address now, as it does when this
 * machine has come into another network. The socket does from then on. */
bool ls_udp_socket_reroute(ls_udp_socket *socket);

int ls_udp_socket_descriptor(const ls_udp_socket *socket);
uint16_t ls_udp_socket_port(const ls_udp_socket *socket);

/* The address that this machine sends from to the world outside, with port 0: nothing is sent to
 * find it. False when there is no way there. */
bool ls_udp_own_address(ls_endpoint *out);

/* Bytes of the headers of IP and UDP before a datagram to or from there. */
size_t ls_udp_header_bytes(const ls_endpoint *endpoint);

/* ---- Receiving ---- */

/* Before all that has come is received; `now_ns` is of CLOCK_MONOTONIC. */
void ls_udp_socket_begin_turn(ls_udp_socket *socket, uint64_t now_ns);

typedef enum ls_udp_receipt {
    LS_UDP_RECEIVED,
    LS_UDP_EMPTY, /* nothing is left */
    LS_UDP_ERROR, /* of something sent before; `error` is its errno. There may be more */
} ls_udp_receipt;

/* No datagram of ours is longer. */
#define LS_UDP_DATAGRAM_BYTES_MAX 1280u

typedef struct ls_udp_datagram {
    ls_endpoint from;
    uint8_t *bytes; /* may be changed; good until the next one is received */
    size_t size;    /* of what came: above LS_UDP_DATAGRAM_BYTES_MAX it was cut */
    uint64_t arrived_ns;
    int error;
} ls_udp_datagram;

/* EMPTY as soon as a call of the system brought fewer than it might have. */
ls_udp_receipt ls_udp_socket_receive(ls_udp_socket *socket, ls_udp_datagram *out);

/* Whether datagrams are here that have left the system's queue: no readiness tells of them. */
bool ls_udp_socket_has_received(const ls_udp_socket *socket);

/* ---- Sending ---- */

/* More than that may not wait. */
#define LS_UDP_WAITING_MAX 64u

/* A datagram that leaves by the next flush; its bytes are borrowed until then. `to` is ignored by a
 * connected socket. */
void ls_udp_socket_send(ls_udp_socket *socket, const ls_endpoint *to, const uint8_t *bytes,
                        size_t size);

/* The fate of the datagrams that waited. */
typedef struct ls_udp_sent {
    uint64_t lost; /* bit n: the n-th of them has not left: there was no room, or it failed */
    int error;     /* of the last one that failed for another reason; 0: none */
} ls_udp_sent;

_Static_assert(LS_UDP_WAITING_MAX <= 64, "ls_udp_sent has a bit for each");

ls_udp_sent ls_udp_socket_flush(ls_udp_socket *socket);

LS_C_END

#endif
