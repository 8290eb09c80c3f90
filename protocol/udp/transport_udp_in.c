#define _POSIX_C_SOURCE 200809L
#include "lockstep/protocol/udp/transport_udp_state.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/prefetch.h"

enum {
    FAILURES_PER_TURN_MAX = 64,
    LENGTH_BYTES = 2,
};

/* ---- What has come of a datagram, one event after the other ---- */

static void report_packet(const transport_udp *transport, const ls_peer_seat *seat,
                          ls_channel channel, const uint8_t *bytes, size_t size,
                          ls_transport_event *event)
{
    *event =
        (ls_transport_event){.kind = LS_TRANSPORT_RECEIVED,
                             .peer = seat->id,
                             .channel = channel,
                             .bytes = bytes,
                             .size = size,
                             .arrived_ns = transport->arrived_ns,
                             .path_room = ls_udp_out_path_room(connection_of(transport, seat))};
}

static void reject_left(transport_udp *transport)
{
    transport->rejections[LS_SEALED_REJECT_MALFORMED]++;
    transport->has_left = false;
}

/* The next of several packets; false when that is none, or one that is too long. */
static bool read_part(transport_udp *transport, const uint8_t **bytes, size_t *size)
{
    if (transport->left_bytes < LENGTH_BYTES) {
        return false;
    }
    *size = ls_load_u16(transport->left);
    *bytes = transport->left + LENGTH_BYTES;
    if (*size > LS_PACKET_BYTES_MAX || *size > transport->left_bytes - LENGTH_BYTES) {
        return false;
    }
    transport->left += LENGTH_BYTES + *size;
    transport->left_bytes -= LENGTH_BYTES + *size;
    transport->has_left = transport->left_bytes > 0;
    return true;
}

static bool read_packet(transport_udp *transport, ls_transport_event *event)
{
    const uint8_t *bytes = transport->left;
    size_t size = transport->left_bytes;
    if (transport->content == LS_SEALED_PACKETS) {
        if (!read_part(transport, &bytes, &size)) {
            reject_left(transport);
            return false;
        }
    } else if (size > LS_PACKET_BYTES_MAX) {
        reject_left(transport);
        return false;
    } else {
        transport->has_left = false;
    }
    report_packet(transport, transport->heard, LS_CHANNEL_UNRELIABLE, bytes, size, event);
    return true;
}

static void receive_enet(transport_udp *transport)
{
    udp_connection *from = connection_of(transport, transport->heard);
    transport->has_left = false;
    ls_datagram_rejection rejection = ls_enet_channel_receive(
        from->channel, transport->left, transport->left_bytes, now_ns(transport));
    if (rejection == LS_DATAGRAM_ACCEPTED) {
        transport->draining = from;
    } else {
        transport->enet_rejections[rejection]++;
    }
}

static bool is_alive(const ls_peer_seat *seat)
{
    return seat->state == LS_PEER_SEAT_OPEN || seat->state == LS_PEER_SEAT_CLOSING;
}

/* Takes a piece of the newest datagram: true when that is an event. */
static bool read_left(transport_udp *transport, ls_transport_event *event)
{
    if (!is_alive(transport->heard)) {
        transport->has_left = false;
        return false;
    }
    if (transport->content == LS_SEALED_ENET) {
        receive_enet(transport);
        return false;
    }
    if (transport->heard->state != LS_PEER_SEAT_OPEN) {
        transport->has_left = false; /* it is closing: only what it acknowledges counts */
        return false;
    }
    return read_packet(transport, event);
}

/* ---- What ENet has made of it ---- */

static bool drain(transport_udp *transport, ls_transport_event *event)
{
    udp_connection *from = transport->draining;
    ls_peer_seat *seat = seat_of(from);
    while (from->channel && is_alive(seat)) {
        ls_enet_event told = ls_enet_channel_next_event(from->channel);
        if (told.kind == LS_ENET_NOTHING) {
            break;
        }
        if (told.kind == LS_ENET_RECEIVED) {
            if (seat->state == LS_PEER_SEAT_OPEN) {
                report_packet(transport, seat, LS_CHANNEL_RELIABLE, told.bytes, told.size, event);
                return true;
            }
            continue;
        }
        bool is_wanted = told.kind == LS_ENET_CLOSED || seat->state == LS_PEER_SEAT_CLOSING;
        ls_peer_seats_report(&transport->seats, seat, is_wanted ? LS_DISCONNECTED : LS_TIMED_OUT,
                             event);
        transport->draining = NULL;
        return true;
    }
    transport->draining = NULL;
    return false;
}

/* Connections whose channels were serviced, not fed: their events say that they are over. */
static bool find_ready(transport_udp *transport)
{
    while (transport->busy_count > 0 && transport->next_ready < transport->seats.count) {
        udp_connection *each = &transport->connections[transport->next_ready++];
        if (each->is_busy && each->channel) {
            transport->draining = each;
            return true;
        }
    }
    return false;
}

/* ---- Datagrams ---- */

static void count_received(transport_udp *transport, const ls_udp_datagram *datagram)
{
    transport->total.bytes_received += ls_udp_header_bytes(&datagram->from) + datagram->size;
    transport->total.packets_received++;
}

static void keep_content(transport_udp *transport, uint32_t index, ls_sealed_content content,
                         const uint8_t *bytes, size_t size, const ls_udp_datagram *datagram)
{
    transport->heard = &transport->seats.seats[index];
    transport->content = content;
    transport->left = bytes;
    transport->left_bytes = size;
    transport->has_left = content != LS_SEALED_PACKETS || size > 0;
    transport->heard->traffic.bytes_received +=
        ls_udp_header_bytes(&datagram->from) + datagram->size;
    transport->heard->traffic.packets_received++;
}

static bool report_connected(udp_connection *opened, const ls_endpoint *from, uint64_t rtt_ns,
                             ls_transport_event *event)
{
    transport_udp *transport = opened->transport;
    ls_peer_seat *seat = seat_of(opened);
    if (ls_udp_connection_open(opened, rtt_ns, now_ns(transport)) != LS_OK) {
        ls_peer_seats_report(&transport->seats, seat, LS_NO_MEMORY, event);
        return true;
    }
    *event = (ls_transport_event){.kind = LS_TRANSPORT_CONNECTED,
                                  .peer = seat->id,
                                  .rtt_ns = rtt_ns,
                                  .origin = ls_endpoint_origin(from)};
    return true;
}

static bool receive_at_server(transport_udp *transport, const ls_udp_datagram *datagram,
                              ls_transport_event *event)
{
    ls_sealed_received got;
    ls_sealed_server_receive(transport->server, &datagram->from, datagram->bytes, datagram->size,
                             datagram->arrived_ns, &got);
    if (got.rejection != LS_SEALED_ACCEPTED) {
        transport->rejections[got.rejection]++;
    }
    transport->denials[got.denial]++;
    if (got.answer_bytes > 0) { /* leaves with others: a flood must not cost a call for each */
        ls_udp_out_raw(transport, &datagram->from, got.answer, got.answer_bytes);
    }
    if (!got.has_content) {
        return false;
    }
    ls_peer_seat *seat = &transport->seats.seats[got.index];
    if (got.is_opened && !ls_peer_seats_claim(&transport->seats, seat, LS_PEER_SEAT_OPEN)) {
        ls_sealed_server_close(transport->server, got.index);
        return false;
    }
    keep_content(transport, got.index, got.content, got.bytes, got.size, datagram);
    if (got.is_challenge_first) {
        ls_udp_out_challenges(&transport->connections[got.index]);
    }
    transport->is_challenge_due = got.is_challenge_due;
    return got.is_opened &&
           report_connected(&transport->connections[got.index], &datagram->from, got.rtt_ns, event);
}

LS_TICK_CODE static bool receive_at_client(transport_udp *transport,
                                           const ls_udp_datagram *datagram,
                                           ls_transport_event *event)
{
    ls_sealed_client_received got;
    ls_peer_seat *seat = &transport->seats.seats[CLIENT_SEAT];
    ls_sealed_client_receive(transport->client, datagram->bytes, datagram->size,
                             datagram->arrived_ns, &got);
    if (got.rejection != LS_SEALED_ACCEPTED) {
        transport->rejections[got.rejection]++;
        return false;
    }
    transport->heard_ns = datagram->arrived_ns;
    for (uint32_t i = 0; i < got.answer_count; i++) {
        ls_udp_out_raw(transport, &transport->server_endpoint, got.answers[i].bytes,
                       got.answers[i].size);
    }
    if (got.answer_count > 0) {
        ls_udp_out_flush(transport);
    }
    if (got.has_content) {
        keep_content(transport, CLIENT_SEAT, got.content, got.bytes, got.size, datagram);
    }
    if (seat->state != LS_PEER_SEAT_CONNECTING) {
        return false;
    }
    if (got.is_opened) {
        ls_peer_seats_set_state(&transport->seats, seat, LS_PEER_SEAT_OPEN);
        ls_udp_out_nothing(&transport->connections[CLIENT_SEAT]);
        return report_connected(&transport->connections[CLIENT_SEAT], &datagram->from,
                                ls_sealed_client_rtt_ns(transport->client), event);
    }
    if (ls_sealed_client_state_of(transport->client) == LS_SEALED_CLIENT_REFUSED) {
        ls_peer_seats_report(&transport->seats, seat, LS_REFUSED, event);
        return true;
    }
    return false;
}

/* Takes in a datagram; true when it gives an event by itself. */
static bool receive_datagram(transport_udp *transport, const ls_udp_datagram *datagram,
                             ls_transport_event *event)
{
    count_received(transport, datagram);
    if (datagram->size > LS_UDP_DATAGRAM_BYTES_MAX || datagram->from.port == 0) {
        transport->rejections[LS_SEALED_REJECT_MALFORMED]++;
        return false;
    }
    transport->arrived_ns = datagram->arrived_ns;
    return transport->server ? receive_at_server(transport, datagram, event)
                             : receive_at_client(transport, datagram, event);
}

/* False when the turn is over. */
static bool receive(transport_udp *transport, ls_udp_datagram *datagram)
{
    for (int failures = 0; failures < FAILURES_PER_TURN_MAX; failures++) {
        bool is_over = transport->total.packets_received >= transport->turn_end;
        if (transport->is_drained ||
            (is_over && !ls_datagram_socket_has_received(transport->socket))) {
            return false;
        }
        switch (ls_datagram_socket_receive(transport->socket, datagram)) {
        case LS_UDP_RECEIVED:
            return true;
        case LS_UDP_EMPTY:
            transport->is_drained = true;
            return false;
        default:
            ls_udp_note_failure(transport, datagram->error);
        }
    }
    return false;
}

/* With what the answers to its packets have left: they are of use at once. */
static void challenge_paths(transport_udp *transport)
{
    transport->is_challenge_due = false;
    if (is_alive(transport->heard)) {
        ls_udp_out_challenges(connection_of(transport, transport->heard));
    }
}

LS_TICK_CODE int ls_udp_in_next_event(transport_udp *transport, ls_transport_event *event)
{
    ls_udp_datagram datagram;
    for (;;) {
        if (transport->draining) {
            if (drain(transport, event)) {
                return 1;
            }
        } else if (transport->has_left) {
            if (read_left(transport, event)) {
                return 1;
            }
        } else if (transport->is_challenge_due) {
            challenge_paths(transport);
        } else if (find_ready(transport)) {
            continue;
        } else if (!receive(transport, &datagram)) {
            return 0;
        } else if (receive_datagram(transport, &datagram, event)) {
            return 1;
        }
    }
}

/* ---- What is to come ---- */

static void prefetch(const transport_udp *transport, uint32_t index)
{
    ls_sealed_server_prefetch(transport->server, index);
    ls_prefetch(&transport->connections[index], sizeof transport->connections[index]);
    ls_prefetch(&transport->seats.seats[index], sizeof transport->seats.seats[index]);
}

uint32_t ls_udp_in_coming(transport_udp *transport, ls_peer_id peers[LS_TRANSPORT_UDP_COMING_MAX])
{
    const ls_peer_seat *seats[LS_TRANSPORT_UDP_COMING_MAX];
    const uint8_t *bytes = NULL;
    size_t size = 0;
    uint32_t count = 0;
    if (!transport->server || transport->total.packets_received < transport->told_end) {
        return 0;
    }
    while (count < LS_TRANSPORT_UDP_COMING_MAX &&
           (bytes = ls_datagram_socket_coming(transport->socket, count, &size)) != NULL) {
        uint32_t index = 0;
        bool is_found = ls_sealed_server_find(transport->server, bytes, size, &index);
        seats[count] = is_found ? &transport->seats.seats[index] : NULL;
        if (is_found) {
            prefetch(transport, index);
        }
        count++;
    }
    for (uint32_t i = 0; i < count; i++) {
        peers[i] = seats[i] ? seats[i]->id : 0;
    }
    transport->told_end = transport->total.packets_received + count;
    return count;
}
