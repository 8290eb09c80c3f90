/* ENet batch: datagrams that hold nothing but unsequenced packets, written as ENet would write them
 * and handed to the kernel many at a time, which costs it less than one by one. Owns the bytes from
 * add to send; knows no connection and no header of ENet's, and never waits. Called by
 * transport_enet_direct. */
#ifndef LOCKSTEP_PROTOCOL_ENET_ENET_BATCH_H
#define LOCKSTEP_PROTOCOL_ENET_ENET_BATCH_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/enet/enet_datagram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_ENET_BATCH_DATAGRAMS_MAX 64u

typedef struct ls_enet_receiver {
    uint32_t host; /* IPv4 address, big-endian */
    uint16_t port;
    uint16_t seat;   /* of the sender, at the receiver: 0 .. 4,094 */
    uint8_t session; /* 0 .. 3 */
} ls_enet_receiver;

typedef struct ls_enet_batch ls_enet_batch;

/* NO_MEMORY. */
ls_status ls_enet_batch_create(const ls_allocator *allocator, ls_enet_batch **batch);
void ls_enet_batch_destroy(ls_enet_batch *batch);

/* There is room for one more packet of any size. Otherwise what there is has to be sent first. */
bool ls_enet_batch_has_room(const ls_enet_batch *batch);

/* Adds a packet of at most LS_PACKET_BYTES_MAX: to the newest datagram, when that goes to the same
 * receiver and has room for it, as ENet would. Returns the bytes of UDP payload that it takes;
 * `is_new_datagram` says whether they are a datagram of their own. */
size_t ls_enet_batch_add(ls_enet_batch *batch, const ls_enet_receiver *to, uint16_t group,
                         const uint8_t *bytes, size_t size, bool *is_new_datagram);

/* Sends all there is and is empty then: what the socket has no room for is lost, as datagrams are.
 * Returns 0, or the errno of the last datagram that cannot be sent for another reason. */
int ls_enet_batch_send(ls_enet_batch *batch, int socket);

LS_C_END

#endif
