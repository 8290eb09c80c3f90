/* How ENet is used: each channel has a host of ENet's with one peer, which stands for the other
 * machine. The handshake that makes this peer is ENet's own: the host connects to itself, which
 * ENet allows, and the caller is then taken away (shake_hands). It does not go through the seal,
 * where it would cost each connection a round trip before its first packet, and half a second or
 * more for each of its datagrams that is lost. ENet sends and receives whole datagrams on a socket.
 * Four things cannot be had by the public interface of the shared library, and are written into its
 * structures. `socket`: one pair of sockets carries the datagrams of every host of a transport;
 * with a socket for each host, a server of 1,000 connections would need 1,000 more descriptors.
 * `receivedAddress`: the pair is local, because the loopback device may be down, or lose and delay
 * packets for somebody's test; ENet reads no address from a local socket. `mtu`: a datagram with
 * its seal must fit through every path. And the time after which a command is repeated: see
 * bound_repeats. */
#include "lockstep/protocol/enet/enet_channel.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/protocol/enet/enet_datagram.h"
#include "lockstep/protocol/enet/enet_ends.h"

#include <enet/time.h>
#include <stdatomic.h>

enum {
    CALLER, /* the peer that shakes hands for the other machine, and is then free */
    OTHER,  /* the peer that stands for it */
    PEER_COUNT,

    CHANNEL_COUNT = 1,
    DATA_CHANNEL = 0,
    GOODBYE = 1, /* data of a disconnect that somebody asked for; ENet's own time-outs carry 0 */

    /* ENet gives a peer up by unanswered packets, which are lost like everything else: wait long.
     */
    TIMEOUT_LIMIT = 1024,
    TIMEOUT_MIN_MS = 60000,
    TIMEOUT_MAX_MS = 120000,
    RTT_MS_MIN = 20, /* as ENet would measure it: the other side may answer once a tick */
    RTT_MS_MAX = ENET_PEER_DEFAULT_ROUND_TRIP_TIME - 1, /* then ENet repeats VERIFY_CONNECT */
    /* By then a host has sent its bandwidth limits to a new peer, wherever its clock stands. */
    SETTLE_MS = 2 * ENET_HOST_BANDWIDTH_THROTTLE_INTERVAL,

    REPEAT_MS_MAX =
        250, /* ENet doubles its wait each time; what matches send is small and urgent */

    BACKLOG_PACKET_BYTES = 128, /* what a queued packet takes besides its payload, about */
    CLOCK_DRIFT_MS_MAX = 2,

    SENT_TIME_BYTE = ENET_PROTOCOL_HEADER_FLAG_SENT_TIME >> 8,
};

/* ---- The wire ---- */

struct ls_enet_wire {
    const ls_allocator *allocator;
    ENetSocket inside; /* where every host sends and receives */
    ENetSocket outside;
};

ls_status ls_enet_wire_create(const ls_allocator *allocator, ls_enet_wire **out)
{
    ls_enet_wire *wire = ls_allocate(allocator, sizeof *wire);
    if (!wire) {
        return LS_NO_MEMORY;
    }
    ENetSocket ends[2];
    if (enet_initialize() != 0 || !ls_enet_ends_open(ends)) {
        ls_release(allocator, wire);
        return LS_IO;
    }
    *wire = (ls_enet_wire){.allocator = allocator, .inside = ends[0], .outside = ends[1]};
    *out = wire;
    return LS_OK;
}

void ls_enet_wire_destroy(ls_enet_wire *wire)
{
    if (wire) {
        enet_socket_destroy(wire->inside);
        enet_socket_destroy(wire->outside);
        ls_release(wire->allocator, wire);
    }
}

typedef struct raw_datagram {
    uint8_t bytes[LS_ENET_DATAGRAM_BYTES_MAX];
    size_t size;
} raw_datagram;

static bool receive_from(ENetSocket end, raw_datagram *out)
{
    ENetBuffer buffer = {.data = out->bytes, .dataLength = sizeof out->bytes};
    int size = enet_socket_receive(end, NULL, &buffer, 1);
    out->size = size > 0 ? (size_t)size : 0;
    return size > 0;
}

/* ---- A channel ---- */

struct ls_enet_channel {
    ls_enet_channel_config config;
    const ls_allocator *allocator;
    ls_enet_wire *wire;
    ENetHost *host;
    bool is_closing;
    ENetPacket *borrowed; /* of the last event, or NULL */
    size_t backlog_bytes;
    enet_uint32 collected; /* of the datagrams that the host has sent */
};

static ENetPeer *peer_of(const ls_enet_channel *channel)
{
    return &channel->host->peers[OTHER];
}

/* ENet lives by the wall clock. When that is set, every connection would time out or stand still:
 * keep it at the monotonic one, before each use. Reading both rounds to whole milliseconds twice;
 * nothing is corrected for that, since ENet ignores acknowledgements of what it sent in the future.
 */
static void steady_clock(uint64_t now_ns)
{
    enet_uint32 now_ms = (enet_uint32)(now_ns / LS_NS_PER_MS);
    enet_uint32 drift_ms = now_ms - enet_time_get();
    if (drift_ms + CLOCK_DRIFT_MS_MAX > 2 * CLOCK_DRIFT_MS_MAX) {
        enet_time_set(now_ms);
    }
}

/* The shared library's time is one for the whole process: a handshake in one thread sets it back
 * while another thread lives by it. So threads take turns at it. Only a process that plays in
 * several of them ever waits here. */
static atomic_flag is_time_taken = ATOMIC_FLAG_INIT;

static void take_time(void)
{
    while (atomic_flag_test_and_set_explicit(&is_time_taken, memory_order_acquire)) {
    }
}

static void leave_time(void)
{
    atomic_flag_clear_explicit(&is_time_taken, memory_order_release);
}

/* The next datagram that ENet has sent; asks the system for those alone that ENet says are there.
 */
static bool collect_sent(ls_enet_channel *channel, raw_datagram *out)
{
    const enet_uint32 sent = channel->host->totalSentPackets;
    bool is_there = channel->collected != sent && receive_from(channel->wire->outside, out);
    channel->collected = is_there ? channel->collected + 1 : sent;
    return is_there;
}

/* Hands over what ENet has sent, without its numbers for the peer, which are ours alone. */
static void collect(ls_enet_channel *channel)
{
    raw_datagram sent;
    while (collect_sent(channel, &sent)) {
        sent.bytes[0] &= SENT_TIME_BYTE;
        sent.bytes[1] = 0;
        channel->config.on_datagram(channel->config.user, sent.bytes, sent.size);
    }
}

/* ENet waits twice as long each time before it repeats a command: after six losses that is seconds
 * in which a match does not begin. From REPEAT_MS_MAX on, or two round trips, it waits no longer.
 */
static void bound_repeats(ls_enet_channel *channel)
{
    ENetPeer *peer = peer_of(channel);
    const enet_uint32 wait_ms = LS_MAX(2 * peer->roundTripTime, (enet_uint32)REPEAT_MS_MAX);
    for (ENetListIterator at = enet_list_begin(&peer->sentReliableCommands);
         at != enet_list_end(&peer->sentReliableCommands); at = enet_list_next(at)) {
        ENetOutgoingCommand *sent = (ENetOutgoingCommand *)at;
        if (sent->roundTripTimeout <= wait_ms) {
            continue;
        }
        sent->roundTripTimeout = wait_ms;
        if (ENET_TIME_GREATER(peer->nextTimeout, sent->sentTime + wait_ms)) {
            peer->nextTimeout = sent->sentTime + wait_ms;
        }
    }
}

void ls_enet_channel_service(ls_enet_channel *channel, uint64_t now_ns)
{
    take_time();
    steady_clock(now_ns);
    (void)enet_host_service(channel->host, NULL, 0);
    leave_time();
    collect(channel);
    bound_repeats(channel);
}

/* ---- Making and ending ---- */

/* The host receives the next time what it sends now. */
static void service_alone(ls_enet_channel *channel)
{
    raw_datagram sent;
    (void)enet_host_service(channel->host, NULL, 0);
    while (collect_sent(channel, &sent)) {
        ENetBuffer buffer = {.data = sent.bytes, .dataLength = sent.size};
        (void)enet_socket_send(channel->wire->outside, NULL, &buffer, 1);
    }
}

/* ENet's handshake, between this host and itself, in a time of its own that ends now: so ENet
 * measures the round trip that it is to begin with, and is done with the bandwidth limits that a
 * host sends to each new peer. The pings let it measure often enough to repeat after two round
 * trips.
 */
static bool shake_hands(ls_enet_channel *channel, uint64_t now_ns)
{
    const uint64_t known_ms = channel->config.rtt_ns / LS_NS_PER_MS;
    const enet_uint32 rtt_ms = known_ms == 0
                                   ? ENET_PEER_DEFAULT_ROUND_TRIP_TIME / 2
                                   : (enet_uint32)LS_MIN(LS_MAX(known_ms, RTT_MS_MIN), RTT_MS_MAX);
    const enet_uint32 before_now_ms[] = {
        SETTLE_MS + 2 * rtt_ms, /* CONNECT leaves and comes, VERIFY_CONNECT leaves */
        SETTLE_MS + rtt_ms,     /* that comes, and its acknowledgement */
        rtt_ms,                 /* BANDWIDTH_LIMIT and pings leave and come */
        0,                      /* their acknowledgements come */
    };
    const enet_uint32 now_ms = (enet_uint32)(now_ns / LS_NS_PER_MS);
    take_time();
    (void)enet_host_connect(channel->host, &ls_enet_everybody, CHANNEL_COUNT, 0);
    for (size_t i = 0; i < sizeof before_now_ms / sizeof before_now_ms[0]; i++) {
        enet_time_set(now_ms - before_now_ms[i]);
        service_alone(channel);
        service_alone(channel);
        ENetEvent connected;
        while (enet_host_check_events(channel->host, &connected) > 0) {
            enet_peer_ping(connected.peer);
            enet_peer_ping(connected.peer);
        }
    }
    leave_time();
    enet_peer_reset(&channel->host->peers[CALLER]);
    return peer_of(channel)->state == ENET_PEER_STATE_CONNECTED;
}

static ENetHost *make_host(const ls_enet_wire *wire)
{
    ENetHost *host = enet_host_create(NULL, PEER_COUNT, CHANNEL_COUNT, 0, 0);
    if (host) {
        enet_socket_destroy(host->socket);
        host->socket = wire->inside;
        host->mtu = LS_ENET_DATAGRAM_BYTES_MAX;
        ls_enet_ends_hold(host);
        enet_peer_reset(&host->peers[CALLER]); /* it has the mtu now, and asks for it */
    }
    return host;
}

ls_status ls_enet_channel_create(ls_enet_wire *wire, const ls_enet_channel_config *config,
                                 uint64_t now_ns, const ls_allocator *allocator,
                                 ls_enet_channel **out)
{
    ls_enet_channel *channel = ls_allocate(allocator, sizeof *channel);
    if (!channel) {
        return LS_NO_MEMORY;
    }
    channel->config = *config;
    channel->allocator = allocator;
    channel->wire = wire;
    channel->host = make_host(wire);
    if (!channel->host || !shake_hands(channel, now_ns)) {
        ls_enet_channel_destroy(channel);
        return LS_NO_MEMORY;
    }
    enet_peer_timeout(peer_of(channel), TIMEOUT_LIMIT, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS);
    /* The matches see to it that nobody is silent. */
    enet_peer_ping_interval(peer_of(channel), UINT32_MAX);
    *out = channel;
    return LS_OK;
}

static void release_borrowed(ls_enet_channel *channel)
{
    if (channel->borrowed) {
        enet_packet_destroy(channel->borrowed);
        channel->borrowed = NULL;
    }
}

void ls_enet_channel_destroy(ls_enet_channel *channel)
{
    if (!channel) {
        return;
    }
    release_borrowed(channel);
    if (channel->host) {
        channel->host->socket = ENET_SOCKET_NULL; /* the wire's */
        enet_host_destroy(channel->host);         /* gives back the packets, which know us */
    }
    ls_release(channel->allocator, channel);
}

/* ---- Sending ---- */

static void ENET_CALLBACK on_delivered(ENetPacket *packet)
{
    ls_enet_channel *channel = packet->userData;
    channel->backlog_bytes -= packet->dataLength + BACKLOG_PACKET_BYTES;
}

bool ls_enet_channel_send(ls_enet_channel *channel, const uint8_t *bytes, size_t size)
{
    LS_ASSERT(size <= LS_PACKET_BYTES_MAX);
    ENetPacket *packet = enet_packet_create(bytes, size, ENET_PACKET_FLAG_RELIABLE);
    if (!packet) {
        return false;
    }
    packet->freeCallback = on_delivered;
    packet->userData = channel;
    channel->backlog_bytes += size + BACKLOG_PACKET_BYTES;
    if (enet_peer_send(peer_of(channel), DATA_CHANNEL, packet) != 0) {
        enet_packet_destroy(packet);
        return false;
    }
    return true;
}

size_t ls_enet_channel_backlog(const ls_enet_channel *channel)
{
    return channel->backlog_bytes;
}

void ls_enet_channel_close(ls_enet_channel *channel)
{
    channel->is_closing = true;
    enet_peer_disconnect_later(peer_of(channel), GOODBYE);
}

void ls_enet_channel_abort(ls_enet_channel *channel, uint64_t now_ns)
{
    take_time();
    steady_clock(now_ns);
    enet_peer_disconnect_now(peer_of(channel), GOODBYE);
    leave_time();
    collect(channel);
}

/* ---- Receiving ---- */

/* Gives ENet a datagram with its own numbers for the peer. None may stay on the wire, where another
 * host would take it for one of its own. */
static void deliver(ls_enet_channel *channel, const uint8_t *bytes, size_t size, uint64_t now_ns)
{
    uint8_t header[] = {
        (uint8_t)((bytes[0] & SENT_TIME_BYTE) | peer_of(channel)->incomingSessionID
                                                    << (ENET_PROTOCOL_HEADER_SESSION_SHIFT - 8)),
        OTHER};
    ENetBuffer buffers[] = {
        {.data = header, .dataLength = sizeof header},
        {.data = (uint8_t *)(uintptr_t)bytes + sizeof header, .dataLength = size - sizeof header}};
    const enet_uint32 received = channel->host->totalReceivedPackets;
    if (enet_socket_send(channel->wire->outside, NULL, buffers, 2) > 0) {
        ls_enet_channel_service(channel, now_ns);
        raw_datagram left;
        while (channel->host->totalReceivedPackets == received &&
               receive_from(channel->wire->inside, &left)) {
        }
    }
}

ls_datagram_rejection ls_enet_channel_receive(ls_enet_channel *channel, const uint8_t *bytes,
                                              size_t size, uint64_t now_ns)
{
    const ENetPeer *peer = peer_of(channel);
    if (peer->state == ENET_PEER_STATE_DISCONNECTED) {
        return LS_DATAGRAM_ACCEPTED; /* too late to matter */
    }
    uint16_t received =
        0; /* where ENet has let its channels go, and takes acknowledgements alone */
    if (peer->channelCount > 0) {
        received = peer->channels[DATA_CHANNEL].incomingReliableSequenceNumber;
    }
    ls_datagram_rejection rejection = ls_enet_datagram_check(bytes, size, received);
    if (rejection == LS_DATAGRAM_ACCEPTED) {
        deliver(channel, bytes, size, now_ns);
    }
    return rejection;
}

bool ls_enet_channel_has_event(const ls_enet_channel *channel)
{
    return !enet_list_empty(&channel->host->dispatchQueue);
}

ls_enet_event ls_enet_channel_next_event(ls_enet_channel *channel)
{
    static const uint8_t nothing[1];
    release_borrowed(channel);
    ENetEvent event;
    if (!ls_enet_channel_has_event(channel) || enet_host_check_events(channel->host, &event) <= 0) {
        return (ls_enet_event){LS_ENET_NOTHING, NULL, 0};
    }
    if (event.type == ENET_EVENT_TYPE_RECEIVE) {
        channel->borrowed = event.packet;
        return (ls_enet_event){LS_ENET_RECEIVED,
                               event.packet->dataLength > 0 ? event.packet->data : nothing,
                               event.packet->dataLength};
    }
    bool is_wanted = event.data == GOODBYE || channel->is_closing;
    return (ls_enet_event){is_wanted ? LS_ENET_CLOSED : LS_ENET_LOST, NULL, 0};
}
