/* Transport: carries packets between peers; what every transport promises and nothing of how.
 * Two channels: RELIABLE arrives in order or the peer is lost; UNRELIABLE may be lost, repeated or
 * reordered. Never interprets a payload. Implementations: transport_udp, transport_memory.
 * Its owner hands the events to a match or a session, which send through the sink. */
#ifndef LOCKSTEP_PROTOCOL_TRANSPORT_TRANSPORT_H
#define LOCKSTEP_PROTOCOL_TRANSPORT_TRANSPORT_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/status.h"

#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* Names one connection for its life; never 0 and never used again by the same transport. */
typedef uint32_t ls_peer_id;

typedef enum ls_channel {
    LS_CHANNEL_RELIABLE,
    LS_CHANNEL_UNRELIABLE,
    LS_CHANNEL_COUNT,
    /* For answers, never received: an unreliable packet to the address that the peer's newest
     * packet came from, of at most ls_transport_event.path_room bytes; to nowhere when the peer has
     * no such address. */
    LS_CHANNEL_CANDIDATE_PATH = LS_CHANNEL_COUNT,
} ls_channel;

typedef enum ls_transport_event_kind {
    LS_TRANSPORT_CONNECTED,
    LS_TRANSPORT_DISCONNECTED,
    LS_TRANSPORT_RECEIVED,
} ls_transport_event_kind;

typedef struct ls_transport_event {
    ls_transport_event_kind kind;
    ls_peer_id peer;
    ls_channel channel;   /* RECEIVED */
    const uint8_t *bytes; /* RECEIVED; borrowed until the next call of next_event */
    size_t size;          /* RECEIVED; 0 .. LS_PACKET_BYTES_MAX */
    /* RECEIVED: when it reached this machine, on the monotonic clock, as exactly as the transport
     * knows; its owner may take it much later. */
    uint64_t arrived_ns;
    /* RECEIVED: the packet came from an address that is not proven to be the peer's: what is sent
     * goes to another one until it is, but for one packet of so many bytes. Else 0. */
    size_t path_room;
    ls_status reason; /* DISCONNECTED: DISCONNECTED, TIMED_OUT, REFUSED, UNREACHABLE */
    /* CONNECTED: the way there and back, measured with a packet that is known to have been sent
     * once; 0: the transport does not know it. */
    uint64_t rtt_ns;
    /* CONNECTED: where the peer comes from: its IPv4 address, or the /56 of an IPv6 one, as a
     * number that all peers of there have; 0: the transport does not know it. */
    uint64_t origin;
} ls_transport_event;

/* The way out for a core's packets: the only part of a transport that a core sees. */
typedef struct ls_packet_sink {
    void (*send)(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                 size_t size);
    /* Lets what was sent reliably go out, then closes. */
    void (*disconnect)(void *user, ls_peer_id peer);
    void *user;
} ls_packet_sink;

/* Traffic of one peer since it connected, every header below it counted (IP, UDP, ENet). */
typedef struct ls_transport_traffic {
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t packets_sent;
    uint64_t packets_received;
} ls_transport_traffic;

typedef struct ls_transport ls_transport;

typedef struct ls_transport_operations {
    int (*next_event)(ls_transport *transport, ls_transport_event *event);
    void (*send)(ls_transport *transport, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                 size_t size);
    void (*disconnect)(ls_transport *transport, ls_peer_id peer);
    void (*flush)(ls_transport *transport);
    ls_transport_traffic (*traffic)(const ls_transport *transport, ls_peer_id peer);
    void (*destroy)(ls_transport *transport);
} ls_transport_operations;

/* The first member of every implementation. */
struct ls_transport {
    const ls_transport_operations *operations;
};

/* 1 and the oldest event not yet taken, or 0 when there is none. */
static inline int ls_transport_next_event(ls_transport *transport, ls_transport_event *event)
{
    return transport->operations->next_event(transport, event);
}

/* Queues a packet of at most LS_PACKET_BYTES_MAX; it leaves at the next flush at the latest. To a
 * peer that is gone it does nothing. */
static inline void ls_transport_send(ls_transport *transport, ls_peer_id peer, ls_channel channel,
                                     const uint8_t *bytes, size_t size)
{
    transport->operations->send(transport, peer, channel, bytes, size);
}

/* Lets what was sent reliably go out, then closes the connection: its DISCONNECTED follows. */
static inline void ls_transport_disconnect(ls_transport *transport, ls_peer_id peer)
{
    transport->operations->disconnect(transport, peer);
}

/* Sends now what was queued. */
static inline void ls_transport_flush(ls_transport *transport)
{
    transport->operations->flush(transport);
}

/* Valid from CONNECTED until the call of next_event after DISCONNECTED; then all zero. */
static inline ls_transport_traffic ls_transport_traffic_of(const ls_transport *transport,
                                                           ls_peer_id peer)
{
    return transport->operations->traffic(transport, peer);
}

/* NULL is allowed. */
static inline void ls_transport_destroy(ls_transport *transport)
{
    if (transport) {
        transport->operations->destroy(transport);
    }
}

/* A sink that sends through the transport, which must outlive it. */
ls_packet_sink ls_transport_sink(ls_transport *transport);

LS_C_END

#endif
