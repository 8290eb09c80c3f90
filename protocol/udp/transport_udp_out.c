#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/protocol/udp/transport_udp_state.h"

#include <errno.h>
#include <string.h>

_Static_assert(LS_UDP_WAITING_MAX <= 64, "ls_udp_sent has a bit for each");

#define NOBODY UINT32_MAX

enum {
    DATAGRAMS = LS_UDP_WAITING_MAX,
    LENGTH_BYTES = 2, /* before each of several packets */
};

/* A datagram with the first packet LENGTH_BYTES behind where its content begins, so that it becomes
 * one of several packets without being moved. */
typedef struct out_datagram {
    uint32_t index; /* of the connection, or NOBODY: it is whole, and `to` says where it goes */
    ls_sealed_content content;
    ls_endpoint to;
    size_t size; /* of the content; of several packets with their lengths; in the end of all */
    uint8_t bytes[LENGTH_BYTES + LS_SEALED_DATAGRAM_BYTES_MAX];
} out_datagram;

struct out_datagrams {
    uint32_t count;
    out_datagram datagrams[DATAGRAMS];
};

ls_status ls_udp_out_init(transport_udp *transport)
{
    transport->out = ls_allocate(transport->allocator, sizeof *transport->out);
    return transport->out ? LS_OK : LS_NO_MEMORY;
}

void ls_udp_out_deinit(transport_udp *transport)
{
    ls_release(transport->allocator, transport->out);
}

void ls_udp_note_failure(transport_udp *transport, int error)
{
    if (error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH) {
        transport->is_unreachable = true;
    }
    ls_peer_seat *own = &transport->seats.seats[CLIENT_SEAT];
    if (error == ECONNREFUSED && transport->client && own->state == LS_PEER_SEAT_CONNECTING) {
        own->deadline_ns = 0; /* the machine is there and says no: nothing to wait for */
    }
}

/* ---- Collecting ---- */

static size_t header_bytes(const transport_udp *transport)
{
    return transport->server ? LS_SEALED_SERVER_HEADER_BYTES
                             : ls_sealed_client_header_size(transport->client);
}

static out_datagram *begin(transport_udp *transport, uint32_t index, ls_sealed_content content)
{
    struct out_datagrams *out = transport->out;
    if (out->count == DATAGRAMS) {
        ls_udp_out_flush(transport);
    }
    out_datagram *made = &out->datagrams[out->count++];
    made->index = index;
    made->content = content;
    made->size = 0;
    return made;
}

/* Where the content of a single packet begins. */
static uint8_t *content_of(const transport_udp *transport, out_datagram *datagram)
{
    return datagram->bytes + LENGTH_BYTES + header_bytes(transport);
}

static void put_packet(uint8_t *at, const uint8_t *bytes, size_t size)
{
    if (size > 0) {
        memcpy(at, bytes, size);
    }
}

/* Joins the packet to the newest datagram when that goes to the same peer and has room. */
static bool join(const udp_connection *to, const uint8_t *bytes, size_t size)
{
    struct out_datagrams *out = to->transport->out;
    out_datagram *newest = out->count > 0 ? &out->datagrams[out->count - 1] : NULL;
    bool can_hold = newest && newest->index == to->index &&
                    (newest->content == LS_SEALED_PACKET || newest->content == LS_SEALED_PACKETS);
    if (!can_hold) {
        return false;
    }
    size_t used = newest->size + (newest->content == LS_SEALED_PACKET ? LENGTH_BYTES : 0);
    size_t overhead = header_bytes(to->transport) + LS_SEALED_TAG_BYTES;
    if (used + LENGTH_BYTES + size + overhead > LS_SEALED_DATAGRAM_BYTES_MAX) {
        return false;
    }
    uint8_t *start = content_of(to->transport, newest) - LENGTH_BYTES;
    if (newest->content == LS_SEALED_PACKET) {
        ls_store_u16(start, (uint16_t)newest->size);
        newest->content = LS_SEALED_PACKETS;
    }
    ls_store_u16(start + used, (uint16_t)size);
    put_packet(start + used + LENGTH_BYTES, bytes, size);
    newest->size = used + LENGTH_BYTES + size;
    return true;
}

LS_TICK_CODE void ls_udp_out_packet(udp_connection *to, const uint8_t *bytes, size_t size)
{
    if (to->has_queued) { /* it must not overtake what was sent reliably before */
        ls_enet_channel_service(to->channel, now_ns(to->transport));
        to->has_queued = false;
        to->transport->queued_count--;
    }
    if (!join(to, bytes, size)) {
        out_datagram *made = begin(to->transport, to->index, LS_SEALED_PACKET);
        put_packet(content_of(to->transport, made), bytes, size);
        made->size = size;
    }
}

void ls_udp_out_nothing(udp_connection *to)
{
    (void)begin(to->transport, to->index, LS_SEALED_PACKETS);
}

void ls_udp_out_enet(void *user, const uint8_t *bytes, size_t size)
{
    udp_connection *to = user;
    LS_ASSERT(size <= LS_SEALED_CONTENT_BYTES_MAX);
    out_datagram *made = begin(to->transport, to->index, LS_SEALED_ENET);
    memcpy(content_of(to->transport, made), bytes, size);
    made->size = size;
}

void ls_udp_out_raw(transport_udp *transport, const ls_endpoint *to, const uint8_t *bytes,
                    size_t size)
{
    LS_ASSERT(size <= LS_SEALED_DATAGRAM_BYTES_MAX);
    out_datagram *made = begin(transport, NOBODY, LS_SEALED_PACKET);
    memcpy(made->bytes + LENGTH_BYTES, bytes, size);
    made->to = *to;
    made->size = size;
}

/* ---- To an address that is not proven ---- */

size_t ls_udp_out_path_room(const udp_connection *to)
{
    const size_t overhead = LS_SEALED_SERVER_HEADER_BYTES + LS_SEALED_TAG_BYTES;
    const transport_udp *transport = to->transport;
    size_t room = transport->server ? ls_sealed_server_path_room(transport->server, to->index) : 0;
    return room > overhead ? LS_MIN(room - overhead, LS_PACKET_BYTES_MAX) : 0;
}

void ls_udp_out_answer(udp_connection *to, const uint8_t *bytes, size_t size)
{
    transport_udp *transport = to->transport;
    size_t room = ls_udp_out_path_room(to);
    if (room == 0 || size > room) {
        return;
    }
    uint8_t datagram[LS_SEALED_DATAGRAM_BYTES_MAX];
    put_packet(datagram + LS_SEALED_SERVER_HEADER_BYTES, bytes, size);
    size_t whole =
        ls_sealed_server_seal(transport->server, to->index, LS_SEALED_PACKET, datagram, size);
    ls_udp_out_raw(transport, ls_sealed_server_claim_path(transport->server, to->index, whole),
                   datagram, whole);
}

void ls_udp_out_challenges(udp_connection *to)
{
    transport_udp *transport = to->transport;
    ls_path_challenge made[LS_PATH_CHALLENGES_MAX];
    uint32_t count =
        ls_sealed_server_challenge_paths(transport->server, to->index, transport->arrived_ns, made);
    for (uint32_t i = 0; i < count; i++) {
        ls_udp_out_raw(transport, &made[i].to, made[i].bytes, made[i].size);
    }
}

void ls_udp_out_queued(transport_udp *transport, uint64_t now_ns)
{
    for (uint32_t i = 0; transport->queued_count > 0 && i < transport->seats.count; i++) {
        udp_connection *each = &transport->connections[i];
        if (each->has_queued) {
            each->has_queued = false;
            transport->queued_count--;
            ls_enet_channel_service(each->channel, now_ns);
        }
    }
}

/* ---- Sending ---- */

static const ls_endpoint *endpoint_of(const transport_udp *transport, const out_datagram *datagram)
{
    if (datagram->index == NOBODY) {
        return &datagram->to;
    }
    return transport->server ? ls_sealed_server_endpoint(transport->server, datagram->index)
                             : &transport->server_endpoint;
}

static void count_sent(transport_udp *transport, const ls_endpoint *to,
                       const out_datagram *datagram)
{
    uint64_t bytes = ls_udp_header_bytes(to) + datagram->size;
    transport->total.bytes_sent += bytes;
    transport->total.packets_sent++;
    if (datagram->index != NOBODY) {
        ls_transport_traffic *traffic = &transport->seats.seats[datagram->index].traffic;
        traffic->bytes_sent += bytes;
        traffic->packets_sent++;
    }
}

static uint8_t *start_of(out_datagram *datagram)
{
    return datagram->bytes + (datagram->content == LS_SEALED_PACKETS ? 0 : LENGTH_BYTES);
}

static void send_one(transport_udp *transport, out_datagram *datagram)
{
    uint8_t *start = start_of(datagram);
    if (datagram->index != NOBODY && transport->server) {
        datagram->size = ls_sealed_server_seal(transport->server, datagram->index,
                                               datagram->content, start, datagram->size);
    } else if (datagram->index != NOBODY) {
        datagram->size =
            ls_sealed_client_seal(transport->client, datagram->content, start, datagram->size);
    }
    ls_datagram_socket_send(transport->socket, endpoint_of(transport, datagram), start,
                            datagram->size);
}

/* Datagrams that have just gone out to connections that may have moved go to their other address as
 * well. */
static void send_again(transport_udp *transport)
{
    struct out_datagrams *out = transport->out;
    uint32_t copies = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        out_datagram *each = &out->datagrams[i];
        const ls_endpoint *to = each->index != NOBODY
                                    ? ls_sealed_server_second_path(transport->server, each->index)
                                    : NULL;
        if (to) {
            ls_datagram_socket_send(transport->socket, to, start_of(each), each->size);
            count_sent(transport, to, each);
            copies++;
        }
    }
    if (copies > 0) {
        (void)ls_datagram_socket_flush(transport->socket);
    }
}

LS_TICK_CODE void ls_udp_out_flush(transport_udp *transport)
{
    struct out_datagrams *out = transport->out;
    if (out->count == 0) {
        return;
    }
    for (uint32_t i = 0; i < out->count; i++) {
        send_one(transport, &out->datagrams[i]);
    }
    ls_udp_sent sent = ls_datagram_socket_flush(transport->socket);
    for (uint32_t i = 0; i < out->count; i++) {
        if ((sent.lost >> i & 1u) == 0) {
            const out_datagram *each = &out->datagrams[i];
            count_sent(transport, endpoint_of(transport, each), each);
        }
    }
    if (sent.error != 0) {
        ls_udp_note_failure(transport, sent.error);
    }
    if (transport->server) {
        send_again(transport);
    }
    out->count = 0;
}

/* ---- a connection's channel ---- */

ls_status ls_udp_connection_open(udp_connection *connection, uint64_t rtt_ns, uint64_t now_ns)
{
    transport_udp *transport = connection->transport;
    ls_enet_channel_config config = {
        .rtt_ns = rtt_ns, .on_datagram = ls_udp_out_enet, .user = connection};
    return ls_enet_channel_create(transport->wire, &config, now_ns, transport->allocator,
                                  &connection->channel);
}

void ls_udp_connection_set_busy(udp_connection *connection, bool is_busy)
{
    if (is_busy != connection->is_busy) {
        connection->is_busy = is_busy;
        connection->transport->busy_count += is_busy ? 1u : (uint32_t)-1;
    }
}

void ls_udp_connection_queue(udp_connection *connection)
{
    connection->transport->queued_count += connection->has_queued ? 0 : 1;
    connection->has_queued = true;
}

void ls_udp_connection_drop(udp_connection *connection)
{
    transport_udp *transport = connection->transport;
    ls_udp_out_flush(transport); /* what was sent to it needs its keys */
    ls_udp_connection_set_busy(connection, false);
    transport->queued_count -= connection->has_queued ? 1 : 0;
    connection->has_queued = false;
    transport->draining = transport->draining == connection ? NULL : transport->draining;
    transport->has_left = transport->has_left && transport->heard != seat_of(connection);
    if (!LS_FAULT(CONNECTION_KEPT)) {
        ls_enet_channel_destroy(connection->channel);
    }
    connection->channel = NULL;
}
