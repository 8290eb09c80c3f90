#define _POSIX_C_SOURCE 200809L
#include "lockstep/protocol/enet/transport_enet_state.h"

#include <string.h>

/* ---- Counting: ENet announces each datagram, but not whose it is ---- */

static void note_connection(transport_enet *transport, ls_peer_seat *seat)
{
    const ENetPeer *peer = peer_of(transport, seat);
    peer_view *view = view_of(transport, seat);
    if (peer->connectID == 0 || peer->connectID == view->connect_id) {
        return;
    }
    *view = (peer_view){.connect_id = peer->connectID};
    /* Its request came before it had a seat. */
    seat->traffic = (ls_transport_traffic){
        .bytes_received = IP_UDP_HEADER_BYTES + LS_ENET_CONNECT_BYTES, .packets_received = 1};
}

static const void *first_acknowledgement(ENetPeer *peer)
{
    return enet_list_empty(&peer->acknowledgements) ? NULL
                                                    : enet_list_begin(&peer->acknowledgements);
}

static void look_at(transport_enet *transport, ls_peer_seat *seat)
{
    ENetPeer *peer = peer_of(transport, seat);
    peer_view *view = view_of(transport, seat);
    note_connection(transport, seat);
    view->commands_sent = peer->packetsSent;
    view->loss_epoch = peer->packetLossEpoch;
    view->first_acknowledgement = first_acknowledgement(peer);
    if (peer->channelCount > 0) {
        view->reliable_received = peer->channels[DATA_CHANNEL].incomingReliableSequenceNumber;
    }
}

static bool has_sent(transport_enet *transport, ls_peer_seat *seat)
{
    ENetPeer *peer = peer_of(transport, seat);
    if (peer->state == ENET_PEER_STATE_DISCONNECTED) {
        return false;
    }
    note_connection(transport, seat);
    const peer_view *view = view_of(transport, seat);
    bool has_answered =
        view->first_acknowledgement && view->first_acknowledgement != first_acknowledgement(peer);
    return has_answered || view->commands_sent != peer->packetsSent ||
           view->loss_epoch != peer->packetLossEpoch;
}

/* The first seat from `index` on, or then from the beginning, that something was sent to. */
static uint32_t next_queued(const transport_enet *transport, uint32_t index)
{
    uint32_t words = ls_enet_queued_words(transport->seats.count);
    uint64_t mask = UINT64_MAX << index % 64;
    for (uint32_t step = 0; step <= words; step++) {
        uint32_t word = (index / 64 + step) % words;
        uint64_t bits = transport->queued[word] & mask;
        if (bits != 0) {
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
        }
        mask = UINT64_MAX;
    }
    return UINT32_MAX;
}

/* ENet serves its peers in order, so the receiver of a datagram is the next one whose counters or
 * owed acknowledgements moved since we looked: as a rule one that the owner has just
 * sent something to; pings and acknowledgements go to others. Where nothing moved, ENet has just
 * answered the datagram that it took in last. */
static ls_peer_seat *find_receiver(transport_enet *transport)
{
    uint32_t count = transport->seats.count;
    uint32_t likely = next_queued(transport, transport->next_receiver);
    if (likely < count && has_sent(transport, &transport->seats.seats[likely])) {
        transport->next_receiver = likely + 1;
        return &transport->seats.seats[likely];
    }
    for (uint32_t step = 0; step < count; step++) {
        uint32_t index = (transport->next_receiver + step) % count;
        if (has_sent(transport, &transport->seats.seats[index])) {
            transport->next_receiver = index + 1;
            return &transport->seats.seats[index];
        }
    }
    return transport->heard;
}

/* ENet's compressor, asked about each datagram before it leaves: counts it and never compresses. */
static size_t count_sent(void *context, const ENetBuffer *buffers, size_t buffer_count,
                         size_t commands_bytes, enet_uint8 *compressed, size_t capacity)
{
    (void)buffers;
    (void)buffer_count;
    (void)compressed;
    (void)capacity;
    transport_enet *transport = context;
    bool has_time = (transport->host->headerFlags & ENET_PROTOCOL_HEADER_FLAG_SENT_TIME) != 0;
    size_t header_bytes = has_time ? sizeof(ENetProtocolHeader) : sizeof(enet_uint16);
    size_t bytes = IP_UDP_HEADER_BYTES + header_bytes + commands_bytes;
    transport->total.bytes_sent += bytes;
    transport->total.packets_sent++;
    ls_peer_seat *receiver = find_receiver(transport);
    if (receiver) {
        look_at(transport, receiver);
        receiver->traffic.bytes_sent += bytes;
        receiver->traffic.packets_sent++;
    }
    return 0;
}

/* ---- When packets arrived: ENet keeps a packet, but not since when ---- */

/* In a packet's user data: the lower bits of microseconds plus one, and never 0. */
static uint32_t stamp_of(uint64_t arrived_ns)
{
    uint32_t microseconds = (uint32_t)(arrived_ns / LS_NS_PER_US);
    return microseconds == UINT32_MAX ? microseconds : microseconds + 1;
}

/* Notes in the packets that ENet made of the last datagram when that arrived. */
static void stamp_packets(transport_enet *transport)
{
    ENetPeer *peer = peer_of(transport, transport->heard);
    ENetListIterator end = enet_list_end(&peer->dispatchedCommands);
    ENetListIterator last = enet_list_previous(end);
    uintptr_t stamp = stamp_of(transport->heard_ns);
    for (; last != end; last = enet_list_previous(last)) {
        ENetPacket *packet = ((ENetIncomingCommand *)last)->packet;
        if (!packet || packet->userData) {
            return;
        }
        packet->userData = (void *)stamp;
    }
}

uint64_t ls_enet_watch_arrival(const transport_enet *transport, const ENetPacket *packet)
{
    if (!packet->userData) {
        return transport->heard_ns; /* the last datagram's: nothing came after it */
    }
    uint32_t microseconds = (uint32_t)(uintptr_t)packet->userData - 1;
    uint64_t later_us = transport->heard_ns / LS_NS_PER_US + UINT32_MAX / 2;
    return (later_us - (uint32_t)((uint32_t)later_us - microseconds)) * LS_NS_PER_US;
}

/* ---- Receiving: nothing reaches ENet that our own ENet would not send ---- */

static bool is_from(const ENetHost *host, const ENetPeer *peer, const ls_enet_header *header)
{
    return peer->state != ENET_PEER_STATE_DISCONNECTED && peer->state != ENET_PEER_STATE_ZOMBIE &&
           peer->address.host == host->receivedAddress.host &&
           peer->address.port == host->receivedAddress.port &&
           (peer->outgoingPeerID >= ENET_PROTOCOL_MAXIMUM_PEER_ID ||
            peer->incomingSessionID == header->session);
}

/* `sender` is set for a datagram that is accepted and belongs to a seat; `is_kept` when ENet has
 * nothing more to do with it. */
static ls_datagram_rejection judge(transport_enet *transport, ls_peer_seat **sender, bool *is_kept)
{
    ENetHost *host = transport->host;
    const uint8_t *bytes = host->receivedData;
    size_t size = host->receivedDataLength;
    ls_enet_header header;
    ls_datagram_rejection rejection = ls_enet_datagram_read(bytes, size, &header);
    if (rejection != LS_DATAGRAM_ACCEPTED) {
        return rejection;
    }
    if (header.is_connect) {
        /* Port 0 cannot be answered, and failing to would hold up the peers behind it. */
        if (!transport->is_server || host->receivedAddress.port == 0) {
            return LS_DATAGRAM_UNKNOWN_PEER;
        }
        return ls_enet_datagram_check(bytes, size, &header, 0);
    }
    if (header.seat >= host->peerCount || !is_from(host, &host->peers[header.seat], &header)) {
        return LS_DATAGRAM_UNKNOWN_PEER;
    }
    ls_peer_seat *seat = &transport->seats.seats[header.seat];
    ls_enet_plain plain;
    if (ls_enet_datagram_is_plain(bytes, size, &header, &plain) &&
        ls_enet_direct_keep(transport, seat, &plain)) {
        *sender = seat;
        *is_kept = true;
        return LS_DATAGRAM_ACCEPTED;
    }
    look_at(transport, seat);
    uint16_t reliable_received = view_of(transport, seat)->reliable_received;
    rejection = ls_enet_datagram_check(bytes, size, &header, reliable_received);
    if (rejection == LS_DATAGRAM_ACCEPTED) {
        *sender = seat;
    }
    return rejection;
}

static int filter_received(ENetHost *host, ENetEvent *event)
{
    (void)event;
    enum {
        LET_THROUGH,
        DROP
    };
    transport_enet *transport = host->compressor.context;
    uint64_t bytes = IP_UDP_HEADER_BYTES + host->receivedDataLength;
    transport->total.bytes_received += bytes;
    transport->total.packets_received++;
    if (transport->heard) {
        look_at(transport, transport->heard);
        stamp_packets(transport);
    }
    transport->heard = NULL;
    /* In whole microseconds, as packets that pass through ENet have it: otherwise the times of two
     * packets could be in another order than the packets. */
    uint64_t arrived_ns = ls_arrival_clock_read(&transport->arrivals);
    transport->heard_ns = arrived_ns - arrived_ns % LS_NS_PER_US;
    ls_peer_seat *sender = NULL;
    bool is_kept = false;
    ls_datagram_rejection rejection = judge(transport, &sender, &is_kept);
    if (rejection != LS_DATAGRAM_ACCEPTED) {
        transport->rejections[rejection]++;
        return DROP;
    }
    if (sender) {
        sender->traffic.bytes_received += bytes;
        sender->traffic.packets_received++;
    }
    transport->heard = is_kept ? NULL : sender;
    return is_kept ? DROP : LET_THROUGH;
}

/* ---- Making and ending ---- */

ls_status ls_enet_watch_init(transport_enet *transport)
{
    uint32_t seats = transport->seats.count;
    const ls_allocator *allocator = transport->allocator;
    transport->views = ls_allocate_array(allocator, seats, sizeof *transport->views);
    transport->queued =
        ls_allocate_array(allocator, ls_enet_queued_words(seats), sizeof *transport->queued);
    return transport->views && transport->queued ? LS_OK : LS_NO_MEMORY;
}

void ls_enet_watch_attach(transport_enet *transport)
{
    ENetHost *host = transport->host;
    host->intercept = filter_received;
    host->compressor = (ENetCompressor){.context = transport, .compress = count_sent};
    if (transport->is_server) {
        ls_arrival_clock_init(&transport->arrivals, host->socket);
    }
}

void ls_enet_watch_deinit(transport_enet *transport)
{
    ls_release(transport->allocator, transport->queued);
    ls_release(transport->allocator, transport->views);
}
