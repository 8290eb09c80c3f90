/* Datagram socket: what a UDP transport sends and receives through: a socket of the system
 * (udp_socket.h), or one of a network in virtual time, which tests and tools give it. Never waits.
 * Errors are those of errno on every system. */
#ifndef LOCKSTEP_COMMON_SYSTEM_DATAGRAM_SOCKET_H
#define LOCKSTEP_COMMON_SYSTEM_DATAGRAM_SOCKET_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

typedef enum ls_udp_receipt {
    LS_UDP_RECEIVED,
    LS_UDP_EMPTY, /* nothing is left */
    LS_UDP_ERROR, /* of something sent before; `error` is its errno. There may be more */
} ls_udp_receipt;

/* No datagram of ours is longer; and what comes is cut beyond that. */
#define LS_UDP_DATAGRAM_BYTES_MAX 1280u
#define LS_UDP_RECEIVED_BYTES_MAX 2048u

typedef struct ls_udp_datagram {
    ls_endpoint from;
    uint8_t *bytes; /* may be changed; good until the next one is received */
    size_t size;    /* of what came: above LS_UDP_RECEIVED_BYTES_MAX it was cut */
    uint64_t arrived_ns;
    int error;
} ls_udp_datagram;

/* More than that may not wait. */
#define LS_UDP_WAITING_MAX 64u

/* The fate of the datagrams that waited. */
typedef struct ls_udp_sent {
    uint64_t lost; /* bit n: the n-th of them has not left: there was no room, or it failed */
    int error;     /* of the last one that failed for another reason; 0: none */
} ls_udp_sent;

typedef struct ls_datagram_socket ls_datagram_socket;

typedef struct ls_datagram_socket_operations {
    /* Before all that has come is received; `now_ns` is of the transport's clock. */
    void (*begin_turn)(ls_datagram_socket *socket, uint64_t now_ns);
    /* EMPTY as soon as a call of the system brought fewer than it might have. */
    ls_udp_receipt (*receive)(ls_datagram_socket *socket, ls_udp_datagram *out);
    /* Whether datagrams are here that have left the system's queue: no readiness tells of them. */
    bool (*has_received)(const ls_datagram_socket *socket);
    /* The datagram that is received after so many others, if it is here already; else NULL. */
    const uint8_t *(*coming)(const ls_datagram_socket *socket, uint32_t others, size_t *size);
    /* A datagram that leaves by the next flush; its bytes are borrowed until then. `to` is ignored
     * by a connected socket. */
    void (*send)(ls_datagram_socket *socket, const ls_endpoint *to, const uint8_t *bytes,
                 size_t size);
    ls_udp_sent (*flush)(ls_datagram_socket *socket);
    /* Of a connected one: whether the system would send from another address now, as it does when
     * this machine has come into another network. The socket does from then on. */
    bool (*reroute)(ls_datagram_socket *socket);
    int (*descriptor)(const ls_datagram_socket *socket); /* -1: there is none to wait for */
    uint16_t (*port)(const ls_datagram_socket *socket);
    void (*close)(ls_datagram_socket *socket);
} ls_datagram_socket_operations;

/* The first member of every implementation. */
struct ls_datagram_socket {
    const ls_datagram_socket_operations *operations;
    bool has_moved; /* it sends by another way since the transport has set this to false */
};

/* Puts another socket around one, which it takes: what a transport then stands on. All zero: none.
 */
typedef struct ls_socket_wrapper {
    ls_datagram_socket *(*wrap)(void *user, ls_datagram_socket *inner);
    void *user;
} ls_socket_wrapper;

static inline void ls_datagram_socket_begin_turn(ls_datagram_socket *socket, uint64_t now_ns)
{
    socket->operations->begin_turn(socket, now_ns);
}

static inline ls_udp_receipt ls_datagram_socket_receive(ls_datagram_socket *socket,
                                                        ls_udp_datagram *out)
{
    return socket->operations->receive(socket, out);
}

static inline bool ls_datagram_socket_has_received(const ls_datagram_socket *socket)
{
    return socket->operations->has_received(socket);
}

static inline const uint8_t *ls_datagram_socket_coming(const ls_datagram_socket *socket,
                                                       uint32_t others, size_t *size)
{
    return socket->operations->coming(socket, others, size);
}

static inline void ls_datagram_socket_send(ls_datagram_socket *socket, const ls_endpoint *to,
                                           const uint8_t *bytes, size_t size)
{
    socket->operations->send(socket, to, bytes, size);
}

static inline ls_udp_sent ls_datagram_socket_flush(ls_datagram_socket *socket)
{
    return socket->operations->flush(socket);
}

static inline bool ls_datagram_socket_reroute(ls_datagram_socket *socket)
{
    return socket->operations->reroute(socket);
}

static inline int ls_datagram_socket_descriptor(const ls_datagram_socket *socket)
{
    return socket->operations->descriptor(socket);
}

static inline uint16_t ls_datagram_socket_port(const ls_datagram_socket *socket)
{
    return socket->operations->port(socket);
}

/* NULL is allowed. */
static inline void ls_datagram_socket_close(ls_datagram_socket *socket)
{
    if (socket) {
        socket->operations->close(socket);
    }
}

LS_C_END

#endif
