/* Seat: one slot's link to its player: the inputs received, what each side has acknowledged, how
 * early inputs come, and the two packets that carry it all. Knows one player only; never closes a
 * tick and never decides who stays. Called by match. */
#ifndef LOCKSTEP_SERVER_SEAT_H
#define LOCKSTEP_SERVER_SEAT_H

#include "lockstep/common/input_buffer.h"
#include "lockstep/protocol/coded_tick.h"
#include "lockstep/protocol/link_meter.h"
#include "lockstep/server/delay_control.h"
#include "lockstep/server/lag_meter.h"
#include "lockstep/server/match.h"

typedef enum ls_seat_state {
    LS_SEAT_EMPTY,
    LS_SEAT_OFFERED,  /* OFFER sent */
    LS_SEAT_READY,    /* READY was good */
    LS_SEAT_PLAYING,  /* from START on */
    LS_SEAT_FINISHED, /* FINISHED received */
    LS_SEAT_LEFT,     /* gone while the match ran; the seat stays empty */
} ls_seat_state;

/* When a tick last went out in parts. */
typedef struct ls_seat_parts {
    ls_tick tick;
    uint64_t sent_ns; /* 0: never */
    bool is_repeated; /* what acknowledges it says nothing about the round trip */
} ls_seat_parts;

typedef struct ls_seat {
    ls_seat_state state;
    ls_match_slot report; /* what the match tells the outside */
    ls_input_buffer *received;
    uint32_t input_bytes_max;
    ls_tick wanted; /* first input tick that is still wanted */
    ls_tick next;   /* first closed tick that the client has not acknowledged, as its newest says */
    ls_tick newest; /* newest input tick received */
    bool has_newest;
    bool is_arrival_reported;
    bool is_leave_pending; /* LEFT goes into the next tick closed */
    uint64_t newest_arrival_ns;
    uint64_t asked_ns;   /* when its roots were last asked for */
    ls_tick chain_tick;  /* of the newest state that it has hashed, as its newest INPUTS says */
    uint64_t desync_ns;  /* when it was last found to differ */
    bool is_desync_open; /* and what made it so has not been looked into yet */
    uint64_t heard_ns;   /* when anything well-formed last came */
    uint64_t offered_ns;
    int32_t slack; /* least since the last TICKS, LS_SLACK_NONE when none came */
    ls_link_meter uplink;
    uint64_t uplink_told_ns;
    ls_client_health health; /* what the client said last */
    ls_lag_meter lag;
    ls_delay_control delay;
    ls_lag_cause told_cause; /* of the newest news about it, and its time */
    uint64_t lag_told_ns;
    uint32_t unstepped_ticks; /* that the client has and has not stepped, as its newest says */
    bool is_losing;           /* the downlink is lossy (send_rate.h) */
    uint32_t sequence;        /* of the next TICKS */
    uint32_t malformed;
    uint32_t packets_since_tick;
    ls_seat_parts parts[LS_TICK_PARTS_AHEAD]; /* tick t stands at t % LS_TICK_PARTS_AHEAD */
} ls_seat;

/* The clock of the match as a seat needs it. */
typedef struct ls_seat_clock {
    uint64_t now_ns;
    uint64_t dt_ns;
    uint64_t next_close_ns;       /* when tick `next_close` is due */
    ls_tick next_close;           /* first tick that is not closed */
    const uint64_t *closed_at_ns; /* ring of LS_WINDOW_TICKS */
} ls_seat_clock;

/* What the match has closed, as a seat needs it. */
typedef struct ls_seat_ticks {
    const ls_input_buffer *closed;
    const ls_coded_tick *coded; /* ring of LS_WINDOW_TICKS */
    uint32_t slot_count;
} ls_seat_ticks;

ls_status ls_seat_init(ls_seat *seat, uint32_t input_bytes_max, const ls_allocator *allocator);
void ls_seat_deinit(ls_seat *seat);

/* Forgets the player that sat here; keeps the memory. */
void ls_seat_reset(ls_seat *seat);

/* Goes through the inputs behind a header that has been read from `stream`, to their end, then
 * stores what is new. MALFORMED, STALE or FUTURE change nothing. `cursor` is working memory. */
ls_status ls_seat_read_inputs(ls_seat *seat, const ls_seat_clock *clock,
                              const ls_inputs_header *header, ls_bit_stream stream,
                              ls_tick_cursor *cursor);

/* The slot's input for the tick that is being closed; moves `wanted` on. *is_on_time is false when
 * there is none: then `before` (the slot's input of the tick before) is repeated. */
ls_slot_input ls_seat_close_input(ls_seat *seat, ls_tick tick, const ls_slot_input *before,
                                  bool *is_on_time);

/* Writes TICKS: the closed ticks from seat->next on, as many as fit. Returns the size; *end is the
 * first closed tick that did not. */
size_t ls_seat_write_ticks(ls_seat *seat, const ls_seat_clock *clock, const ls_seat_ticks *ticks,
                           uint8_t bytes[LS_PACKET_BYTES_MAX], ls_tick *end);

/* Whether a closed tick that is not in TICKS has to go out in parts now; notes that it does. */
bool ls_seat_take_parts_due(ls_seat *seat, const ls_seat_clock *clock, ls_tick tick);

/* Codes a closed tick by itself, for sending in parts. Returns the size. */
uint32_t ls_seat_write_large_tick(const ls_seat_ticks *ticks, ls_tick tick,
                                  uint8_t bytes[LS_TICK_BYTES_MAX]);

#endif
