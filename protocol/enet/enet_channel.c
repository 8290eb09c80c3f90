#define _POSIX_C_SOURCE 200809L
#include "lockstep/protocol/enet/enet_channel.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/protocol/enet/enet_datagram.h"

#include <enet/enet.h>
#include <enet/time.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CHANNEL_COUNT = 1,
    DATA_CHANNEL = 0,
    CONTROL_CHANNEL = 0xff,
    FIRST_SEQUENCE = 1,
    CONNECT_ID = 1,
    GOODBYE = 1, /* data of a disconnect that somebody asked for; ENet's own time-outs carry 0 */

    /* ENet gives a peer up by unanswered packets, which are lost like everything else: wait long.
     */
    TIMEOUT_LIMIT = 1024,
    TIMEOUT_MIN_MS = 60000,
    TIMEOUT_MAX_MS = 120000,
    RTT_MS_MIN = 20, /* as ENet would measure it: the other side may answer once a tick */

    REPEAT_MS_MAX =
        250, /* ENet doubles its wait each time; what matches send is small and urgent */

    BACKLOG_PACKET_BYTES = 128, /* what a queued packet takes besides its payload, about */
    CLOCK_DRIFT_MS_MAX = 2,
};

/* ---- The wire: a socket that is never ready to send, and receives a byte when we say so ---- */

struct ls_enet_wire {
    const ls_allocator *allocator;
    int inside; /* ENet's end: what ENet sends there goes nowhere */
    int outside;
};

/* From then on each send of ENet's gives EWOULDBLOCK, which ENet takes for a datagram lost. */
static void fill(int descriptor)
{
    int bytes = 1; /* the system takes its least */
    (void)setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    static const uint8_t nothing[1024];
    while (send(descriptor, nothing, sizeof nothing, MSG_NOSIGNAL) > 0) {
    }
    while (send(descriptor, nothing, 1, MSG_NOSIGNAL) > 0) {
    }
}

ls_status ls_enet_wire_create(const ls_allocator *allocator, ls_enet_wire **out)
{
    ls_enet_wire *wire = ls_allocate(allocator, sizeof *wire);
    if (!wire) {
        return LS_NO_MEMORY;
    }
    int ends[2];
    /* SEQPACKET, whose sends ignore the address that ENet gives. */
    if (enet_initialize() != 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) {
        ls_release(allocator, wire);
        return LS_IO;
    }
    *wire = (ls_enet_wire){.allocator = allocator, .inside = ends[0], .outside = ends[1]};
    for (int i = 0; i < 2; i++) {
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    }
    fill(wire->inside);
    *out = wire;
    return LS_OK;
}

void ls_enet_wire_destroy(ls_enet_wire *wire)
{
    if (wire) {
        close(wire->inside);
        close(wire->outside);
        ls_release(wire->allocator, wire);
    }
}

/* ---- A channel ---- */

struct ls_enet_channel {
    ls_enet_channel_config config;
    const ls_allocator *allocator;
    ls_enet_wire *wire;
    ENetHost *host;
    bool is_closing;
    bool is_connecting; /* what ENet says is its part of a handshake that is not sent */
    const uint8_t *fed; /* the datagram that ENet receives next */
    size_t fed_bytes;
    ENetPacket *borrowed; /* of the last event, or NULL */
    ENetEvent kept;       /* came while another was looked for */
    size_t backlog_bytes;
    uint8_t out[LS_ENET_DATAGRAM_BYTES_MAX + sizeof(ENetProtocolHeader)];
    uint8_t in[LS_ENET_DATAGRAM_BYTES_MAX];
};

static const ENetAddress nowhere = {.host = ENET_HOST_ANY, .port = 1};

static ENetPeer *peer_of(const ls_enet_channel *channel)
{
    return &channel->host->peers[0];
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

/* ENet's compressor, asked about each datagram before it leaves: hands it to the owner, and never
 * compresses. ENet has written its header but for the first two bytes. */
static size_t ENET_CALLBACK on_sending(void *context, const ENetBuffer *buffers,
                                       size_t buffer_count, size_t commands_bytes,
                                       enet_uint8 *compressed, size_t capacity)
{
    (void)compressed;
    (void)capacity;
    ls_enet_channel *channel = context;
    const ENetBuffer *header = &channel->host->buffers[0];
    if (channel->is_connecting || header->dataLength + commands_bytes > sizeof channel->out) {
        return 0;
    }
    uint16_t flags = channel->host->headerFlags & ENET_PROTOCOL_HEADER_FLAG_SENT_TIME;
    memcpy(channel->out, header->data, header->dataLength);
    channel->out[0] = (uint8_t)(flags >> 8);
    channel->out[1] = 0;
    size_t size = header->dataLength;
    for (size_t i = 0; i < buffer_count; i++) {
        if (buffers[i].dataLength > 0) { /* a packet without a byte has no data */
            memcpy(channel->out + size, buffers[i].data, buffers[i].dataLength);
            size += buffers[i].dataLength;
        }
    }
    channel->config.on_datagram(channel->config.user, channel->out, size);
    return 0;
}

/* In place of the byte on the wire ENet has received what is fed; nothing for a byte that another
 * channel's ENet left there. */
static int ENET_CALLBACK on_receiving(ENetHost *host, ENetEvent *event)
{
    (void)event;
    enum {
        LET_THROUGH,
        DROP
    };
    ls_enet_channel *channel = host->compressor.context;
    if (!channel->fed) {
        return DROP;
    }
    host->receivedData = (enet_uint8 *)(uintptr_t)channel->fed;
    host->receivedDataLength = channel->fed_bytes;
    host->receivedAddress = nowhere;
    channel->fed = NULL;
    return LET_THROUGH;
}

/* Has ENet take in a datagram and send what that calls for; an event goes to `kept`. */
static void feed(ls_enet_channel *channel, const uint8_t *bytes, size_t size, uint64_t now_ns)
{
    static const uint8_t something = 1;
    LS_ASSERT(channel->kept.type == ENET_EVENT_TYPE_NONE);
    channel->fed = bytes;
    channel->fed_bytes = size;
    if (!channel->is_connecting) {
        steady_clock(now_ns);
    }
    if (send(channel->wire->outside, &something, sizeof something, MSG_NOSIGNAL) > 0) {
        (void)enet_host_service(channel->host, &channel->kept, 0);
    }
    channel->fed = NULL;
}

/* ---- The handshake: each side plays the other's part for its own ENet ---- */

typedef struct made_datagram {
    uint8_t bytes[sizeof(ENetProtocolHeader) + sizeof(ENetProtocol)];
    size_t size;
} made_datagram;

static void make_datagram(made_datagram *out, uint16_t peer, const ENetHost *host,
                          const void *command, size_t size)
{
    ENetProtocolHeader header = {
        .peerID = ENET_HOST_TO_NET_16(peer | ENET_PROTOCOL_HEADER_FLAG_SENT_TIME),
        .sentTime = ENET_HOST_TO_NET_16((enet_uint16)host->serviceTime)};
    memcpy(out->bytes, &header, sizeof header);
    memcpy(out->bytes + sizeof header, command, size);
    out->size = sizeof header + size;
}

static ENetProtocolCommandHeader command_header(ENetProtocolCommand command, bool is_reliable)
{
    return (ENetProtocolCommandHeader){
        .command =
            (enet_uint8)(command | (is_reliable ? ENET_PROTOCOL_COMMAND_FLAG_ACKNOWLEDGE : 0)),
        .channelID = CONTROL_CHANNEL,
        .reliableSequenceNumber = ENET_HOST_TO_NET_16(FIRST_SEQUENCE)};
}

static void play_client(ls_enet_channel *channel, uint64_t now_ns)
{
    made_datagram made;
    ENetProtocolConnect connect = {
        .header = command_header(ENET_PROTOCOL_COMMAND_CONNECT, true),
        .mtu = ENET_HOST_TO_NET_32(LS_ENET_DATAGRAM_BYTES_MAX),
        .windowSize = ENET_HOST_TO_NET_32(ENET_PROTOCOL_MAXIMUM_WINDOW_SIZE),
        .channelCount = ENET_HOST_TO_NET_32(CHANNEL_COUNT),
        .packetThrottleInterval = ENET_HOST_TO_NET_32(ENET_PEER_PACKET_THROTTLE_INTERVAL),
        .packetThrottleAcceleration = ENET_HOST_TO_NET_32(ENET_PEER_PACKET_THROTTLE_ACCELERATION),
        .packetThrottleDeceleration = ENET_HOST_TO_NET_32(ENET_PEER_PACKET_THROTTLE_DECELERATION),
        .connectID = CONNECT_ID};
    make_datagram(&made, ENET_PROTOCOL_MAXIMUM_PEER_ID, channel->host, &connect, sizeof connect);
    feed(channel, made.bytes, made.size, now_ns);
    ENetProtocolAcknowledge acknowledge = {
        .header = command_header(ENET_PROTOCOL_COMMAND_ACKNOWLEDGE, false),
        .receivedReliableSequenceNumber = ENET_HOST_TO_NET_16(FIRST_SEQUENCE),
        .receivedSentTime = ENET_HOST_TO_NET_16((enet_uint16)channel->host->serviceTime)};
    uint16_t peer =
        (uint16_t)(peer_of(channel)->incomingSessionID << ENET_PROTOCOL_HEADER_SESSION_SHIFT);
    make_datagram(&made, peer, channel->host, &acknowledge, sizeof acknowledge);
    feed(channel, made.bytes, made.size, now_ns);
}

static void play_server(ls_enet_channel *channel, uint64_t now_ns)
{
    made_datagram made;
    const ENetPeer *peer = enet_host_connect(channel->host, &nowhere, CHANNEL_COUNT, 0);
    if (!peer) {
        return;
    }
    ls_enet_channel_service(channel, now_ns);
    ENetProtocolVerifyConnect verify = {
        .header = command_header(ENET_PROTOCOL_COMMAND_VERIFY_CONNECT, true),
        .mtu = ENET_HOST_TO_NET_32(LS_ENET_DATAGRAM_BYTES_MAX),
        .windowSize = ENET_HOST_TO_NET_32(ENET_PROTOCOL_MAXIMUM_WINDOW_SIZE),
        .channelCount = ENET_HOST_TO_NET_32(CHANNEL_COUNT),
        .packetThrottleInterval = ENET_HOST_TO_NET_32(peer->packetThrottleInterval),
        .packetThrottleAcceleration = ENET_HOST_TO_NET_32(peer->packetThrottleAcceleration),
        .packetThrottleDeceleration = ENET_HOST_TO_NET_32(peer->packetThrottleDeceleration),
        .connectID = peer->connectID};
    make_datagram(&made, 0, channel->host, &verify, sizeof verify);
    feed(channel, made.bytes, made.size, now_ns);
}

static void configure(ls_enet_channel *channel)
{
    ENetPeer *peer = peer_of(channel);
    enet_peer_timeout(peer, TIMEOUT_LIMIT, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS);
    channel->host->recalculateBandwidthLimits = 0; /* there are none to tell */
    if (channel->config.rtt_ns != 0) {
        uint64_t rtt_ms = channel->config.rtt_ns / LS_NS_PER_MS;
        peer->roundTripTime =
            (enet_uint32)LS_MIN(LS_MAX(rtt_ms, RTT_MS_MIN), ENET_PEER_DEFAULT_ROUND_TRIP_TIME);
    } else {
        peer->roundTripTime = ENET_PEER_DEFAULT_ROUND_TRIP_TIME / 2;
    }
    peer->lastRoundTripTime = peer->roundTripTime;
    peer->lowestRoundTripTime = peer->roundTripTime;
    peer->roundTripTimeVariance = peer->roundTripTime / 4;
    peer->highestRoundTripTimeVariance = peer->roundTripTimeVariance;
}

static bool connect_at_once(ls_enet_channel *channel, uint64_t now_ns)
{
    ENetHost *host = channel->host;
    host->mtu = LS_ENET_DATAGRAM_BYTES_MAX;
    host->peers[0].mtu = LS_ENET_DATAGRAM_BYTES_MAX;
    host->peers[0].pingInterval = UINT32_MAX; /* the matches see to it that nobody is silent */
    host->maximumPacketSize = LS_PACKET_BYTES_MAX;
    host->maximumWaitingData = LS_WAITING_BYTES_MAX;
    host->compressor = (ENetCompressor){.context = channel, .compress = on_sending};
    host->intercept = on_receiving;
    channel->is_connecting = true;
    /* Once: ENet ignores the acknowledgement of what it sent in the future, as it would seem when
     * its clock were put back between the two because this process had to wait meanwhile. */
    steady_clock(now_ns);
    (channel->config.is_server ? play_client : play_server)(channel, now_ns);
    bool is_connected = channel->kept.type == ENET_EVENT_TYPE_CONNECT;
    channel->kept.type = ENET_EVENT_TYPE_NONE;
    if (is_connected) {
        ls_enet_channel_service(channel, now_ns); /* the acknowledgement of VERIFY_CONNECT */
        configure(channel);
    }
    channel->is_connecting = false;
    return is_connected;
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
    channel->host = enet_host_create(NULL, 1, CHANNEL_COUNT, 0, 0);
    if (channel->host) {
        enet_socket_destroy(channel->host->socket);
        channel->host->socket = wire->inside;
    }
    if (!channel->host || !connect_at_once(channel, now_ns)) {
        ls_enet_channel_destroy(channel);
        return LS_NO_MEMORY;
    }
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
    if (channel->kept.type == ENET_EVENT_TYPE_RECEIVE) {
        enet_packet_destroy(channel->kept.packet);
    }
    if (channel->host) {
        enet_peer_reset(peer_of(channel)); /* gives back the packets, which know the channel */
        channel->host->socket = ENET_SOCKET_NULL;
        enet_host_destroy(channel->host);
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
    steady_clock(now_ns);
    ENetEvent *event = channel->kept.type == ENET_EVENT_TYPE_NONE ? &channel->kept : NULL;
    (void)enet_host_service(channel->host, event, 0);
    bound_repeats(channel);
}

void ls_enet_channel_close(ls_enet_channel *channel)
{
    channel->is_closing = true;
    enet_peer_disconnect_later(peer_of(channel), GOODBYE);
}

void ls_enet_channel_abort(ls_enet_channel *channel, uint64_t now_ns)
{
    steady_clock(now_ns);
    enet_peer_disconnect_now(peer_of(channel), GOODBYE);
}

/* ---- Receiving ---- */

ls_datagram_rejection ls_enet_channel_take_in(ls_enet_channel *channel, const uint8_t *bytes,
                                              size_t size, uint64_t now_ns)
{
    ENetPeer *peer = peer_of(channel);
    if (peer->state == ENET_PEER_STATE_DISCONNECTED || channel->kept.type != ENET_EVENT_TYPE_NONE) {
        return LS_DATAGRAM_ACCEPTED; /* too late to matter */
    }
    uint16_t received =
        0; /* where ENet has let its channels go, and takes acknowledgements alone */
    if (peer->channelCount > 0) {
        received = peer->channels[DATA_CHANNEL].incomingReliableSequenceNumber;
    }
    ls_datagram_rejection rejection = ls_enet_datagram_check(bytes, size, received);
    if (rejection != LS_DATAGRAM_ACCEPTED) {
        return rejection;
    }
    memcpy(channel->in, bytes, size);
    channel->in[0] = (uint8_t)((channel->in[0] & ENET_PROTOCOL_HEADER_FLAG_SENT_TIME >> 8) |
                               peer->incomingSessionID << (ENET_PROTOCOL_HEADER_SESSION_SHIFT - 8));
    feed(channel, channel->in, size, now_ns);
    return LS_DATAGRAM_ACCEPTED;
}

static ls_enet_event tell(ls_enet_channel *channel, const ENetEvent *event)
{
    static const uint8_t nothing[1];
    switch (event->type) {
    case ENET_EVENT_TYPE_RECEIVE:
        channel->borrowed = event->packet;
        return (ls_enet_event){LS_ENET_RECEIVED,
                               event->packet->dataLength > 0 ? event->packet->data : nothing,
                               event->packet->dataLength};
    case ENET_EVENT_TYPE_DISCONNECT:
        return (ls_enet_event){
            event->data == GOODBYE || channel->is_closing ? LS_ENET_CLOSED : LS_ENET_LOST, NULL, 0};
    default:
        return (ls_enet_event){LS_ENET_NOTHING, NULL, 0};
    }
}

bool ls_enet_channel_has_event(const ls_enet_channel *channel)
{
    return channel->kept.type != ENET_EVENT_TYPE_NONE ||
           !enet_list_empty(&channel->host->dispatchQueue);
}

ls_enet_event ls_enet_channel_next_event(ls_enet_channel *channel)
{
    release_borrowed(channel);
    ENetEvent event = channel->kept;
    channel->kept.type = ENET_EVENT_TYPE_NONE;
    if (event.type == ENET_EVENT_TYPE_NONE &&
        (enet_list_empty(&channel->host->dispatchQueue) ||
         enet_host_check_events(channel->host, &event) <= 0)) {
        return (ls_enet_event){LS_ENET_NOTHING, NULL, 0};
    }
    return tell(channel, &event);
}
