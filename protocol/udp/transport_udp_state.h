/* Transport state: the inside of transport_udp. Above it, each calling only those before it:
 * transport_udp_out.c (what leaves, and a connection's channel), transport_udp_in.c (what comes),
 * transport_udp.c (the rest). No other file includes it. */
#ifndef LOCKSTEP_PROTOCOL_UDP_TRANSPORT_UDP_STATE_H
#define LOCKSTEP_PROTOCOL_UDP_TRANSPORT_UDP_STATE_H

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/enet/enet_channel.h"
#include "lockstep/protocol/transport/peer_seats.h"
#include "lockstep/protocol/udp/transport_udp.h"

enum {
    CLIENT_SEAT = 0,
};

/* A connection, of the same index as its seat and as its place in sealed_server. */
typedef struct udp_connection {
    struct transport_udp *transport;
    uint32_t index;
    ls_enet_channel *channel; /* from CONNECTED until DISCONNECTED was taken, or NULL */
    bool has_queued;          /* reliable packets that have not left */
    bool is_busy;             /* its channel is to be serviced now and then */
} udp_connection;

typedef struct transport_udp {
    ls_transport base;
    const ls_allocator *allocator;
    ls_clock clock;
    ls_datagram_socket *socket;
    ls_enet_wire *wire;
    ls_sealed_server *server; /* one of these two */
    ls_sealed_client *client;
    ls_endpoint server_endpoint; /* of a client */
    uint64_t serviced_ns;        /* when it was serviced last */
    bool is_unreachable; /* as the system says: no program listens there, or no way leads there */
    uint64_t heard_ns;   /* when a client's server was heard last, or looked for */
    ls_peer_seats seats;
    udp_connection *connections;
    uint32_t queued_count;
    uint32_t busy_count;
    struct out_datagrams *out;

    uint64_t turn_end; /* value of total.packets_received at which the turn is over */
    uint64_t told_end; /* likewise, at which every datagram that was told of has been taken */
    bool is_drained;   /* the socket was found empty in this turn */
    bool has_more;     /* it was not in the last one */

    /* Of the newest datagram: what has not been taken of it yet. */
    ls_peer_seat *heard;
    ls_sealed_content content;
    const uint8_t *left;
    size_t left_bytes;
    bool has_left;
    bool is_challenge_due; /* when it was taken: its connection has several addresses */
    uint64_t arrived_ns;
    udp_connection *draining; /* its channel may have events */
    uint32_t next_ready;      /* connections before it have been asked for events in this turn */

    ls_transport_traffic total;
    uint64_t rejections[LS_SEALED_REJECTION_COUNT];
    uint64_t denials[LS_DENIAL_END]; /* a server's */
    uint64_t enet_rejections[LS_DATAGRAM_REJECTION_COUNT];

    ls_loop_handler on_ready;
    ls_loop_source *socket_source;
    ls_loop_source *timer_source;
    bool is_eager;
    bool has_timer; /* it is active */
} transport_udp;

static inline uint64_t now_ns(const transport_udp *transport)
{
    return ls_clock_now_ns(&transport->clock);
}

static inline udp_connection *connection_of(const transport_udp *transport,
                                            const ls_peer_seat *seat)
{
    return &transport->connections[seat - transport->seats.seats];
}

static inline ls_peer_seat *seat_of(const udp_connection *connection)
{
    return &connection->transport->seats.seats[connection->index];
}

/* ---- transport_udp_out.c ---- */

/* NO_MEMORY. */
ls_status ls_udp_out_init(transport_udp *transport);
void ls_udp_out_deinit(transport_udp *transport);

/* An unreliable packet; it leaves at the next flush. */
void ls_udp_out_packet(udp_connection *to, const uint8_t *bytes, size_t size);
/* A datagram without a packet: it shows the server that the client has its keys. */
void ls_udp_out_nothing(udp_connection *to);
/* A datagram that ENet wants sent. */
void ls_udp_out_enet(void *user, const uint8_t *bytes, size_t size);
/* A datagram that is whole, to an address that need not be a connection's. */
void ls_udp_out_raw(transport_udp *transport, const ls_endpoint *to, const uint8_t *bytes,
                    size_t size);

/* The bytes that a packet to an address that is not proven may have; sends such a packet, but drops
 * one that has more; and challenges the addresses of a connection when that is due. */
size_t ls_udp_out_path_room(const udp_connection *to);
void ls_udp_out_answer(udp_connection *to, const uint8_t *bytes, size_t size);
void ls_udp_out_challenges(udp_connection *to);

/* Has every channel that was given packets make its datagrams. */
void ls_udp_out_queued(transport_udp *transport, uint64_t now_ns);
/* Seals and sends what is there. */
void ls_udp_out_flush(transport_udp *transport);

/* After sending or receiving has failed. An error of ours or of one peer must not stop others. */
void ls_udp_note_failure(transport_udp *transport, int error);

/* ---- a connection's channel ---- */

/* Makes the channel of a connection whose keys are there. NO_MEMORY. */
ls_status ls_udp_connection_open(udp_connection *connection, uint64_t rtt_ns, uint64_t now_ns);
/* Its channel is to be serviced now and then, or not. */
void ls_udp_connection_set_busy(udp_connection *connection, bool is_busy);
/* Its channel was given something that leaves by the next flush. */
void ls_udp_connection_queue(udp_connection *connection);
/* Ends its channel, after sending what waits for its keys; these are the caller's to forget. */
void ls_udp_connection_drop(udp_connection *connection);

/* ---- transport_udp_in.c ---- */

/* The next event of packets that have come; 0 when there is none in this turn. */
int ls_udp_in_next_event(transport_udp *transport, ls_transport_event *event);

/* See ls_transport_udp_coming. */
uint32_t ls_udp_in_coming(transport_udp *transport, ls_peer_id peers[LS_TRANSPORT_UDP_COMING_MAX]);

#endif
