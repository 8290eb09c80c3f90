#define _POSIX_C_SOURCE 200809L
#include "lockstep/protocol/enet/transport_enet.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/enet/transport_enet_state.h"
#include "lockstep/protocol/transport/endpoint.h"

#include <errno.h>
#include <string.h>

enum {
    CHANNEL_COUNT = 1,
    GOODBYE = 1, /* data of a disconnect that somebody asked for; ENet's own time-outs carry 0 */

    SOCKET_RECEIVE_BYTES = 4 << 20, /* ENet's 256 KiB hold 630 small packets */
    DATAGRAMS_PER_TURN_MAX = 512,
    ENET_DATAGRAMS_PER_SERVICE = 256, /* what enet_host_service takes in at a time */
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

/* ENet lives by the wall clock. When that is set, every connection would time out or stand still:
 * keep it at the monotonic one, before each use. Reading both rounds to whole milliseconds twice;
 * nothing is corrected for that, since ENet ignores acknowledgements of what it sent in the future.
 */
static void steady_clock_at(uint64_t now)
{
    enet_uint32 now_ms = (enet_uint32)(now / LS_NS_PER_MS);
    enet_uint32 drift_ms = now_ms - enet_time_get();
    if (drift_ms + CLOCK_DRIFT_MS_MAX > 2 * CLOCK_DRIFT_MS_MAX) {
        enet_time_set(now_ms);
    }
}

static void steady_clock(const transport_enet *transport)
{
    steady_clock_at(now_ns(transport));
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
    ls_enet_direct_flush(transport); /* what was sent to it comes before the goodbye */
    steady_clock(transport);
    enet_peer_disconnect_now(peer_of(transport, seat), GOODBYE);
}

static void end_overdue_seats(transport_enet *transport)
{
    if (transport->seats.deadline_count == 0) {
        return;
    }
    uint64_t now = now_ns(transport);
    ls_peer_seat *seat;
    while ((seat = ls_peer_seats_overdue(&transport->seats, now)) != NULL) {
        ls_status no_answer = transport->is_refused ? LS_REFUSED : LS_TIMED_OUT;
        end_seat(transport, seat, seat->state == LS_SEAT_CLOSING ? LS_DISCONNECTED : no_answer);
    }
}

/* ---- Events ---- */

static void release_borrowed(transport_enet *transport)
{
    if (transport->borrowed) {
        enet_packet_destroy(transport->borrowed);
        transport->borrowed = NULL;
    }
}

static bool take_deferred(transport_enet *transport, ENetEvent *event)
{
    if (transport->deferred.type == ENET_EVENT_TYPE_NONE) {
        return false;
    }
    *event = transport->deferred;
    transport->deferred.type = ENET_EVENT_TYPE_NONE;
    return true;
}

static void drop_deferred(transport_enet *transport)
{
    ENetEvent nobody_is_told;
    if (take_deferred(transport, &nobody_is_told)) {
        enet_packet_destroy(nobody_is_told.packet);
    }
}

static void release_last_event(transport_enet *transport)
{
    release_borrowed(transport);
    ls_peer_seats_retire_told(&transport->seats);
}

/* ENet's acknowledgements say which sending they answer. Until one has come it has its default. */
static uint64_t rtt_ns_of(const ENetPeer *peer)
{
    bool is_known = peer->roundTripTime != ENET_PEER_DEFAULT_ROUND_TRIP_TIME ||
                    peer->roundTripTimeVariance != 0;
    return is_known ? LS_MAX(peer->roundTripTime, 1) * LS_NS_PER_MS : 0;
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
    transport->is_flush_needed = true;
    *event = (ls_transport_event){
        .kind = LS_TRANSPORT_CONNECTED, .peer = seat->id, .rtt_ns = rtt_ns_of(peer)};
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
        .channel = is_reliable ? LS_CHANNEL_RELIABLE : LS_CHANNEL_UNRELIABLE,
        .bytes = packet->dataLength > 0 ? packet->data : nothing,
        .size = packet->dataLength,
        .arrived_ns = ls_enet_watch_arrival(transport, packet),
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

/* A datagram without a byte ends ENet's taking in as if the socket were empty. Counted here: ENet
 * shows it to nobody. */
static void note_empty_datagram(transport_enet *transport)
{
    transport->total.bytes_received += IP_UDP_HEADER_BYTES;
    transport->total.packets_received++;
    transport->rejections[LS_DATAGRAM_MALFORMED]++;
}

/* ENet's whole work: looks at every peer and takes in what has come. It gives its owner a packet
 * only when it has come to the end of that, short of its limit where the socket is empty:
 * to look again would cost as much and bring nothing. */
static int service(transport_enet *transport, ENetEvent *event)
{
    uint64_t before = transport->total.packets_received;
    uint64_t now = now_ns(transport);
    ls_arrival_clock_begin_turn(&transport->arrivals, now);
    steady_clock_at(now);
    errno = 0;
    int result = enet_host_service(transport->host, event, 0);
    bool is_done = result == 0 || (result > 0 && event->type == ENET_EVENT_TYPE_RECEIVE);
    bool has_ended_early =
        is_done && transport->total.packets_received - before < ENET_DATAGRAMS_PER_SERVICE;
    transport->is_drained = has_ended_early && ls_enet_is_would_block(errno);
    if (has_ended_early && !transport->is_drained) {
        note_empty_datagram(transport);
    }
    /* Otherwise ENet has ended by sending what it had to say. */
    transport->is_flush_needed = transport->is_flush_needed || !is_done;
    if (result < 0) {
        ls_enet_note_failure(transport, errno);
    }
    return result;
}

/* Services only when nothing is kept. A packet that ENet gives then came after those that have been
 * kept meanwhile of the same peer: they go first. */
static bool next_enet_event(transport_enet *transport, ENetEvent *event)
{
    if (take_deferred(transport, event)) {
        return true;
    }
    for (int failures = 0; failures < FAILURES_PER_TURN_MAX;) {
        int result = 0;
        if (!enet_list_empty(&transport->host->dispatchQueue)) {
            result = enet_host_check_events(transport->host, event);
        } else if (transport->is_drained || ls_enet_direct_has_kept(transport) ||
                   transport->total.packets_received >= transport->turn_end) {
            return false;
        } else {
            result = service(transport, event);
        }
        if (result > 0 && event->type == ENET_EVENT_TYPE_RECEIVE &&
            ls_enet_direct_has_kept(transport)) {
            transport->deferred = *event;
            return false;
        }
        if (result > 0) {
            return true;
        }
        failures += result < 0 ? 1 : 0;
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
    do {
        if (ls_enet_direct_take(transport, event)) {
            return 1;
        }
        while (next_enet_event(transport, &from)) {
            if (take_enet_event(transport, &from, event)) {
                return 1;
            }
        }
    } while (ls_enet_direct_has_kept(transport));
    transport->has_more = !transport->is_drained;
    transport->is_drained = false; /* by the next turn more may have come */
    return 0;
}

/* ---- Sending ---- */

static void ENET_CALLBACK on_delivered(ENetPacket *packet)
{
    ls_peer_seat *seat = packet->userData;
    seat->backlog_bytes -= (uint32_t)packet->dataLength + BACKLOG_PACKET_BYTES;
}

static void send_packet(ls_transport *base, ls_peer_id id, ls_channel channel, const uint8_t *bytes,
                        size_t size)
{
    transport_enet *transport = from_base(base);
    LS_ASSERT(size <= LS_PACKET_BYTES_MAX && (unsigned)channel < LS_CHANNEL_COUNT);
    ls_peer_seat *seat = ls_peer_seats_find(&transport->seats, id);
    if (!seat || seat->state != LS_SEAT_OPEN) {
        return;
    }
    bool is_reliable = channel == LS_CHANNEL_RELIABLE;
    if (!is_reliable && ls_enet_direct_send(transport, seat, bytes, size)) {
        return;
    }
    ENetPacket *packet = enet_packet_create(
        bytes, size, is_reliable ? ENET_PACKET_FLAG_RELIABLE : ENET_PACKET_FLAG_UNSEQUENCED);
    if (packet && is_reliable) {
        packet->freeCallback = on_delivered;
        packet->userData = seat;
        seat->backlog_bytes += (uint32_t)size + BACKLOG_PACKET_BYTES;
    }
    ls_enet_note_queued(transport, seat);
    transport->is_flush_needed = true;
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
        transport->is_flush_needed = true;
    }
}

/* ENet stops at the first peer that the socket cannot send to, without saying so. */
static void flush_enet(transport_enet *transport)
{
    for (int failures = 0; failures < FAILURES_PER_TURN_MAX; failures++) {
        uint64_t tried = transport->total.packets_sent;
        enet_uint32 sent = transport->host->totalSentPackets;
        steady_clock(transport);
        errno = 0;
        enet_host_flush(transport->host);
        if (transport->total.packets_sent - tried == transport->host->totalSentPackets - sent) {
            break;
        }
        ls_enet_note_failure(transport, errno);
    }
    ls_enet_forget_queued(transport);
    transport->is_flush_needed = false;
}

/* ENet looks at every peer to flush: not when it can have nothing. */
static void flush(ls_transport *base)
{
    transport_enet *transport = from_base(base);
    ls_enet_direct_flush(transport);
    if (transport->is_flush_needed) {
        flush_enet(transport);
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
    release_borrowed(transport);
    drop_deferred(transport);
    if (transport->host) {
        leave(transport);
        enet_host_destroy(transport->host);
    }
    ls_peer_seats_deinit(&transport->seats, transport->allocator);
    ls_enet_watch_deinit(transport);
    ls_enet_direct_deinit(transport);
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
    ls_enet_watch_attach(transport);
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
    ls_status status = ls_peer_seats_init(&made->seats, peers_max, allocator);
    if (status == LS_OK) {
        status = ls_enet_watch_init(made);
    }
    if (status == LS_OK) {
        status = ls_enet_direct_init(made);
    }
    errno = 0;
    if (status == LS_OK && enet_initialize() == 0) {
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
        return ls_fail(LS_BAD_ARGUMENT, error,
                       "a server takes 1 to %u peers, and 1 or more from one address",
                       LS_TRANSPORT_ENET_PEERS_MAX);
    }
    ls_endpoint endpoint;
    ls_status status = ls_endpoint_resolve(config->bind_host, config->port, &endpoint, error);
    if (status != LS_OK) {
        return status;
    }
    ENetAddress address = {.host = ls_endpoint_ipv4(&endpoint), .port = endpoint.port};
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

static bool start_connecting(transport_enet *transport, uint64_t timeout_ns)
{
    const ENetAddress *address = &transport->server;
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
    if (!ls_peer_seats_take(&transport->seats, seat, LS_SEAT_CONNECTING)) {
        enet_peer_reset(peer);
        return false;
    }
    seat->deadline_ns = now_ns(transport) + timeout_ns;
    view_of(transport, seat)->connect_id = peer->connectID;
    transport->is_flush_needed = true;
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
    transport_enet *made = NULL;
    status = make(allocator, NULL, 1, &made);
    if (status == LS_OK) {
        made->server = (ENetAddress){.host = ls_endpoint_ipv4(&endpoint), .port = endpoint.port};
    }
    if (status == LS_OK && !start_connecting(made, config->connect_timeout_ns)) {
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

ls_status ls_transport_enet_reconnect(ls_transport *base, uint64_t connect_timeout_ns)
{
    transport_enet *transport = from_base(base);
    ls_peer_seat *seat = &transport->seats.seats[CLIENT_SEAT];
    ls_transport_event nobody_is_told;
    LS_ASSERT(!transport->is_server && connect_timeout_ns > 0);
    release_last_event(transport);
    if (seat->id != 0) {
        steady_clock(transport);
        enet_peer_disconnect_now(peer_of(transport, seat), GOODBYE);
        ls_peer_seats_tell(&transport->seats, seat, LS_DISCONNECTED, &nobody_is_told);
        ls_peer_seats_retire_told(&transport->seats);
    }
    transport->is_refused = false;
    return start_connecting(transport, connect_timeout_ns) ? LS_OK : LS_IO;
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

void ls_transport_enet_set_eager(ls_transport *base, bool is_eager)
{
    transport_enet *transport = from_base(base);
    ls_loop_source_set_active(transport->socket_source, is_eager);
    ls_loop_source_set_active(transport->timer_source, is_eager);
}

bool ls_transport_enet_has_more(const ls_transport *base)
{
    return from_const_base(base)->has_more;
}

_Static_assert(LS_TRANSPORT_ENET_ADDRESS_BYTES == LS_ENDPOINT_NUMERIC_BYTES, "room for each");

ls_status ls_transport_enet_address(const ls_transport *base, ls_peer_id id,
                                    char text[LS_TRANSPORT_ENET_ADDRESS_BYTES])
{
    const transport_enet *transport = from_const_base(base);
    for (uint32_t i = 0; i < transport->seats.count; i++) {
        const ls_peer_seat *seat = &transport->seats.seats[i];
        if (seat->id == id && seat->state == LS_SEAT_OPEN) {
            const ENetAddress *address = &transport->host->peers[i].address;
            ls_endpoint endpoint = ls_endpoint_from_ipv4(address->host, address->port);
            ls_endpoint_format(&endpoint, text);
            return LS_OK;
        }
    }
    return LS_NOT_FOUND;
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
