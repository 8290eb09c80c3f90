/* Outbox: everything that leaves a match: reliable messages, packets and events. It owns the memory
 * in which they are written, so that nothing that came in shares it. Events wait packed: it takes
 * more memory when more of them wait than the calls of one turn make. It never decides what is sent
 * or to whom. */
#ifndef LOCKSTEP_SERVER_MATCH_OUTBOX_H
#define LOCKSTEP_SERVER_MATCH_OUTBOX_H

#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/match/match.h"

enum {
    LS_OUTBOX_EVENTS_MAX = 256,
};

/* Laid out here so that sending a packet is inlined; outbox.c alone writes it. */
typedef struct ls_outbox {
    ls_packet_sink sink;
    const ls_allocator *allocator;
    bool is_mute;
    bool has_newest;
    uint32_t packed_count; /* events that wait packed, before the newest one */
    uint32_t packed_first; /* where the oldest of them begins in `packed`, and where they end */
    uint32_t packed_end;
    uint32_t packed_capacity;
    uint8_t *packed;
    uint8_t packet[LS_PACKET_BYTES_MAX];
    ls_message message;
    ls_match_event newest; /* which is filled in */
    ls_match_refusal refusal;
} ls_outbox;

/* For a match of so many players. The sink is copied. NO_MEMORY. */
ls_status ls_outbox_create(const ls_packet_sink *sink, uint32_t players,
                           const ls_allocator *allocator, ls_outbox **out);
void ls_outbox_destroy(ls_outbox *outbox);

/* The message of this kind, to be filled in and sent; its body is what the last message left there.
 * It stays as it is while it is sent to several peers. */
static inline ls_message *ls_outbox_message(ls_outbox *outbox, ls_message_kind kind)
{
    outbox->message.kind = kind;
    return &outbox->message;
}

void ls_outbox_send(ls_outbox *outbox, ls_peer_id peer);

/* Room for LS_PACKET_BYTES_MAX bytes of an unreliable packet, and sends so many of them. */
static inline uint8_t *ls_outbox_packet(ls_outbox *outbox)
{
    return outbox->packet;
}

static inline void ls_outbox_send_packet(ls_outbox *outbox, ls_peer_id peer, size_t size)
{
    outbox->sink.send(outbox->sink.user, peer, LS_CHANNEL_UNRELIABLE, outbox->packet, size);
}

/* Likewise, to the address that the peer's newest packet came from while that is not proven. */
static inline void ls_outbox_answer_packet(ls_outbox *outbox, ls_peer_id peer, size_t size)
{
    outbox->sink.send(outbox->sink.user, peer, LS_CHANNEL_CANDIDATE_PATH, outbox->packet, size);
}

/* Tells a peer why it cannot stay, then closes its connection; or closes the connection alone. */
void ls_outbox_refuse(ls_outbox *outbox, ls_peer_id peer, ls_status status, const char *why);
void ls_outbox_disconnect(ls_outbox *outbox, ls_peer_id peer);

/* From now on ls_outbox_refuse says nothing: the match can be resumed, and who is told of an end
 * would not come back. */
void ls_outbox_mute_refusals(ls_outbox *outbox);

/* A new event to fill in, of this slot and tick or, with 0, of none: it counts as it is when the
 * next one is made or taken. When 256 wait, or as many as there is memory for, the oldest one gives
 * way. */
ls_match_event *ls_outbox_push_event(ls_outbox *outbox, ls_match_event_kind kind, uint32_t slot,
                                     ls_tick tick);

/* The newest refusal that is more than its event says: of a first state or of arithmetic; others
 * are passed over. */
void ls_outbox_note_refusal(ls_outbox *outbox, const ls_match_refusal *refusal);
const ls_match_refusal *ls_outbox_refusal(const ls_outbox *outbox);

/* The oldest event not yet taken, or false. */
bool ls_outbox_next_event(ls_outbox *outbox, ls_match_event *event);

#endif
