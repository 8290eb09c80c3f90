#define _POSIX_C_SOURCE 200809L
#include "lockstep/protocol/udp/transport_udp.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/protocol/udp/transport_udp_state.h"

#include <errno.h>
#include <string.h>

enum {
    DATAGRAMS_PER_TURN_MAX = 512, /* or, if that is more, so many of each peer */
    DATAGRAMS_OF_PEER_MAX = 16,
    LEAVE_WAIT_MS = 10,
    LOOP_PERIOD_MS = 8, /* repeats and time-outs; packets do not wait for it */
    SILENCE_MS = 100,   /* after which a client asks the system for another way */
};

static const ls_transport_operations operations;

static transport_udp *from_base(ls_transport *base)
{
    LS_ASSERT(base->operations == &operations);
    return (transport_udp *)base;
}

static const transport_udp *from_const_base(const ls_transport *base)
{
    LS_ASSERT(base->operations == &operations);
    return (const transport_udp *)base;
}

/* ---- Connections ---- */

LS_TICK_CODE static void release_last_event(transport_udp *transport)
{
    if (!transport->seats.told) {
        return;
    }
    udp_connection *gone = connection_of(transport, transport->seats.told);
    ls_udp_connection_drop(gone);
    if (transport->server) {
        ls_sealed_server_close(transport->server, gone->index);
    }
    ls_peer_seats_retire_reported(&transport->seats);
}

/* Ends a connection from our side, at once; the owner hears of it by the next event. */
static void end_seat(transport_udp *transport, ls_peer_seat *seat, ls_status reason)
{
    udp_connection *ending = connection_of(transport, seat);
    ls_peer_seats_end(&transport->seats, seat, reason);
    if (ending->channel) {
        ls_enet_channel_abort(ending->channel, now_ns(transport));
        ls_udp_out_flush(transport);
    }
}

static void end_overdue_seats(transport_udp *transport, uint64_t now)
{
    ls_peer_seat *seat;
    while (transport->seats.deadline_count > 0 &&
           (seat = ls_peer_seats_overdue(&transport->seats, now)) != NULL) {
        ls_status no_answer = transport->is_unreachable ? LS_UNREACHABLE : LS_TIMED_OUT;
        end_seat(transport, seat,
                 seat->state == LS_PEER_SEAT_CLOSING ? LS_DISCONNECTED : no_answer);
    }
}

/* ---- The operations of a transport ---- */

LS_TICK_CODE static int next_event(ls_transport *base, ls_transport_event *event)
{
    transport_udp *transport = from_base(base);
    release_last_event(transport);
    if (ls_peer_seats_pop_ended(&transport->seats, event) ||
        ls_udp_in_next_event(transport, event)) {
        return 1;
    }
    transport->has_more = !transport->is_drained;
    transport->is_drained = false; /* by the next turn more may have come */
    transport->next_ready = 0;
    return 0;
}

LS_TICK_CODE static void send_packet(ls_transport *base, ls_peer_id id, ls_channel channel,
                                     const uint8_t *bytes, size_t size)
{
    transport_udp *transport = from_base(base);
    LS_ASSERT(size <= LS_PACKET_BYTES_MAX && (unsigned)channel <= LS_CHANNEL_CANDIDATE_PATH);
    ls_peer_seat *seat = ls_peer_seats_find(&transport->seats, id);
    if (!seat || seat->state != LS_PEER_SEAT_OPEN) {
        return;
    }
    udp_connection *to = connection_of(transport, seat);
    if (channel == LS_CHANNEL_UNRELIABLE) {
        ls_udp_out_packet(to, bytes, size);
        return;
    }
    if (channel == LS_CHANNEL_CANDIDATE_PATH) {
        ls_udp_out_answer(to, bytes, size);
        return;
    }
    bool is_queued = ls_enet_channel_send(to->channel, bytes, size);
    ls_udp_connection_queue(to);
    ls_udp_connection_set_busy(to, true);
    if (!is_queued || ls_enet_channel_backlog(to->channel) > LS_BACKLOG_BYTES_MAX) {
        end_seat(transport, seat, LS_TIMED_OUT);
    }
}

static void disconnect(ls_transport *base, ls_peer_id id)
{
    transport_udp *transport = from_base(base);
    ls_peer_seat *seat = ls_peer_seats_find(&transport->seats, id);
    if (!seat) {
        return;
    }
    if (seat->state == LS_PEER_SEAT_CONNECTING) {
        end_seat(transport, seat, LS_DISCONNECTED);
    } else if (seat->state == LS_PEER_SEAT_OPEN) {
        udp_connection *closing = connection_of(transport, seat);
        ls_peer_seats_set_state(&transport->seats, seat, LS_PEER_SEAT_CLOSING);
        seat->deadline_ns = now_ns(transport) + LS_TRANSPORT_UDP_CLOSE_MS * LS_NS_PER_MS;
        ls_enet_channel_close(closing->channel);
        ls_udp_connection_queue(closing);
        ls_udp_connection_set_busy(closing, true);
    }
}

static bool is_under_way(const transport_udp *transport)
{
    return transport->busy_count > 0 || transport->seats.deadline_count > 0;
}

uint64_t ls_transport_udp_now_ns(const ls_transport *base)
{
    return now_ns(from_const_base(base));
}

uint64_t ls_transport_udp_next_ns(const ls_transport *base)
{
    const transport_udp *transport = from_const_base(base);
    return is_under_way(transport) ? transport->serviced_ns + LOOP_PERIOD_MS * LS_NS_PER_MS
                                   : UINT64_MAX;
}

static bool needs_timer(const transport_udp *transport)
{
    return transport->is_eager && is_under_way(transport);
}

LS_TICK_CODE static void choose_timer(transport_udp *transport)
{
    if (transport->timer_source && needs_timer(transport) != transport->has_timer) {
        transport->has_timer = !transport->has_timer;
        ls_loop_source_set_active(transport->timer_source, transport->has_timer);
    }
}

/* This machine may be in another network now. */
static void look_for_server(transport_udp *transport, uint64_t now)
{
    bool is_open =
        transport->client && transport->seats.seats[CLIENT_SEAT].state == LS_PEER_SEAT_OPEN;
    bool has_moved = transport->socket->has_moved;
    if (is_open && (has_moved || now >= transport->heard_ns + SILENCE_MS * LS_NS_PER_MS)) {
        transport->heard_ns = now;
        transport->socket->has_moved = false;
        if (has_moved || ls_datagram_socket_reroute(transport->socket)) {
            ls_sealed_client_note_move(transport->client, now);
            ls_udp_out_nothing(&transport->connections[CLIENT_SEAT]); /* the server asks at once */
        }
    }
}

LS_TICK_CODE static void flush(ls_transport *base)
{
    transport_udp *transport = from_base(base);
    uint64_t now = transport->client || transport->queued_count > 0 ? now_ns(transport) : 0;
    ls_udp_out_queued(transport, now);
    look_for_server(transport, now);
    ls_udp_out_flush(transport);
    choose_timer(transport);
}

LS_TICK_CODE static ls_transport_traffic traffic(const ls_transport *base, ls_peer_id id)
{
    const ls_peer_seat *seat = ls_peer_seats_find(&from_const_base(base)->seats, id);
    return seat ? seat->traffic : (ls_transport_traffic){0};
}

/* ---- Being driven ---- */

/* Repeats what was not acknowledged. */
static void service_busy(transport_udp *transport, uint64_t now)
{
    uint32_t left = transport->busy_count;
    for (uint32_t i = 0; left > 0 && i < transport->seats.count; i++) {
        udp_connection *each = &transport->connections[i];
        if (!each->is_busy) {
            continue;
        }
        ls_peer_seat_state state = transport->seats.seats[i].state;
        left--;
        if (!each->channel || (state != LS_PEER_SEAT_OPEN && state != LS_PEER_SEAT_CLOSING)) {
            ls_udp_connection_set_busy(each, false);
            continue;
        }
        ls_enet_channel_service(each->channel, now);
        if (state == LS_PEER_SEAT_OPEN && ls_enet_channel_backlog(each->channel) == 0 &&
            !ls_enet_channel_has_event(each->channel)) {
            ls_udp_connection_set_busy(each, false);
        }
    }
}

LS_TICK_CODE static void continue_exchange(transport_udp *transport, uint64_t now)
{
    uint8_t datagram[LS_SEALED_DATAGRAM_BYTES_MAX];
    bool is_connecting =
        transport->client && transport->seats.seats[CLIENT_SEAT].state == LS_PEER_SEAT_CONNECTING;
    size_t size = is_connecting ? ls_sealed_client_pop_due(transport->client, now, datagram) : 0;
    if (size > 0) {
        ls_udp_out_raw(transport, &transport->server_endpoint, datagram, size);
    }
}

/* A server that was held up for some ticks finds a datagram a tick of each peer. Inputs that wait
 * for the next turn are late: ticks are closed in between. */
static void begin_turn(transport_udp *transport, uint64_t now)
{
    uint32_t datagrams = transport->seats.taken_count * DATAGRAMS_OF_PEER_MAX;
    transport->turn_end =
        transport->total.packets_received + LS_MAX(datagrams, DATAGRAMS_PER_TURN_MAX);
    ls_datagram_socket_begin_turn(transport->socket, now);
}

LS_TICK_CODE void ls_transport_udp_service(ls_transport *base)
{
    transport_udp *transport = from_base(base);
    uint64_t now = now_ns(transport);
    transport->serviced_ns = now;
    begin_turn(transport, now);
    end_overdue_seats(transport, now);
    service_busy(transport, now);
    continue_exchange(transport, now);
    ls_udp_out_flush(transport);
}

static void on_loop(void *user, uint64_t now)
{
    transport_udp *transport = user;
    ls_transport_udp_service(&transport->base);
    transport->on_ready.call(transport->on_ready.user, now);
    choose_timer(transport);
}

ls_status ls_transport_udp_attach(ls_transport *base, ls_event_loop *loop, ls_loop_handler on_ready)
{
    transport_udp *transport = from_base(base);
    LS_ASSERT(!transport->socket_source && on_ready.call);
    ls_loop_handler handler = {on_loop, transport};
    transport->on_ready = on_ready;
    int descriptor = ls_datagram_socket_descriptor(transport->socket);
    ls_status status = ls_event_loop_watch(loop, descriptor, handler, &transport->socket_source);
    if (status == LS_OK) {
        status = ls_event_loop_add_timer(loop, LOOP_PERIOD_MS, handler, &transport->timer_source);
        transport->has_timer = status == LS_OK;
    }
    return status;
}

void ls_transport_udp_set_eager(ls_transport *base, bool is_eager)
{
    transport_udp *transport = from_base(base);
    transport->is_eager = is_eager;
    ls_loop_source_set_active(transport->socket_source, is_eager);
    choose_timer(transport);
}

uint32_t ls_transport_udp_coming(ls_transport *base, ls_peer_id peers[LS_TRANSPORT_UDP_COMING_MAX])
{
    return ls_udp_in_coming(from_base(base), peers);
}

bool ls_transport_udp_has_more(const ls_transport *base)
{
    return from_const_base(base)->has_more;
}

/* ---- Making and ending ---- */

static bool has_backlog(const transport_udp *transport)
{
    for (uint32_t i = 0; i < transport->seats.count; i++) {
        const ls_enet_channel *channel = transport->connections[i].channel;
        ls_peer_seat_state state = transport->seats.seats[i].state;
        if (channel && (state == LS_PEER_SEAT_OPEN || state == LS_PEER_SEAT_CLOSING) &&
            ls_enet_channel_backlog(channel) > 0) {
            return true;
        }
    }
    return false;
}

/* Lets what was sent reliably arrive, for a bounded time, and says goodbye to everybody. */
static void leave(transport_udp *transport)
{
    int descriptor = ls_datagram_socket_descriptor(transport->socket);
    uint64_t deadline = now_ns(transport) + LS_TRANSPORT_UDP_DESTROY_MS * LS_NS_PER_MS;
    ls_transport_event nobody_is_told;
    flush(&transport->base);
    while (descriptor >= 0 && has_backlog(transport) && now_ns(transport) < deadline) {
        (void)ls_socket_await(descriptor, LEAVE_WAIT_MS * LS_NS_PER_MS);
        ls_transport_udp_service(&transport->base);
        while (next_event(&transport->base, &nobody_is_told)) {
        }
    }
    for (uint32_t i = 0; i < transport->seats.count; i++) {
        ls_peer_seat_state state = transport->seats.seats[i].state;
        if (state == LS_PEER_SEAT_OPEN || state == LS_PEER_SEAT_CLOSING) {
            ls_enet_channel_abort(transport->connections[i].channel, now_ns(transport));
        }
    }
    ls_udp_out_flush(transport);
}

static void destroy(ls_transport *base)
{
    transport_udp *transport = from_base(base);
    ls_loop_source_remove(transport->socket_source);
    ls_loop_source_remove(transport->timer_source);
    if (transport->socket) {
        leave(transport);
    }
    for (uint32_t i = 0; transport->connections && i < transport->seats.count; i++) {
        ls_enet_channel_destroy(transport->connections[i].channel);
    }
    ls_release(transport->allocator, transport->connections);
    ls_enet_wire_destroy(transport->wire);
    ls_sealed_server_destroy(transport->server);
    ls_sealed_client_destroy(transport->client);
    ls_datagram_socket_close(transport->socket);
    ls_udp_out_deinit(transport);
    ls_peer_seats_deinit(&transport->seats, transport->allocator);
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

/* A transport with so many seats and no socket. */
static ls_status make(const ls_allocator *allocator, uint32_t seats, const ls_clock *clock,
                      transport_udp **out)
{
    transport_udp *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->base.operations = &operations;
    made->allocator = allocator;
    made->clock = *clock;
    made->is_eager = true;
    made->connections = ls_allocate_array(allocator, seats, sizeof *made->connections);
    ls_status status = made->connections ? ls_cipher_init() : LS_NO_MEMORY;
    if (status == LS_OK) {
        status = ls_peer_seats_init(&made->seats, seats, allocator);
    }
    if (status == LS_OK) {
        status = ls_udp_out_init(made);
    }
    if (status == LS_OK) {
        status = ls_enet_wire_create(allocator, &made->wire);
    }
    if (status != LS_OK) {
        destroy(&made->base);
        return status;
    }
    for (uint32_t i = 0; i < seats; i++) {
        made->connections[i] = (udp_connection){.transport = made, .index = i};
    }
    *out = made;
    return LS_OK;
}

/* Hands out what was made, or ends it when something else could not be; errno stays. */
static ls_status give(transport_udp *made, ls_status status, transport_udp **out)
{
    if (status != LS_OK) {
        int error = errno;
        destroy(&made->base);
        errno = error;
        return status;
    }
    *out = made;
    return LS_OK;
}

ls_status ls_transport_udp_server_config_default(ls_transport_udp_server_config *config)
{
    *config = (ls_transport_udp_server_config){
        .bind_host = "::",
        .descriptor = -1,
        .sealed = {.gives_key_to_loopback = true, .connections_max = 64, .per_address_max = 64},
    };
    ls_status status = ls_cipher_init();
    if (status == LS_OK) {
        ls_key_pair_random(&config->sealed.identity);
    }
    return status;
}

/* Puts a transport that was made, or could not be, on its ground. */
static ls_status stand_on(transport_udp *made, ls_status status,
                          const ls_transport_udp_ground *ground, transport_udp **out)
{
    if (!made) {
        ls_datagram_socket_close(ground->socket);
        return status;
    }
    made->socket = ground->socket;
    return give(made, status, out);
}

static ls_status open_server(const ls_transport_udp_ground *ground,
                             const ls_sealed_server_config *config, const ls_allocator *allocator,
                             transport_udp **out)
{
    transport_udp *made = NULL;
    ls_status status = make(allocator, config->connections_max, &ground->clock, &made);
    if (made) {
        status = ls_sealed_server_create(config, allocator, &made->server);
    }
    return stand_on(made, status, ground, out);
}

static bool is_server_possible(const ls_sealed_server_config *config)
{
    return config->connections_max > 0 && config->connections_max <= LS_TRANSPORT_UDP_PEERS_MAX &&
           config->per_address_max > 0;
}

ls_status ls_transport_udp_listen_on(const ls_transport_udp_ground *ground,
                                     const ls_sealed_server_config *config,
                                     const ls_allocator *allocator, ls_transport **transport)
{
    transport_udp *made = NULL;
    LS_ASSERT(is_server_possible(config));
    ls_status status = open_server(ground, config, allocator, &made);
    if (status == LS_OK) {
        *transport = &made->base;
    }
    return status;
}

/* A socket of its own, or one that is bound already; errno stays. */
static ls_status open_listening(const ls_transport_udp_server_config *config,
                                const ls_allocator *allocator, ls_datagram_socket **out,
                                ls_text *error)
{
    if (config->descriptor >= 0) {
        return ls_udp_socket_adopt(config->descriptor, allocator, out);
    }
    ls_endpoint endpoint;
    ls_status status = ls_endpoint_resolve(config->bind_host, config->port, &endpoint, error);
    return status == LS_OK ? ls_udp_socket_listen(&endpoint, allocator, out) : status;
}

static void explain_listening(const ls_transport_udp_server_config *config, ls_status status,
                              int reason, ls_text *error)
{
    const char *why = status == LS_IO ? strerror(reason) : ls_status_text(status);
    if (config->descriptor >= 0) {
        ls_text_set(error, "cannot listen on descriptor %d: %s", config->descriptor, why);
    } else {
        ls_text_set(error, "cannot listen on %s, UDP port %u: %s%s", config->bind_host,
                    (unsigned)config->port, why,
                    status == LS_IO && reason == EACCES ? " (ports below 1024 are privileged)"
                                                        : "");
    }
}

ls_status ls_transport_udp_listen(const ls_transport_udp_server_config *config,
                                  const ls_allocator *allocator, ls_transport **transport,
                                  ls_text *error)
{
    transport_udp *made = NULL;
    ls_transport_udp_ground ground = {.clock = ls_clock_system()};
    if (!is_server_possible(&config->sealed)) {
        if (config->descriptor >= 0) {
            ls_socket_close(config->descriptor);
        }
        return ls_fail(LS_BAD_ARGUMENT, error,
                       "a server takes 1 to %u peers, and 1 or more from one address",
                       LS_TRANSPORT_UDP_PEERS_MAX);
    }
    ls_status status = open_listening(config, allocator, &ground.socket, error);
    if (status == LS_NOT_FOUND || status == LS_TIMED_OUT) {
        return status; /* the text says which name */
    }
    if (status == LS_OK && config->around.wrap) {
        ground.socket = config->around.wrap(config->around.user, ground.socket);
    }
    if (status == LS_OK) {
        status = open_server(&ground, &config->sealed, allocator, &made);
    }
    if (status != LS_OK) {
        explain_listening(config, status, errno, error);
        return status;
    }
    *transport = &made->base;
    return LS_OK;
}

ls_transport_udp_client_config ls_transport_udp_client_config_default(void)
{
    return (ls_transport_udp_client_config){.connect_timeout_ns = 5 * LS_NS_PER_SECOND};
}

static void start_connecting(transport_udp *transport, uint64_t timeout_ns)
{
    ls_peer_seat *seat = &transport->seats.seats[CLIENT_SEAT];
    uint64_t now = now_ns(transport);
    bool is_taken = ls_peer_seats_claim(&transport->seats, seat, LS_PEER_SEAT_CONNECTING);
    LS_ASSERT(is_taken); /* after 2^32 connections of one client */
    (void)is_taken;
    seat->deadline_ns = now + timeout_ns;
    transport->heard_ns = now;
    transport->serviced_ns = now;
    ls_sealed_client_start(transport->client, now);
    continue_exchange(transport, now);
    ls_udp_out_flush(transport);
    choose_timer(transport);
}

static ls_status open_client(const ls_transport_udp_ground *ground, const ls_endpoint *server,
                             const ls_transport_udp_client_config *config,
                             const ls_allocator *allocator, ls_transport **transport)
{
    transport_udp *made = NULL;
    ls_status status = make(allocator, 1, &ground->clock, &made);
    if (made) {
        made->server_endpoint = *server;
        status = ls_sealed_client_create(&config->sealed, allocator, &made->client);
    }
    status = stand_on(made, status, ground, &made);
    if (status == LS_OK) {
        start_connecting(made, config->connect_timeout_ns);
        *transport = &made->base;
    }
    return status;
}

ls_status ls_transport_udp_connect_on(const ls_transport_udp_ground *ground,
                                      const ls_endpoint *server,
                                      const ls_transport_udp_client_config *config,
                                      const ls_allocator *allocator, ls_transport **transport)
{
    LS_ASSERT(config->connect_timeout_ns > 0);
    return open_client(ground, server, config, allocator, transport);
}

/* Resolves the server's name; an invite has more to say. */
static ls_status find_server(ls_transport_udp_client_config *config, ls_endpoint *out,
                             ls_text *error)
{
    if (!ls_invite_is_meant(config->server)) {
        return ls_endpoint_parse(config->server, out, error);
    }
    ls_invite invite;
    ls_status status = ls_invite_parse(config->server, &invite, error);
    if (status == LS_OK) {
        ls_sealed_client_config_set_invite(&config->sealed, &invite);
        status = ls_endpoint_resolve(invite.host, invite.port, out, error);
        ls_cipher_wipe(&invite, sizeof invite);
    }
    return status;
}

static ls_status connect_to(const ls_transport_udp_client_config *config,
                            const ls_endpoint *endpoint, const ls_allocator *allocator,
                            ls_transport **transport)
{
    ls_transport_udp_ground ground = {.clock = ls_clock_system()};
    ls_status status = ls_udp_socket_connect(endpoint, allocator, &ground.socket);
    return status == LS_OK ? open_client(&ground, endpoint, config, allocator, transport) : status;
}

ls_status ls_transport_udp_connect(const ls_transport_udp_client_config *config,
                                   const ls_allocator *allocator, ls_transport **transport,
                                   ls_text *error)
{
    LS_ASSERT(config->server && config->connect_timeout_ns > 0);
    ls_transport_udp_client_config completed = *config;
    ls_endpoint endpoint;
    ls_status status = find_server(&completed, &endpoint, error);
    if (status == LS_OK) {
        status = connect_to(&completed, &endpoint, allocator, transport);
        if (status != LS_OK) {
            const char *why = status == LS_IO ? strerror(errno) : ls_status_text(status);
            char text[LS_ENDPOINT_NUMERIC_BYTES]; /* an invite may have a secret */
            ls_endpoint_format(&endpoint, text);
            ls_text_set(error, "cannot reach %s: %s",
                        ls_invite_is_meant(config->server) ? text : config->server, why);
        }
    }
    ls_cipher_wipe(&completed.sealed, sizeof completed.sealed);
    return status;
}

ls_sealed_refusal ls_transport_udp_refusal(const ls_transport *base)
{
    const transport_udp *transport = from_const_base(base);
    return transport->client ? ls_sealed_client_refusal(transport->client) : LS_SEALED_REFUSAL_NONE;
}

void ls_transport_udp_set_match(ls_transport *base, uint64_t match)
{
    ls_sealed_client_set_match(from_base(base)->client, match);
}

ls_status ls_transport_udp_reconnect(ls_transport *base, uint64_t connect_timeout_ns)
{
    transport_udp *transport = from_base(base);
    ls_peer_seat *seat = &transport->seats.seats[CLIENT_SEAT];
    ls_transport_event nobody_is_told;
    LS_ASSERT(transport->client && connect_timeout_ns > 0);
    release_last_event(transport);
    if (seat->id != 0) {
        if (seat->state == LS_PEER_SEAT_OPEN || seat->state == LS_PEER_SEAT_CLOSING) {
            ls_enet_channel_abort(connection_of(transport, seat)->channel, now_ns(transport));
        }
        ls_peer_seats_report(&transport->seats, seat, LS_DISCONNECTED, &nobody_is_told);
        release_last_event(transport);
    }
    transport->is_unreachable = false;
    (void)ls_datagram_socket_reroute(transport->socket);
    start_connecting(transport, connect_timeout_ns);
    return LS_OK;
}

/* ---- Questions ---- */

_Static_assert(LS_TRANSPORT_UDP_ADDRESS_BYTES == LS_ENDPOINT_NUMERIC_BYTES, "room for each");

/* NULL: it is gone. */
static const ls_endpoint *endpoint_of(const transport_udp *transport, ls_peer_id id)
{
    const ls_peer_seat *seat = ls_peer_seats_find(&transport->seats, id);
    if (!seat || seat->state != LS_PEER_SEAT_OPEN) {
        return NULL;
    }
    uint32_t index = connection_of(transport, seat)->index;
    return transport->server ? ls_sealed_server_endpoint(transport->server, index)
                             : &transport->server_endpoint;
}

ls_status ls_transport_udp_address(const ls_transport *base, ls_peer_id id,
                                   char text[LS_TRANSPORT_UDP_ADDRESS_BYTES])
{
    const ls_endpoint *endpoint = endpoint_of(from_const_base(base), id);
    if (endpoint) {
        ls_endpoint_format(endpoint, text);
    }
    return endpoint ? LS_OK : LS_NOT_FOUND;
}

uint64_t ls_transport_udp_origin(const ls_transport *base, ls_peer_id id)
{
    const ls_endpoint *endpoint = endpoint_of(from_const_base(base), id);
    return endpoint ? ls_endpoint_origin(endpoint) : 0;
}

/* The connection of a server's peer for which the sealed layer still has keys, or NULL. */
static const udp_connection *keyed_connection(const transport_udp *transport, ls_peer_id id)
{
    const ls_peer_seat *seat = ls_peer_seats_find(&transport->seats, id);
    return seat && transport->server ? connection_of(transport, seat) : NULL;
}

const ls_sealed_pass *ls_transport_udp_pass(const ls_transport *base, ls_peer_id id)
{
    const transport_udp *transport = from_const_base(base);
    const udp_connection *of = keyed_connection(transport, id);
    return of ? ls_sealed_server_pass(transport->server, of->index) : NULL;
}

void ls_transport_udp_settle_pass(ls_transport *base, ls_peer_id id, bool is_used)
{
    transport_udp *transport = from_base(base);
    const udp_connection *of = keyed_connection(transport, id);
    if (of) {
        ls_sealed_server_settle_pass(transport->server, of->index, is_used);
    }
}

uint32_t ls_transport_udp_half_open(const ls_transport *base)
{
    const transport_udp *transport = from_const_base(base);
    return transport->server ? ls_sealed_server_half_open(transport->server) : 0;
}

void ls_transport_udp_invite(const ls_transport *base, const char *host,
                             char text[LS_INVITE_TEXT_BYTES_MAX])
{
    const transport_udp *transport = from_const_base(base);
    ls_invite invite = {.port = ls_transport_udp_port(base)};
    size_t bytes = strlen(host);
    LS_ASSERT(transport->server && bytes > 0 && bytes < sizeof invite.host);
    memcpy(invite.host, host, bytes);
    ls_sealed_server_invite(transport->server, &invite);
    ls_invite_format(&invite, text);
    ls_cipher_wipe(&invite, sizeof invite);
}

uint16_t ls_transport_udp_port(const ls_transport *base)
{
    return ls_datagram_socket_port(from_const_base(base)->socket);
}

ls_transport_traffic ls_transport_udp_total(const ls_transport *base)
{
    return from_const_base(base)->total;
}

uint64_t ls_transport_udp_rejections(const ls_transport *base, ls_sealed_rejection rejection)
{
    LS_ASSERT(rejection >= 0 && rejection < LS_SEALED_REJECTION_COUNT);
    return from_const_base(base)->rejections[rejection];
}

uint64_t ls_transport_udp_denials(const ls_transport *base, ls_denial denial)
{
    LS_ASSERT(denial >= 0 && denial < LS_DENIAL_END);
    return from_const_base(base)->denials[denial];
}

uint64_t ls_transport_udp_enet_rejections(const ls_transport *base, ls_datagram_rejection rejection)
{
    LS_ASSERT(rejection >= 0 && rejection < LS_DATAGRAM_REJECTION_COUNT);
    return from_const_base(base)->enet_rejections[rejection];
}
