/* State handover: the way of a state to those who come, players or spectators: the blob that holds
 * it, its streams, and the parts of OFFER and JOIN that are the same for everybody. A blob and its
 * streams take a hundred times the memory of a small match: they have it while a state is on its
 * way. Decides neither who may come nor which state they are sent. */
#ifndef LOCKSTEP_SERVER_MATCH_STATE_HANDOVER_H
#define LOCKSTEP_SERVER_MATCH_STATE_HANDOVER_H

#include "lockstep/protocol/blob/blob.h"
#include "lockstep/server/match/seat_table.h"

/* ---- what may be sent ---- */

typedef struct ls_send_budget {
    uint64_t bytes_per_s;
    int64_t left; /* may be overdrawn by what was sent last */
    uint64_t filled_ns;
} ls_send_budget;

/* bytes_per_s: 1 .. 2^40. Full at first: what is due for half a second. */
ls_send_budget ls_send_budget_make(uint64_t bytes_per_s, uint64_t now_ns);

/* Adds what is due for the time since the last call; `now_ns` never goes back. */
void ls_send_budget_fill(ls_send_budget *budget, uint64_t now_ns);

bool ls_send_budget_is_spent(const ls_send_budget *budget);
void ls_send_budget_spend(ls_send_budget *budget, size_t bytes);

/* ---- the state ---- */

#define LS_NOT_HANDED_ON "the state of this simulation cannot be handed on"
#define LS_NO_ROOM_TO_HAND_ON "the server has no memory left to send it its state"
#define LS_NOT_TAKEN "it was sent its state many times over, and has not taken it"
#define LS_TAKEN_TOO_SLOWLY "it took its state too slowly, and others wait for theirs"

/* A peer that comes again and again is sent a state every so often, and some at once: each costs a
 * save, a compression, and the others who come their part of the blob. The states that it was sent
 * are kept as the time at which they are paid for. */
#define LS_STATE_SHARE_NS (UINT64_C(2) * LS_NS_PER_SECOND)
#define LS_STATES_AT_ONCE 8u

static inline bool ls_state_share_is_spent(uint64_t paid_ns, uint64_t now_ns)
{
    return paid_ns > now_ns + (LS_STATES_AT_ONCE - 1) * LS_STATE_SHARE_NS;
}

static inline uint64_t ls_state_share_pay(uint64_t paid_ns, uint64_t now_ns)
{
    return LS_MAX(paid_ns, now_ns) + LS_STATE_SHARE_NS;
}

/* Why a peer that comes cannot be sent its state. */
static inline const char *ls_handover_refusal(ls_status status)
{
    return status == LS_NO_MEMORY ? LS_NO_ROOM_TO_HAND_ON : LS_NOT_HANDED_ON;
}

/* The most that goes out of one state to one peer, in bytes with the headers below: four times what
 * it is, and what the sender may try in vain by the time that a peer which takes nothing is given
 * up. */
uint64_t ls_handover_bytes_max(uint32_t blob_bytes);

#define LS_HANDOVER_STREAMS_MAX 32u /* of them at once; the others wait */

/* A blob on its way to a peer. */
typedef struct ls_handover_stream {
    ls_blob_sender *sender; /* NULL: the stream is free, and was not prepared */
    ls_peer_id peer;        /* 0: free */
    uint64_t began_ns;
} ls_handover_stream;

typedef struct ls_handover_config {
    uint32_t streams;        /* 1 .. LS_HANDOVER_STREAMS_MAX */
    uint32_t burst_packets;  /* that a stream sends at a time */
    uint32_t kept_bytes_max; /* a blob of so many bytes is kept while nobody is sent it */
} ls_handover_config;

typedef struct ls_handover {
    const ls_match *match;
    ls_handover_config config;
    ls_blob *blob;          /* NULL: none is needed now */
    uint32_t stream_count;  /* 0: a state is too large to be handed on */
    uint32_t busy_count;    /* streams that are not free */
    uint64_t kept_until_ns; /* a player that lost its link may come back for the rest of the blob */
    ls_state_copy in_blob;  /* the state that it holds, or leads to; size 0: none */
    ls_handover_stream streams[LS_HANDOVER_STREAMS_MAX];
} ls_handover;

/* States have so many bytes, 0: it is not known. Takes no memory. */
void ls_handover_init(ls_handover *handover, const ls_match *match,
                      const ls_handover_config *config, size_t bytes);
void ls_handover_deinit(ls_handover *handover);

/* The blob becomes this state: its bytes; the ticks that lead to it, of a simulation that cannot
 * save; the live state, when it has no bytes. No peer may be sent the blob now. UNSUPPORTED,
 * NO_MEMORY, or what saving says. */
ls_status ls_handover_fill(ls_handover *handover, const ls_state_copy *copy);

/* Takes the memory of the next stream, which has as many bytes a second as the match allows. STALE:
 * none is free. NO_MEMORY. */
ls_status ls_handover_prepare(ls_handover *handover);

/* The peer's stream, or with peer 0 a free one; NULL: there is none. */
ls_handover_stream *ls_handover_find(ls_handover *handover, ls_peer_id peer);

/* A stream is prepared. Makes a JOIN one with the blob, which is number `number` of this
 * connection, and begins to stream it; `how` says so in words. */
void ls_handover_start(ls_handover *handover, ls_peer_id peer, ls_join *join, uint32_t number,
                       ls_text *how);

/* Nothing happens when the peer has no stream. A blob that is not kept goes with the last stream of
 * it. */
void ls_handover_stop(ls_handover *handover, ls_peer_id peer);

/* A blob that nobody is sent goes when it has been kept for long enough. */
void ls_handover_release_idle(ls_handover *handover);

/* A peer that has been sent all that it may be of its blob; or has taken it more slowly than this
 * for some seconds: others who wait for theirs need not wait for that. 0: there is none. */
ls_peer_id ls_handover_slowest(const ls_handover *handover, uint64_t bytes_per_s);

/* Whether that can be said of this peer; false when it has no stream. */
bool ls_handover_is_slow(const ls_handover *handover, ls_peer_id peer, uint64_t bytes_per_s);

/* Takes a BLOB_ACK. NOT_FOUND: the peer has no stream. */
ls_status ls_handover_receive_ack(ls_handover *handover, ls_peer_id peer, ls_peer_link *link,
                                  const uint8_t *bytes, size_t size);

/* Sends what is due, and as the budget allows; NULL: it is not limited. */
void ls_handover_send(ls_handover *handover, ls_handover_stream *stream, ls_send_budget *budget);

/* Makes the outgoing message an OFFER, but for what belongs to a seat. */
ls_offer *ls_handover_begin_offer(const ls_match *match);

/* Makes the outgoing message a JOIN of this peer with the state that it has at `tick`. */
ls_join *ls_handover_begin_join(const ls_match *match, ls_peer_id peer, ls_tick tick);

/* Tells a peer that the match has ended. */
void ls_handover_send_end(const ls_match *match, ls_peer_id peer);

#endif
