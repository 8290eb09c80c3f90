/* ENet channel: the channel RELIABLE of one connection. ENet with one peer and without a network:
 * its datagrams are handed to the owner, who seals and sends them, and the owner hands in those
 * that have come. Both sides are connected from the start, as protocol/SEALED.md says. Nothing that
 * an ENet of ours would not send reaches ENet. The only module that knows ENet. */
#ifndef LOCKSTEP_PROTOCOL_ENET_ENET_CHANNEL_H
#define LOCKSTEP_PROTOCOL_ENET_ENET_CHANNEL_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/enet/enet_datagram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* The wire is what ENet has in place of a network; all channels of a transport share one. IO,
 * NO_MEMORY. */
typedef struct ls_enet_wire ls_enet_wire;
ls_status ls_enet_wire_create(const ls_allocator *allocator, ls_enet_wire **out);
/* After the channels. NULL is allowed. */
void ls_enet_wire_destroy(ls_enet_wire *wire);

typedef struct ls_enet_channel_config {
    uint64_t rtt_ns; /* there and back, by which ENet repeats at first; 0: not known */
    /* A datagram of ENet's is to leave. Called from within the functions below. */
    void (*on_datagram)(void *user, const uint8_t *bytes, size_t size);
    void *user;
} ls_enet_channel_config;

typedef struct ls_enet_channel ls_enet_channel;

/* NO_MEMORY. */
ls_status ls_enet_channel_create(ls_enet_wire *wire, const ls_enet_channel_config *config,
                                 uint64_t now_ns, const ls_allocator *allocator,
                                 ls_enet_channel **out);
/* Without a word to the other side. NULL is allowed. */
void ls_enet_channel_destroy(ls_enet_channel *channel);

/* Queues a packet of at most LS_PACKET_BYTES_MAX; it leaves at the next service. False when memory
 * is out. */
bool ls_enet_channel_send(ls_enet_channel *channel, const uint8_t *bytes, size_t size);

/* Bytes queued or not yet acknowledged, with ENet's own for each packet. Until it is 0 the channel
 * must be serviced every few milliseconds. */
size_t ls_enet_channel_backlog(const ls_enet_channel *channel);

/* Sends what is queued and what has to be repeated. */
void ls_enet_channel_service(ls_enet_channel *channel, uint64_t now_ns);

/* Ends the connection once everything has been acknowledged; at once, telling the other side. */
void ls_enet_channel_close(ls_enet_channel *channel);
void ls_enet_channel_abort(ls_enet_channel *channel, uint64_t now_ns);

/* A datagram of the other side's; why not, when it is none that an ENet of ours sends. */
ls_datagram_rejection ls_enet_channel_receive(ls_enet_channel *channel, const uint8_t *bytes,
                                              size_t size, uint64_t now_ns);

typedef enum ls_enet_event_kind {
    LS_ENET_NOTHING,
    LS_ENET_RECEIVED,
    LS_ENET_CLOSED, /* by the other side, or by ours in good order */
    LS_ENET_LOST,   /* nothing was acknowledged for a minute */
} ls_enet_event_kind;

typedef struct ls_enet_event {
    ls_enet_event_kind kind;
    const uint8_t *bytes; /* RECEIVED; good until the next call with this channel */
    size_t size;
} ls_enet_event;

bool ls_enet_channel_has_event(const ls_enet_channel *channel);
ls_enet_event ls_enet_channel_next_event(ls_enet_channel *channel);

LS_C_END

#endif
