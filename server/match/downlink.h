/* Downlink: what sends closed ticks to one peer and takes its acknowledgements: what it has, how
 * its packets fare in both directions, how long the way is, and which ticks went out in parts.
 * Knows nothing of inputs or seats; never closes a tick, never decides who stays and sends nothing
 * itself. Held by peer_link; called by player_link and spectators too. */
#ifndef LOCKSTEP_SERVER_MATCH_DOWNLINK_H
#define LOCKSTEP_SERVER_MATCH_DOWNLINK_H

#include "lockstep/protocol/wire/link_meter.h"
#include "lockstep/server/match/tick_log.h"

/* When a tick last went out in parts. */
typedef struct ls_downlink_parts {
    uint64_t sent_ns; /* 0: never */
    ls_tick tick;
    bool is_repeated; /* what acknowledges it says nothing about the round trip */
} ls_downlink_parts;

typedef struct ls_downlink {
    ls_tick next; /* first closed tick that the peer has not acknowledged, as its newest says */
    ls_tick fitted_end;  /* behind the last tick that any TICKS carried */
    ls_tick delayed_end; /* behind the last tick that did not fit into TICKS once it was closed */
    ls_tick alone; /* coded against empty inputs, for who does not hold the one before it; or 0 */
    uint32_t sequence; /* of the next TICKS */
    uint64_t rtt_ns;   /* smoothed; 0 until measured */
    ls_link_meter uplink;
    uint64_t uplink_told_ns;
    ls_client_health health;                      /* what the peer said last */
    bool is_losing;                               /* the downlink is lossy (send_rate.h) */
    ls_tick parts_next;                           /* `next` when parts were last to be sent */
    ls_downlink_parts parts[LS_TICK_PARTS_AHEAD]; /* tick t stands at t % LS_TICK_PARTS_AHEAD */
} ls_downlink;

/* Takes what the header of an INPUTS says about the link. `sent_ns`: when tick header->next - 1
 * first went out if it then fitted into TICKS (0: not known); `stamp_ns`: when the packet's newest
 * content was due. A repetition changes nothing; a packet that was overtaken acknowledges nothing.
 */
ls_link_arrival ls_downlink_take(ls_downlink *link, const ls_match_context *match,
                                 const ls_inputs_header *header, uint64_t sent_ns,
                                 int64_t stamp_ns);

/* Fills in the header of the next TICKS, for a peer that has sent no input. */
void ls_downlink_header(ls_downlink *link, const ls_match_context *match, ls_ticks_header *header);

/* Writes TICKS: the header and the ticks from header->first to before `end`, as many as fit.
 * Returns the first tick that did not. */
ls_tick ls_downlink_write(ls_downlink *link, const ls_tick_log *log, ls_tick end,
                          ls_ticks_header *header, ls_bit_stream *stream);

/* Before which tick parts may go out in this turn, when TICKS has just carried the ticks before
 * `first`; notes what the peer has acknowledged by now. */
ls_tick ls_downlink_take_parts_end(ls_downlink *link, ls_tick first);

/* Whether a tick that is not in TICKS has to go out in parts now; notes that it does. */
bool ls_downlink_take_parts_due(ls_downlink *link, const ls_match_context *match, ls_tick tick);

#endif
