/* Transport state: the inside of transport_enet, and what each of its parts notes there. Above it,
 * each calling only those before it: transport_enet_direct.c (packets past ENet),
 * transport_enet_watch.c (datagrams counted, filtered and stamped), transport_enet.c (connections,
 * packets and the loop). No other file includes it. */
#ifndef LOCKSTEP_PROTOCOL_ENET_TRANSPORT_ENET_STATE_H
#define LOCKSTEP_PROTOCOL_ENET_TRANSPORT_ENET_STATE_H

#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/enet/arrival_clock.h"
#include "lockstep/protocol/enet/enet_batch.h"
#include "lockstep/protocol/enet/transport_enet.h"
#include "lockstep/protocol/transport/peer_seats.h"

#include <enet/enet.h>
#include <stdbool.h>

enum {
    IP_UDP_HEADER_BYTES = 20 + 8,
    DATA_CHANNEL = 0,
    CLIENT_SEAT = 0,
};

/* Values of an ENet peer whose change shows that a datagram went to it. */
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
    ENetAddress server;   /* of a client */
    bool is_refused;      /* the client's last word from the other machine */
    ENetPacket *borrowed; /* of the last RECEIVED, or NULL */
    ENetEvent deferred;   /* a packet that waits for those kept before it, or no event */
    uint64_t turn_end;    /* value of total.packets_received at which the turn is over */
    bool is_drained;      /* the socket was found empty in this turn */
    bool has_more;        /* it was not in the last one */

    ls_transport_traffic total;
    uint64_t rejections[LS_DATAGRAM_REJECTION_COUNT];
    ls_peer_seat *heard; /* the sender of the newest datagram that ENet took in, or NULL */
    ls_arrival_clock arrivals;
    uint64_t heard_ns; /* when that datagram arrived */
    uint64_t *queued;  /* a bit for each seat that something was sent to since the last flush */
    uint32_t next_receiver;
    ls_enet_batch *batch;      /* unsequenced packets that leave at the next flush */
    struct kept_packets *kept; /* that have come and have not been taken */
    bool is_flush_needed;      /* ENet may hold something that has not left */

    ls_loop_handler on_ready;
    ls_loop_source *socket_source;
    ls_loop_source *timer_source;
} transport_enet;

static inline uint64_t now_ns(const transport_enet *transport)
{
    return ls_clock_now_ns(&transport->clock);
}

static inline size_t index_of(const transport_enet *transport, const ls_peer_seat *seat)
{
    return (size_t)(seat - transport->seats.seats);
}

static inline ENetPeer *peer_of(const transport_enet *transport, const ls_peer_seat *seat)
{
    return &transport->host->peers[index_of(transport, seat)];
}

static inline peer_view *view_of(const transport_enet *transport, const ls_peer_seat *seat)
{
    return &transport->views[index_of(transport, seat)];
}

/* ---- transport_enet_state.c ---- */

bool ls_enet_is_would_block(int error);

/* After sending has failed. An error of ours or of one peer must not stop the others. */
void ls_enet_note_failure(transport_enet *transport, int error);

/* UDP payload for this seat, past ENet. */
void ls_enet_count_sent(transport_enet *transport, ls_peer_seat *seat, size_t payload_bytes,
                        bool is_datagram);

/* Words that hold a bit for each of so many seats. */
uint32_t ls_enet_queued_words(uint32_t seats);

/* Notes that ENet was given something for this seat; asks for that; all of it has left. */
void ls_enet_note_queued(transport_enet *transport, const ls_peer_seat *seat);
bool ls_enet_is_queued(const transport_enet *transport, const ls_peer_seat *seat);
void ls_enet_forget_queued(transport_enet *transport);

/* ---- transport_enet_direct.c ---- */

/* NO_MEMORY. */
ls_status ls_enet_direct_init(transport_enet *transport);
void ls_enet_direct_deinit(transport_enet *transport);

/* Takes an unreliable packet, to leave at the next flush; false: ENet has to. */
bool ls_enet_direct_send(transport_enet *transport, ls_peer_seat *seat, const uint8_t *bytes,
                         size_t size);
void ls_enet_direct_flush(transport_enet *transport);

/* Keeps a packet that has just come until it is taken, or drops a repeat; false: ENet has to. */
bool ls_enet_direct_keep(transport_enet *transport, ls_peer_seat *seat, const ls_enet_plain *plain);

bool ls_enet_direct_has_kept(const transport_enet *transport);

/* The event of the next kept packet; its bytes are good until ENet takes in datagrams again. */
bool ls_enet_direct_take(transport_enet *transport, ls_transport_event *event);

/* ---- transport_enet_watch.c ---- */

/* For as many seats as there are. NO_MEMORY. */
ls_status ls_enet_watch_init(transport_enet *transport);
void ls_enet_watch_deinit(transport_enet *transport);

/* Puts itself between ENet's host, once there is one, and the network. */
void ls_enet_watch_attach(transport_enet *transport);

/* When a packet that ENet gave us arrived. */
uint64_t ls_enet_watch_arrival(const transport_enet *transport, const ENetPacket *packet);

#endif
