/* Downlink: what sends closed ticks to one peer and takes its acknowledgements: what it has, how
 * its packets fare in both directions, how long the way is, and which ticks went out in parts.
 * Knows nothing of inputs or seats; never closes a tick, never decides who stays and sends nothing
 * itself. Held by peer_link; called by player_link and spectators too. */
#ifndef LOCKSTEP_SERVER_MATCH_DOWNLINK_H
#define LOCKSTEP_SERVER_MATCH_DOWNLINK_H

#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/protocol/wire/coded_tick.h"
#include "lockstep/protocol/wire/link_meter.h"

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

/* The clock of the match as its links need it. */
typedef struct ls_downlink_clock {
    uint64_t now_ns;
    uint64_t dt_ns;
    uint64_t next_close_ns;       /* when tick `next_close` is due */
    ls_tick next_close;           /* first tick that is not closed */
    const uint64_t *closed_at_ns; /* ring of LS_WINDOW_TICKS */
} ls_downlink_clock;

/* The closed ticks that may be sent. */
typedef struct ls_downlink_ticks {
    const ls_input_buffer *closed;
    const ls_coded_tick *coded; /* ring of LS_WINDOW_TICKS */
    uint32_t slot_count;
    ls_tick end; /* first tick that may not be sent yet; at most the first that is not closed */
} ls_downlink_ticks;

/* Takes what the header of an INPUTS says about the link. `sent_ns`: when tick header->next - 1
 * first went out if it then fitted into TICKS (0: not known); `stamp_ns`: when the packet's newest
 * content was due. A repetition changes nothing; a packet that was overtaken acknowledges nothing.
 */
ls_link_arrival ls_downlink_take(ls_downlink *link, const ls_downlink_clock *clock,
                                 const ls_inputs_header *header, uint64_t sent_ns,
                                 int64_t stamp_ns);

/* Fills in the header of the next TICKS, for a peer that has sent no input. */
void ls_downlink_header(ls_downlink *link, uint64_t now_ns, ls_ticks_header *header);

/* Writes TICKS: the header and the ticks from header->first on, as many as fit. Returns the first
 * tick that did not. */
ls_tick ls_downlink_write(ls_downlink *link, const ls_downlink_ticks *ticks,
                          ls_ticks_header *header, ls_bit_stream *stream);

/* Before which tick parts may go out in this turn, when TICKS has just carried the ticks before
 * `first`; notes what the peer has acknowledged by now. */
ls_tick ls_downlink_take_parts_end(ls_downlink *link, ls_tick first);

/* Whether a tick that is not in TICKS has to go out in parts now; notes that it does. */
bool ls_downlink_take_parts_due(ls_downlink *link, const ls_downlink_clock *clock, ls_tick tick);

/* Writes a closed tick for sending in parts; `is_alone`: against empty inputs and not against the
 * tick before it. Returns the size. */
uint32_t ls_downlink_write_large_tick(const ls_downlink_ticks *ticks, ls_tick tick, bool is_alone,
                                      uint8_t bytes[LS_TICK_BYTES_MAX]);

#endif
