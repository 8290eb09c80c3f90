#include "lockstep/protocol/enet/transport_enet_state.h"

#include <string.h>

/* Unsequenced packets need nothing of ENet but its numbers: it would make three allocations and
 * two queues of each, and a call of the system. The datagrams are ENet's, byte for byte. */

enum {
    KEPT_BYTES = 32 << 10, /* beyond that, packets go through ENet */
    KEPT_PACKETS = 256,
    WORD_BITS = 32,
    WINDOW_BITS = ENET_PEER_UNSEQUENCED_WINDOW_SIZE,
    AHEAD_MAX = ENET_PEER_FREE_UNSEQUENCED_WINDOWS * WINDOW_BITS,
};

/* Where the bytes of each stand follows from the sizes of those before it. */
typedef struct kept_packet {
    ls_peer_id peer;
    uint32_t size;
    uint64_t arrived_ns;
} kept_packet;

struct kept_packets {
    uint32_t count;
    uint32_t next; /* the first that has not been taken */
    size_t bytes_used;
    size_t bytes_taken;
    kept_packet packets[KEPT_PACKETS];
    uint8_t bytes[KEPT_BYTES];
};

/* ---- Sending ---- */

static void send_batch(transport_enet *transport)
{
    int failure = ls_enet_batch_send(transport->batch, transport->host->socket);
    if (failure != 0) {
        ls_enet_note_failure(transport, failure);
    }
}

bool ls_enet_direct_send(transport_enet *transport, ls_peer_seat *seat, const uint8_t *bytes,
                         size_t size)
{
    ENetPeer *peer = peer_of(transport, seat);
    if (peer->state != ENET_PEER_STATE_CONNECTED || ls_enet_is_queued(transport, seat)) {
        return false; /* it must not overtake what ENet holds for the same peer */
    }
    if (!ls_enet_batch_has_room(transport->batch)) {
        send_batch(transport);
    }
    ls_enet_receiver to = {.host = peer->address.host,
                           .port = peer->address.port,
                           .seat = peer->outgoingPeerID,
                           .session = peer->outgoingSessionID};
    bool is_new = false;
    size_t added = ls_enet_batch_add(transport->batch, &to, ++peer->outgoingUnsequencedGroup, bytes,
                                     size, &is_new);
    ls_enet_count_sent(transport, seat, added, is_new);
    return true;
}

void ls_enet_direct_flush(transport_enet *transport)
{
    send_batch(transport);
}

/* ---- Receiving ---- */

/* As ENet itself tells repeats: true when the packet is new, and is from now on known. */
static bool note_group(ENetPeer *peer, uint16_t group)
{
    uint32_t place = group % WINDOW_BITS;
    uint16_t window = (uint16_t)(group - place);
    uint32_t ahead = (uint16_t)(group - peer->incomingUnsequencedGroup);
    if (ahead >= AHEAD_MAX) {
        return false;
    }
    if (window != peer->incomingUnsequencedGroup) {
        peer->incomingUnsequencedGroup = window;
        memset(peer->unsequencedWindow, 0, sizeof peer->unsequencedWindow);
    }
    enet_uint32 *word = &peer->unsequencedWindow[place / WORD_BITS];
    enet_uint32 bit = UINT32_C(1) << place % WORD_BITS;
    bool is_new = (*word & bit) == 0;
    *word |= bit;
    return is_new;
}

bool ls_enet_direct_keep(transport_enet *transport, ls_peer_seat *seat, const ls_enet_plain *plain)
{
    struct kept_packets *kept = transport->kept;
    ENetPeer *peer = peer_of(transport, seat);
    bool has_room = kept->count < KEPT_PACKETS && KEPT_BYTES - kept->bytes_used >= plain->size;
    /* Nor must it overtake what ENet has of the same peer. */
    if (!has_room || seat->state != LS_SEAT_OPEN || peer->state != ENET_PEER_STATE_CONNECTED ||
        !enet_list_empty(&peer->dispatchedCommands)) {
        return false;
    }
    if (note_group(peer, plain->group)) {
        kept->packets[kept->count++] =
            (kept_packet){seat->id, (uint32_t)plain->size, transport->heard_ns};
        memcpy(kept->bytes + kept->bytes_used, plain->bytes, plain->size);
        kept->bytes_used += plain->size;
    }
    return true;
}

bool ls_enet_direct_has_kept(const transport_enet *transport)
{
    return transport->kept->next < transport->kept->count;
}

bool ls_enet_direct_take(transport_enet *transport, ls_transport_event *event)
{
    struct kept_packets *kept = transport->kept;
    while (kept->next < kept->count) {
        const kept_packet *packet = &kept->packets[kept->next++];
        const uint8_t *bytes = kept->bytes + kept->bytes_taken;
        kept->bytes_taken += packet->size;
        const ls_peer_seat *seat = ls_peer_seats_find(&transport->seats, packet->peer);
        if (seat && seat->state == LS_SEAT_OPEN) {
            *event = (ls_transport_event){.kind = LS_TRANSPORT_RECEIVED,
                                          .peer = packet->peer,
                                          .channel = LS_CHANNEL_UNRELIABLE,
                                          .bytes = bytes,
                                          .size = packet->size,
                                          .arrived_ns = packet->arrived_ns};
            return true;
        }
    }
    kept->count = 0;
    kept->next = 0;
    kept->bytes_used = 0;
    kept->bytes_taken = 0;
    return false;
}

/* ---- Making and ending ---- */

ls_status ls_enet_direct_init(transport_enet *transport)
{
    transport->kept = ls_allocate(transport->allocator, sizeof *transport->kept);
    ls_status status = ls_enet_batch_create(transport->allocator, &transport->batch);
    return transport->kept ? status : LS_NO_MEMORY;
}

void ls_enet_direct_deinit(transport_enet *transport)
{
    ls_release(transport->allocator, transport->kept);
    ls_enet_batch_destroy(transport->batch);
}
