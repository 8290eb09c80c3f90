/* Peer link: the server's end of the connection to one peer, player or spectator: the downlink,
 * which sends it closed ticks and takes its acknowledgements; when it was last heard and last got
 * further, and how often it broke the rules. Knows nothing of inputs or seats. It judges, its owner
 * acts: it never closes a tick or a connection. */
#ifndef LOCKSTEP_SERVER_MATCH_PEER_LINK_H
#define LOCKSTEP_SERVER_MATCH_PEER_LINK_H

#include "lockstep/common/base/fault.h"
#include "lockstep/protocol/blob/blob_sender.h"
#include "lockstep/protocol/wire/link_meter.h"
#include "lockstep/server/match/outbox.h"
#include "lockstep/server/match/tick_log.h"

/* Of a packet, below it: IPv4, UDP, ENet. */
enum {
    LS_PEER_LINK_HEADER_BYTES = 40,
    LS_PEER_LINK_PACKETS_PER_TICK_MAX = 256,
};

/* When a tick last went out in parts. */
typedef struct ls_downlink_parts {
    uint64_t sent_ns; /* 0: never */
    ls_tick tick;
    bool is_repeated; /* what acknowledges it says nothing about the round trip */
} ls_downlink_parts;

/* The ticks that were sent to an address that is not proven. */
typedef struct ls_answered_ticks {
    ls_tick end;       /* behind the last tick */
    ls_tick next;      /* the downlink's, when it last got on */
    uint64_t moved_ns; /* when that was */
} ls_answered_ticks;

typedef struct ls_downlink {
    ls_tick next; /* first closed tick that the peer has not acknowledged, as its newest says */
    ls_tick fitted_end;  /* behind the last tick that any TICKS carried */
    ls_tick delayed_end; /* behind the last tick that did not fit into TICKS once it was closed */
    ls_tick alone; /* coded against empty inputs, for who does not hold the one before it; or 0 */
    ls_answered_ticks answered;
    uint32_t sequence; /* of the next TICKS */
    ls_sent_ends sent;
    uint64_t rtt_ns; /* smoothed; 0 until measured */
    ls_link_meter uplink;
    uint64_t uplink_told_ns;
    uint64_t uplink_told_lost;                    /* packets */
    ls_client_health health;                      /* what the peer said last */
    ls_send_loss loss;                            /* of the downlink, as reported */
    ls_tick parts_next;                           /* `next` when parts were last to be sent */
    ls_downlink_parts parts[LS_TICK_PARTS_AHEAD]; /* tick t stands at t % LS_TICK_PARTS_AHEAD */
} ls_downlink;

/* A loss of the uplink is to be reported at once: from then on packets do not wait. */
static inline bool ls_downlink_has_new_loss(const ls_downlink *link, const ls_match *match)
{
    return match->config.send_rate == LS_SEND_SAVING && link->uplink.lost != link->uplink_told_lost;
}

typedef struct ls_peer_link {
    uint64_t heard_ns;    /* when anything well-formed last came */
    uint64_t told_ns;     /* when it was last sent TICKS */
    uint64_t progress_ns; /* when the peer last got further towards playing or watching */
    uint32_t packets;     /* since it was last sent TICKS */
    uint32_t malformed;
    uint32_t parts_held; /* of the blob that it is sent, acknowledged */
    ls_downlink downlink;
} ls_peer_link;

#define LS_PEER_LINK_FLOOD "more than 256 packets a tick"
#define LS_PEER_LINK_SILENT "nothing was heard within the timeout"
#define LS_PEER_LINK_FELL_BEHIND "more ticks are unacknowledged than the server holds"

/* Why a peer has to go. */
typedef struct ls_departure {
    ls_status status; /* LS_OK: it may stay */
    const char *why;
} ls_departure;

/* The peer has been sent OFFER, or JOIN: its time to answer begins. */
void ls_peer_link_start_waiting(ls_peer_link *link, uint64_t now_ns);

/* Its next TICKS begins with `tick`, which is coded alone when the peer does not hold the one
 * before. */
void ls_peer_link_start_ticks(ls_peer_link *link, ls_tick tick, bool is_keyframe);

/* A packet has come. False when it is one of a flood; `sent_ns`: when TICKS last went out. */
static inline bool ls_peer_link_count_packet(ls_peer_link *link, const ls_match *match,
                                             uint64_t sent_ns)
{
    if (++link->packets <= LS_PEER_LINK_PACKETS_PER_TICK_MAX || LS_FAULT(FLOOD_READ)) {
        return true;
    }
    uint64_t ticks = (match->now_ns - sent_ns) / match->dt_ns;
    return link->packets <= (ticks + 1) * LS_PEER_LINK_PACKETS_PER_TICK_MAX;
}

/* The peer's packet was rejected with this status. */
ls_departure ls_peer_link_judge(ls_peer_link *link, ls_status status);

/* The peer has said GOODBYE. */
ls_departure ls_peer_link_goodbye(const ls_close_reason *said);

/* Nothing came for the timeout; nothing got further for `limit_ns`; more ticks are unacknowledged
 * than the server holds. */
static inline bool ls_peer_link_is_silent(const ls_peer_link *link, const ls_match *match)
{
    return match->now_ns - link->heard_ns >= ls_match_timeout_ns(match);
}

static inline bool ls_peer_link_is_stuck(const ls_peer_link *link, const ls_match *match,
                                         uint64_t limit_ns)
{
    return match->now_ns - link->progress_ns >= limit_ns;
}

static inline bool ls_peer_link_fell_behind(const ls_peer_link *link, const ls_tick_log *log)
{
    /* The tick before the next one to send is its base and must be held as well. */
    return log->next - link->downlink.next + 1 >= LS_WINDOW_TICKS;
}

/* How long a peer may take for each step of joining. */
uint64_t ls_peer_link_join_limit_ns(const ls_match *match);

/* Reads the header of an INPUTS into one that is all zero. MALFORMED: it is none, or its chain
 * covers no state of this match. */
ls_status ls_peer_link_read_header(const ls_peer_link *link, const ls_tick_log *log,
                                   ls_bit_stream *stream, ls_inputs_header *header);

/* Takes a BLOB_ACK for what `sender` streams to the peer. */
ls_status ls_peer_link_receive_blob_ack(ls_peer_link *link, const ls_match *match,
                                        ls_blob_sender *sender, const uint8_t *bytes, size_t size);

/* ---- closed ticks ---- */

/* Takes what the header of an INPUTS says about the link. `sent_ns`: when tick header->next - 1
 * first went out if it then fitted into TICKS (0: not known); `stamp_ns`: when the packet's newest
 * content was due. A repetition changes nothing; a packet that was overtaken acknowledges nothing.
 */
ls_link_arrival ls_downlink_receive(ls_downlink *link, const ls_match *match,
                                    const ls_inputs_header *header, uint64_t sent_ns,
                                    int64_t stamp_ns);

/* The first tick that the next TICKS to a player carries, of those before `end`: the first that is
 * not acknowledged, unless a later one will do. */
ls_tick ls_downlink_first(const ls_downlink *link, const ls_match *match, ls_tick end);

/* Fills in the header of the next TICKS, for a peer that has sent no input. */
void ls_downlink_header(ls_downlink *link, const ls_match *match, ls_ticks_header *header);

/* Writes TICKS: the header and the ticks from header->first to before `end`, as many as fit.
 * Returns the first tick that did not. */
ls_tick ls_downlink_write(ls_downlink *link, const ls_tick_log *log, ls_tick end,
                          ls_ticks_header *header, ls_bit_stream *stream);

/* Writes a TICKS that answers to an address which is not proven: the ticks that were not sent there
 * yet, from the oldest on that is not acknowledged, as many as fit into `stream`; of the header
 * `first` and `sequence` are filled in. False when none fits, or there is none. */
bool ls_downlink_write_answer(ls_downlink *link, const ls_match *match, ls_ticks_header *header,
                              ls_bit_stream *stream);

/* Before which tick parts may go out in this turn, when TICKS has just carried the ticks before
 * `first`; notes what the peer has acknowledged by now. */
ls_tick ls_downlink_advance_parts_end(ls_downlink *link, ls_tick first);

/* Whether a tick that is not in TICKS has to go out in parts now; notes that it does. */
bool ls_downlink_claim_parts_due(ls_downlink *link, const ls_match *match, ls_tick tick);

/* Sends the ticks from `first` to before `end`, which did not fit into the TICKS that went out just
 * now, in parts, as far as that is due: if each waited until the ticks before it are acknowledged,
 * no more than a packet would be confirmed in a round trip. Returns the bytes, headers counted. */
size_t ls_peer_link_send_parts(ls_peer_link *link, const ls_match *match, ls_peer_id peer,
                               ls_tick first, ls_tick end);

#endif
