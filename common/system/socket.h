/* Socket: connected pairs of sockets, those that listen, what every socket needs, and waiting for
 * one. Failures are told by errno, whose names hold on every system. Called by what talks to other
 * processes, by transports and by programs. */
#ifndef LOCKSTEP_COMMON_SYSTEM_SOCKET_H
#define LOCKSTEP_COMMON_SYSTEM_SOCKET_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_SOCKET_FOR_EVER UINT64_MAX

/* Two connected sockets of streams, which children do not inherit. IO. */
ls_status ls_socket_pair(int sockets[2]);
/* The same for whole messages, which may be given an address that is ignored; never waits. */
ls_status ls_socket_message_pair(int sockets[2], int buffer_bytes);
void ls_socket_close(int socket); /* -1 is allowed */

/* For streams to this endpoint; "::" takes IPv4 as well. Never waits; -1. */
int ls_socket_listen(const ls_endpoint *endpoint);
/* Makes one that somebody else has made as one of listen, and says where it is bound. */
bool ls_socket_listen_ready(int socket, ls_endpoint *own);

/* Ends a connection both ways; the socket stays open. */
void ls_socket_shut(int socket);

/* A connection of TCP sends at once all that is written to it, and takes no more than about so many
 * bytes that have not left, where the system can be told so. */
void ls_socket_hurry(int socket, int unsent_bytes);

/* Where it is bound. False: it is no socket of IPv6 or IPv4. */
bool ls_socket_own(int socket, ls_endpoint *own);
/* The other end of a connected one; false likewise. */
bool ls_socket_peer(int socket, ls_endpoint *peer);

typedef enum ls_socket_kind {
    LS_SOCKET_OTHER,     /* or none */
    LS_SOCKET_DATAGRAMS, /* of UDP */
    LS_SOCKET_LISTENING, /* of TCP */
} ls_socket_kind;

ls_socket_kind ls_socket_kind_of(int socket);

/* All of the bytes to the other end, or from it. IO: that is gone; TIMED_OUT: for so long nothing
 * has come (UINT32_MAX: it waits for ever). */
ls_status ls_socket_send_all(int socket, const void *bytes, size_t size);
ls_status ls_socket_receive_all(int socket, void *bytes, size_t size, uint32_t wait_ms);

/* As much as there is room for, or as has come, without waiting: -1 when the other end is gone or
 * has nothing more to say, else the bytes, which may be none. */
ptrdiff_t ls_socket_send_some(int socket, const uint8_t *bytes, size_t size);
ptrdiff_t ls_socket_receive_some(int socket, uint8_t *bytes, size_t size);

/* Waits until the descriptor can be read, and says whether it can. A signal ends the waiting too.
 */
bool ls_socket_await(int descriptor, uint64_t wait_ns);

LS_C_END

#endif
