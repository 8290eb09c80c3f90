#define _POSIX_C_SOURCE 200809L
#include "lockstep/protocol/transport_enet.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/endpoint.h"
#include "lockstep/protocol/peer_seats.h"

#include <enet/enet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
    IP_UDP_HEADER_BYTES = 20 + 8,
    DATA_CHANNEL = 0,
    CHANNEL_COUNT = 1,
    CLIENT_SEAT = 0,
    GOODBYE = 1, /* data of a disconnect that somebody asked for; ENet's own time-outs carry 0 */

    SOCKET_RECEIVE_BYTES = 4 << 20, /* ENet's 256 KiB hold 630 small packets */
    DATAGRAMS_PER_TURN_MAX = 512,
    FAILURES_PER_TURN_MAX = 64,
    LEAVE_WAIT_MS = 10,
    LOOP_PERIOD_MS = 8, /* repeats and time-outs; packets do not wait for it */

    /* ENet gives a peer up by unanswered pings, which are lost like everything else: wait long. */
    TIMEOUT_LIMIT = 1024,
    TIMEOUT_MIN_MS = 60000,
    TIMEOUT_MAX_MS = 120000,
    /* Pings measure the round trip for repeats only; at ENet's 500 ms they cost 148 B/s. */
    PING_INTERVAL_MS = 2000,
    /* Never slow down: the throttle drops unreliable packets in silence after a delay step. */
    THROTTLE_INTERVAL_MS = 5000,
    THROTTLE_ACCELERATION = 32,
    THROTTLE_DECELERATION = 0,

    BACKLOG_PACKET_BYTES = 128, /* what a queued packet takes besides its payload, about */
    CLOCK_DRIFT_MS_MAX = 2,
};

/* What shows in an ENet peer that a datagram went to it. */
typedef struct peer_view {
    uint32_t connect_id; /* 0: no connection */
    uint32_t commands_sent;
    uint32_t loss_epoch; /* commands_sent restarts when this moves */
    const void *first_acknowledgement;
    uint16_t reliable_received; /* the newest that ENet has taken in order */
} peer_view;

typedef struct transport_enet {
    ls_transport base;
    const ls_allocator *allocator;
    ls_clock clock;
    ENetHost *host;
    ls_peer_seats seats; /* of the same index as the host's peers */
    peer_view *views;    /* likewise */
    bool is_server;
    bool is_refused;      /* the client's last word from the other machine */
    ENetPacket *borrowed; /* of the last RECEIVED, or NULL */
    uint64_t turn_end;    /* value of total.packets_received at which the turn is over */

    ls_transport_traffic total;
    uint64_t rejections[LS_DATAGRAM_REJECTION_COUNT];
    ls_peer_seat *heard; /* whose datagram ENet took in last, or NULL */
    uint32_t next_receiver;

    ls_loop_handler on_ready;
    ls_loop_source *socket_source;
    ls_loop_source *timer_source;
} transport_enet;

static const ls_transport_operations operations;

static transport_enet *from_base(ls_transport *base)
{
    LS_ASSERT(base->operations == &operations);
    return (transport_enet *)base;
}

static const transport_enet *from_const_base(const ls_transport *base)
{
    LS_ASSERT(base->operations == &operations);
    return (const transport_enet *)base;
}

static uint64_t now_ns(const transport_enet *transport)
{
    return ls_clock_now_ns(&transport->clock);
}

static size_t index_of(const transport_enet *transport, const ls_peer_seat *seat)
{
    return (size_t)(seat - transport->seats.seats);
}

static ENetPeer *peer_of(const transport_enet *transport, const ls_peer_seat *seat)
{
    return &transport->host->peers[index_of(transport, seat)];
}

static peer_view *view_of(const transport_enet *transport, const ls_peer_seat *seat)
{
    return &transport->views[index_of(transport, seat)];
}

/* ENet lives by the wall clock. When that is set, every connection would time out or stand still:
 * keep it at the monotonic one, before each use. Reading both rounds to whole milliseconds twice;
 * nothing is corrected for that, since ENet ignores acknowledgements of what it sent in the future.
 */
static void steady_clock(const transport_enet *transport)
{
    enet_uint32 now_ms = (enet_uint32)(now_ns(transport) / LS_NS_PER_MS);
    enet_uint32 drift_ms = now_ms - enet_time_get();
    if (drift_ms + CLOCK_DRIFT_MS_MAX > 2 * CLOCK_DRIFT_MS_MAX) {
        enet_time_set(now_ms);
    }
}

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

/* ENet serves its peers in order, so the receiver of a datagram is the next one whose counters or
 * owed acknowledgements moved since we looked. Where nothing moved, ENet has just answered the
 * datagram that it took in last. */
static ls_peer_seat *find_receiver(transport_enet *transport)
{
    uint32_t count = transport->seats.count;
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

/* ---- Receiving: nothing reaches ENet that our own ENet would not send ---- */

static bool is_from(const ENetHost *host, const ENetPeer *peer, const ls_enet_header *header)
{
    return peer->state != ENET_PEER_STATE_DISCONNECTED && peer->state != ENET_PEER_STATE_ZOMBIE &&
           peer->address.host == host->receivedAddress.host &&
           peer->address.port == host->receivedAddress.port &&
           (peer->outgoingPeerID >= ENET_PROTOCOL_MAXIMUM_PEER_ID ||
            peer->incomingSessionID == header->session);
}

/* `sender` is set for a datagram that is accepted and belongs to a seat. */
static ls_datagram_rejection judge(transport_enet *transport, ls_peer_seat **sender)
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
            return LS_DATAGRAM_STRANGER;
        }
        return ls_enet_datagram_check(bytes, size, &header, 0);
    }
    if (header.seat >= host->peerCount || !is_from(host, &host->peers[header.seat], &header)) {
        return LS_DATAGRAM_STRANGER;
    }
    ls_peer_seat *seat = &transport->seats.seats[header.seat];
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
    }
    transport->heard = NULL;
    ls_datagram_rejection rejection = judge(transport, &transport->heard);
    if (rejection != LS_DATAGRAM_ACCEPTED) {
        transport->rejections[rejection]++;
        return DROP;
    }
    if (transport->heard) {
        transport->heard->traffic.bytes_received += bytes;
        transport->heard->traffic.packets_received++;
    }
    return LET_THROUGH;
}

/* ---- Seats ---- */

static void configure_peer(ENetPeer *peer)
{
    enet_peer_timeout(peer, TIMEOUT_LIMIT, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS);
    enet_peer_ping_interval(peer, PING_INTERVAL_MS);
}

/* Ends a connection from our side, at once; the owner hears of it by the next event. */
static void end_seat(transport_enet *transport, ls_peer_seat *seat, ls_status reason)
{
    ls_peer_seats_end(&transport->seats, seat, reason);
    steady_clock(transport);
    enet_peer_disconnect_now(peer_of(transport, seat), GOODBYE);
}

static void end_overdue_seats(transport_enet *transport)
{
    uint64_t now = now_ns(transport);
    ls_peer_seat *seat;
    while ((seat = ls_peer_seats_overdue(&transport->seats, now)) != NULL) {
        ls_status no_answer = transport->is_refused ? LS_REFUSED : LS_TIMED_OUT;
        end_seat(transport, seat, seat->state == LS_SEAT_CLOSING ? LS_DISCONNECTED : no_answer);
    }
}

/* ---- Events ---- */

static void release_last_event(transport_enet *transport)
{
    if (transport->borrowed) {
        enet_packet_destroy(transport->borrowed);
        transport->borrowed = NULL;
    }
    ls_peer_seats_retire_told(&transport->seats);
}

static bool take_connect(transport_enet *transport, ls_peer_seat *seat, ls_transport_event *event)
{
    ENetPeer *peer = peer_of(transport, seat);
    if (seat->state == LS_SEAT_CONNECTING) {
        ls_peer_seats_set_state(&transport->seats, seat, LS_SEAT_OPEN);
    } else if (!ls_peer_seats_take(&transport->seats, seat, LS_SEAT_OPEN)) {
        enet_peer_disconnect_now(peer, GOODBYE);
        return false;
    }
    configure_peer(peer);
    enet_peer_throttle_configure(peer, THROTTLE_INTERVAL_MS, THROTTLE_ACCELERATION,
                                 THROTTLE_DECELERATION);
    *event = (ls_transport_event){.kind = LS_TRANSPORT_CONNECTED, .peer = seat->id};
    return true;
}

static bool take_packet(transport_enet *transport, ls_peer_seat *seat, ENetPacket *packet,
                        ls_transport_event *event)
{
    if (seat->state != LS_SEAT_OPEN) {
        enet_packet_destroy(packet);
        return false;
    }
    static const uint8_t nothing[1];
    bool is_reliable = (packet->flags & ENET_PACKET_FLAG_RELIABLE) != 0;
    transport->borrowed = packet;
    *event = (ls_transport_event){
        .kind = LS_TRANSPORT_RECEIVED,
        .peer = seat->id,
        .lane = is_reliable ? LS_LANE_RELIABLE : LS_LANE_UNRELIABLE,
        .bytes = packet->dataLength > 0 ? packet->data : nothing,
        .size = packet->dataLength,
    };
    return true;
}

static bool take_disconnect(transport_enet *transport, ls_peer_seat *seat, enet_uint32 data,
                            ls_transport_event *event)
{
    if (seat->id == 0) {
        return false;
    }
    bool is_wanted = data == GOODBYE || seat->state == LS_SEAT_CLOSING;
    ls_status reason = seat->state == LS_SEAT_CONNECTING ? LS_REFUSED
                       : is_wanted                       ? LS_DISCONNECTED
                                                         : LS_TIMED_OUT;
    ls_peer_seats_tell(&transport->seats, seat, reason, event);
    return true;
}

/* false when ENet's event is none of the owner's. */
static bool take_enet_event(transport_enet *transport, const ENetEvent *from,
                            ls_transport_event *event)
{
    ls_peer_seat *seat = &transport->seats.seats[from->peer->incomingPeerID];
    switch (from->type) {
    case ENET_EVENT_TYPE_CONNECT:
        return take_connect(transport, seat, event);
    case ENET_EVENT_TYPE_RECEIVE:
        return take_packet(transport, seat, from->packet, event);
    case ENET_EVENT_TYPE_DISCONNECT:
        return take_disconnect(transport, seat, from->data, event);
    default:
        return false;
    }
}

/* After a call of ENet's failed. An error of ours or of one peer must not stop the others. */
static void note_failure(transport_enet *transport, int error)
{
    if (error == 0 || error == EAGAIN || error == EWOULDBLOCK) {
        /* ENet sets no error for a datagram longer than it can receive. */
        transport->rejections[LS_DATAGRAM_OVERSIZE]++;
    } else if (error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH) {
        transport->is_refused = true;
    }
}

static bool next_enet_event(transport_enet *transport, ENetEvent *event)
{
    for (int failures = 0; failures < FAILURES_PER_TURN_MAX; failures++) {
        bool is_turn_over = transport->total.packets_received >= transport->turn_end;
        steady_clock(transport);
        errno = 0;
        int result = is_turn_over ? enet_host_check_events(transport->host, event)
                                  : enet_host_service(transport->host, event, 0);
        if (result >= 0) {
            return result > 0;
        }
        note_failure(transport, errno);
    }
    return false;
}

static int next_event(ls_transport *base, ls_transport_event *event)
{
    transport_enet *transport = from_base(base);
    release_last_event(transport);
    if (ls_peer_seats_take_ended(&transport->seats, event)) {
        return 1;
    }
    ENetEvent from;
    while (next_enet_event(transport, &from)) {
        if (take_enet_event(transport, &from, event)) {
            return 1;
        }
    }
    return 0;
}

/* ---- Sending ---- */

static void ENET_CALLBACK on_delivered(ENetPacket *packet)
{
    ls_peer_seat *seat = packet->userData;
    seat->backlog_bytes -= (uint32_t)packet->dataLength + BACKLOG_PACKET_BYTES;
}

static void send_packet(ls_transport *base, ls_peer_id id, ls_lane lane, const uint8_t *bytes,
                        size_t size)
{
    transport_enet *transport = from_base(base);
    LS_ASSERT(size <= LS_PACKET_BYTES_MAX && (unsigned)lane < LS_LANE_COUNT);
    ls_peer_seat *seat = ls_peer_seats_find(&transport->seats, id);
    if (!seat || seat->state != LS_SEAT_OPEN) {
        return;
    }
    bool is_reliable = lane == LS_LANE_RELIABLE;
    ENetPacket *packet = enet_packet_create(
        bytes, size, is_reliable ? ENET_PACKET_FLAG_RELIABLE : ENET_PACKET_FLAG_UNSEQUENCED);
    if (packet && is_reliable) {
        packet->freeCallback = on_delivered;
        packet->userData = seat;
        seat->backlog_bytes += (uint32_t)size + BACKLOG_PACKET_BYTES;
    }
    if (packet && enet_peer_send(peer_of(transport, seat), DATA_CHANNEL, packet) != 0) {
        enet_packet_destroy(packet);
    }
    if (seat->backlog_bytes > LS_BACKLOG_BYTES_MAX) {
        end_seat(transport, seat, LS_TIMED_OUT);
    }
}

static void disconnect(ls_transport *base, ls_peer_id id)
{
    transport_enet *transport = from_base(base);
    ls_peer_seat *seat = ls_peer_seats_find(&transport->seats, id);
    if (!seat) {
        return;
    }
    if (seat->state == LS_SEAT_CONNECTING) {
        end_seat(transport, seat, LS_DISCONNECTED);
    } else if (seat->state == LS_SEAT_OPEN) {
        ls_peer_seats_set_state(&transport->seats, seat, LS_SEAT_CLOSING);
        seat->deadline_ns = now_ns(transport) + LS_TRANSPORT_ENET_CLOSE_MS * LS_NS_PER_MS;
        enet_peer_disconnect_later(peer_of(transport, seat), GOODBYE);
    }
}

/* ENet stops at the first peer that the socket cannot send to, without saying so. */
static void flush(ls_transport *base)
{
    transport_enet *transport = from_base(base);
    for (int failures = 0; failures < FAILURES_PER_TURN_MAX; failures++) {
        uint64_t tried = transport->total.packets_sent;
        enet_uint32 sent = transport->host->totalSentPackets;
        steady_clock(transport);
        errno = 0;
        enet_host_flush(transport->host);
        if (transport->total.packets_sent - tried == transport->host->totalSentPackets - sent) {
            break;
        }
        note_failure(transport, errno);
    }
}

static ls_transport_traffic traffic(const ls_transport *base, ls_peer_id id)
{
    const ls_peer_seat *seat = ls_peer_seats_find(&from_const_base(base)->seats, id);
    return seat ? seat->traffic : (ls_transport_traffic){0};
}

/* ---- Making and ending ---- */

static bool has_backlog(const transport_enet *transport)
{
    for (size_t i = 0; i < transport->host->peerCount; i++) {
        if (transport->seats.seats[i].backlog_bytes > 0) {
            return true;
        }
    }
    return false;
}

/* Lets what was sent reliably arrive, for a bounded time, and says goodbye to everybody. */
static void leave(transport_enet *transport)
{
    uint64_t deadline = now_ns(transport) + LS_TRANSPORT_ENET_DESTROY_MS * LS_NS_PER_MS;
    int failures = 0;
    flush(&transport->base);
    while (has_backlog(transport) && now_ns(transport) < deadline &&
           failures < FAILURES_PER_TURN_MAX) {
        ENetEvent event;
        enet_uint32 condition = ENET_SOCKET_WAIT_RECEIVE;
        /* Not within service, which would wait by the wall clock. */
        enet_socket_wait(transport->host->socket, &condition, LEAVE_WAIT_MS);
        steady_clock(transport);
        int result = enet_host_service(transport->host, &event, 0);
        failures += result < 0 ? 1 : 0;
        if (result > 0 && event.type == ENET_EVENT_TYPE_RECEIVE) {
            enet_packet_destroy(event.packet);
        }
    }
    flush(&transport->base);
    steady_clock(transport);
    for (size_t i = 0; i < transport->host->peerCount; i++) {
        enet_peer_disconnect_now(&transport->host->peers[i], GOODBYE);
    }
}

static void destroy(ls_transport *base)
{
    transport_enet *transport = from_base(base);
    ls_loop_source_remove(transport->socket_source);
    ls_loop_source_remove(transport->timer_source);
    if (transport->borrowed) {
        enet_packet_destroy(transport->borrowed);
    }
    if (transport->host) {
        leave(transport);
        enet_host_destroy(transport->host);
    }
    ls_peer_seats_deinit(&transport->seats, transport->allocator);
    ls_release(transport->allocator, transport->views);
    ls_release(transport->allocator, transport);
}

static const ls_transport_operations operations = {
    .next_event = next_event,
    .send = send_packet,
    .disconnect = disconnect,
    .flush = flush,
    .traffic = traffic,
    .destroy = destroy,
};

static void configure_host(transport_enet *transport)
{
    ENetHost *host = transport->host;
    enet_socket_set_option(host->socket, ENET_SOCKOPT_RCVBUF, SOCKET_RECEIVE_BYTES);
    host->mtu = LS_ENET_MTU_BYTES;
    for (size_t i = 0; i < host->peerCount; i++) {
        host->peers[i].mtu = LS_ENET_MTU_BYTES;
    }
    host->maximumPacketSize = LS_PACKET_BYTES_MAX;
    host->maximumWaitingData = LS_WAITING_BYTES_MAX;
    host->intercept = filter_received;
    host->compressor = (ENetCompressor){.context = transport, .compress = count_sent};
}

/* A transport whose host has `peers_max` peers, bound to `address` unless that is NULL. When there
 * is no socket to be had, IO, and errno says why. */
static ls_status make(const ls_allocator *allocator, const ENetAddress *address, uint32_t peers_max,
                      transport_enet **transport)
{
    transport_enet *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->base.operations = &operations;
    made->allocator = allocator;
    made->clock = ls_clock_system();
    made->is_server = address != NULL;
    made->views = ls_allocate_array(allocator, peers_max, sizeof *made->views);
    ls_status status = ls_peer_seats_init(&made->seats, peers_max, allocator);
    errno = 0;
    if (made->views && status == LS_OK && enet_initialize() == 0) {
        made->host = enet_host_create(address, peers_max, CHANNEL_COUNT, 0, 0);
    }
    if (!made->host) {
        int error = errno;
        destroy(&made->base);
        errno = error;
        return error ? LS_IO : LS_NO_MEMORY;
    }
    configure_host(made);
    steady_clock(made);
    *transport = made;
    return LS_OK;
}

ls_transport_enet_server_config ls_transport_enet_server_config_default(void)
{
    return (ls_transport_enet_server_config){
        .bind_host = "0.0.0.0", .peers_max = 64, .peers_per_address_max = 64};
}

ls_status ls_transport_enet_listen(const ls_transport_enet_server_config *config,
                                   const ls_allocator *allocator, ls_transport **transport,
                                   ls_text *error)
{
    if (config->peers_max == 0 || config->peers_max > LS_TRANSPORT_ENET_PEERS_MAX ||
        config->peers_per_address_max == 0) {
        ls_text_set(error, "a server takes 1 to %u peers, and 1 or more from one address",
                    LS_TRANSPORT_ENET_PEERS_MAX);
        return LS_BAD_ARGUMENT;
    }
    ls_endpoint endpoint;
    ls_status status = ls_endpoint_resolve(config->bind_host, config->port, &endpoint, error);
    if (status != LS_OK) {
        return status;
    }
    ENetAddress address = {.host = endpoint.address, .port = endpoint.port};
    transport_enet *made = NULL;
    status = make(allocator, &address, config->peers_max, &made);
    if (status != LS_OK) {
        int reason = errno;
        ls_text_set(
            error, "cannot listen on %s, UDP port %u: %s%s", config->bind_host,
            (unsigned)config->port, status == LS_IO ? strerror(reason) : ls_status_text(status),
            status == LS_IO && reason == EACCES ? " (ports below 1024 are privileged)" : "");
        return status;
    }
    made->host->duplicatePeers = config->peers_per_address_max;
    *transport = &made->base;
    return LS_OK;
}

ls_transport_enet_client_config ls_transport_enet_client_config_default(void)
{
    return (ls_transport_enet_client_config){.connect_timeout_ns = 5 * LS_NS_PER_SECOND};
}

static bool start_connecting(transport_enet *transport, const ENetAddress *address,
                             uint64_t timeout_ns)
{
    /* A connected socket hears of refusals and of nobody but the server. */
    if (enet_socket_connect(transport->host->socket, address) != 0) {
        return false;
    }
    ENetPeer *peer = enet_host_connect(transport->host, address, CHANNEL_COUNT, 0);
    if (!peer) {
        return false;
    }
    configure_peer(peer);
    ls_peer_seat *seat = &transport->seats.seats[CLIENT_SEAT];
    ls_peer_seats_take(&transport->seats, seat, LS_SEAT_CONNECTING);
    seat->deadline_ns = now_ns(transport) + timeout_ns;
    view_of(transport, seat)->connect_id = peer->connectID;
    flush(&transport->base);
    return true;
}

ls_status ls_transport_enet_connect(const ls_transport_enet_client_config *config,
                                    const ls_allocator *allocator, ls_transport **transport,
                                    ls_text *error)
{
    LS_ASSERT(config->server && config->connect_timeout_ns > 0);
    ls_endpoint endpoint;
    ls_status status = ls_endpoint_parse(config->server, &endpoint, error);
    if (status != LS_OK) {
        return status;
    }
    ENetAddress address = {.host = endpoint.address, .port = endpoint.port};
    transport_enet *made = NULL;
    status = make(allocator, NULL, 1, &made);
    if (status == LS_OK && !start_connecting(made, &address, config->connect_timeout_ns)) {
        int reason = errno;
        destroy(&made->base);
        errno = reason;
        status = LS_IO;
    }
    if (status != LS_OK) {
        ls_text_set(error, "cannot reach %s: %s", config->server,
                    status == LS_IO ? strerror(errno) : ls_status_text(status));
        return status;
    }
    *transport = &made->base;
    return LS_OK;
}

/* ---- Being driven ---- */

void ls_transport_enet_service(ls_transport *base)
{
    transport_enet *transport = from_base(base);
    transport->turn_end = transport->total.packets_received + DATAGRAMS_PER_TURN_MAX;
    end_overdue_seats(transport);
}

static void on_loop(void *user, uint64_t now)
{
    transport_enet *transport = user;
    ls_transport_enet_service(&transport->base);
    transport->on_ready.call(transport->on_ready.user, now);
}

ls_status ls_transport_enet_attach(ls_transport *base, ls_event_loop *loop,
                                   ls_loop_handler on_ready)
{
    transport_enet *transport = from_base(base);
    LS_ASSERT(!transport->socket_source && on_ready.call);
    ls_loop_handler handler = {on_loop, transport};
    transport->on_ready = on_ready;
    ls_status status =
        ls_event_loop_watch(loop, transport->host->socket, handler, &transport->socket_source);
    if (status != LS_OK) {
        return status;
    }
    return ls_event_loop_add_timer(loop, LOOP_PERIOD_MS, handler, &transport->timer_source);
}

uint16_t ls_transport_enet_port(const ls_transport *base)
{
    return from_const_base(base)->host->address.port;
}

ls_transport_traffic ls_transport_enet_total(const ls_transport *base)
{
    return from_const_base(base)->total;
}

uint64_t ls_transport_enet_rejections(const ls_transport *base, ls_datagram_rejection rejection)
{
    LS_ASSERT(rejection >= 0 && rejection < LS_DATAGRAM_REJECTION_COUNT);
    return from_const_base(base)->rejections[rejection];
}
