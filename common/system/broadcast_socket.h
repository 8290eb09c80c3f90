/* Broadcast socket: UDP for questions to everybody on the local network: over every interface, and
 * where a datagram came from and came in. IPv4 alone, which has broadcasts. Never waits. Called by
 * the announcer of the server and the finder of the client. */
#ifndef LOCKSTEP_COMMON_SYSTEM_BROADCAST_SOCKET_H
#define LOCKSTEP_COMMON_SYSTEM_BROADCAST_SOCKET_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

LS_C_BEGIN

#define LS_BROADCAST_BYTES_MAX 256u

typedef struct ls_broadcast_datagram {
    uint8_t bytes[LS_BROADCAST_BYTES_MAX + 1]; /* a longer one is cut, and too long all the same */
    size_t size;
    ls_endpoint from;
    uint32_t local;    /* own address on the interface that it came in by, in network byte order */
    bool is_broadcast; /* it was not sent to an address of this machine's own */
} ls_broadcast_datagram;

/* A socket on the port, which other programs of this machine may have as well: all of them get a
 * broadcast. IO with the reason; the caller closes the descriptor. Port 0: one of the system's. */
ls_status ls_broadcast_socket_open(uint16_t port, int *descriptor, ls_text *why);

/* False: there is none. */
bool ls_broadcast_socket_receive(int descriptor, ls_broadcast_datagram *datagram);

/* Sends to where the datagram came from, from the address that its sender knows. A failure
 * loses the answer. */
void ls_broadcast_socket_answer(int descriptor, const ls_broadcast_datagram *datagram,
                                const uint8_t *bytes, size_t size);

/* Sends to the broadcast address of every interface that is up, the loopback's too, or to
 * `address` alone when it is not 0 (network byte order). Returns to how many it was sent. */
uint32_t ls_broadcast_socket_broadcast(int descriptor, uint32_t address, uint16_t port,
                                       const uint8_t *bytes, size_t size);

LS_C_END

#endif
