/* Seat: one slot's link to its player: its downlink, the inputs received, how early they come, and
 * the two packets that carry it all. Knows one player only; never closes a tick and never decides
 * who stays. Called by match. */
#ifndef LOCKSTEP_SERVER_MATCH_SEAT_H
#define LOCKSTEP_SERVER_MATCH_SEAT_H

#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/match/delay_control.h"
#include "lockstep/server/match/downlink.h"
#include "lockstep/server/match/lag_meter.h"
#include "lockstep/server/match/match.h"

typedef enum ls_seat_state {
    LS_SEAT_EMPTY,
    LS_SEAT_OFFERED,  /* OFFER sent */
    LS_SEAT_READY,    /* READY was good */
    LS_SEAT_JOINING,  /* JOIN sent; it catches up with a running match */
    LS_SEAT_PLAYING,  /* from START on, or from a good JOINED */
    LS_SEAT_FINISHED, /* FINISHED received */
    LS_SEAT_KEPT,     /* its link was lost while the match ran; it is kept for its player */
    LS_SEAT_LEFT,     /* gone while the match ran; the seat is free for whoever comes */
} ls_seat_state;

/* A seat as its last player left it. */
typedef struct ls_seat_past {
    ls_seat_state state;
    ls_seat_generations generations;
    ls_match_slot report;
    ls_lag_meter lag;
} ls_seat_past;

typedef struct ls_seat {
    /* What every packet and every tick needs stands together; see match_warm.c. */
    ls_seat_state state;
    uint32_t input_bytes_max;
    ls_input_buffer *received;
    ls_tick wanted; /* first input tick that is still wanted */
    ls_tick newest; /* newest input tick received */
    bool has_newest;
    ls_tick unread; /* the input behind a base against which INPUTS could not be read; 0: none */
    bool is_arrival_reported;
    bool is_leave_pending; /* LEFT goes into the next tick closed */
    bool is_in_band;       /* the simulation has been told JOINED, and not LEFT since */
    int32_t slack;         /* least since the last TICKS, LS_SLACK_NONE when none came */
    uint64_t newest_arrival_ns;
    uint64_t heard_ns;  /* when anything well-formed last came */
    ls_tick chain_tick; /* of the newest state that it has hashed, as its newest INPUTS says */
    uint32_t unstepped_ticks; /* that the client has and has not stepped, as its newest says */
    uint32_t packets_since_tick;
    uint32_t malformed;
    ls_tick play_from;    /* the first tick that may have its input */
    ls_tick joined_at;    /* the tick that was to be closed next when JOIN was sent */
    uint32_t sender;      /* which of the match's streams its blob; MATCH_NO_SENDER: none */
    uint64_t asked_ns;    /* when its state hashes were last asked for */
    ls_match_slot report; /* what the match tells the outside */
    ls_downlink downlink;
    ls_lag_meter lag;

    ls_delay_control delay;
    ls_lag_cause told_cause; /* of the newest events about it, and its time */
    uint64_t lag_told_ns;
    uint64_t desync_ns;  /* when it was last found to differ */
    bool is_desync_open; /* and what made it so has not been looked into yet */
    uint64_t offered_ns;

    /* Coming late and coming back. */
    ls_seat_generations generations;
    ls_seat_past past;       /* OFFERED, to a newcomer */
    uint64_t kept_until_ns;  /* KEPT */
    ls_return back;          /* as HELLO said it; match_id 0: a newcomer */
    ls_tick join_tick;       /* of the JOIN that it was sent */
    uint64_t join_hash;      /* of the state that it brought; 0: none */
    uint64_t progress_ns;    /* JOINING: when it last got further */
    ls_tick progress_tick;   /* how far it has simulated */
    uint32_t progress_parts; /* how much of the blob it has */
    uint32_t blobs;          /* that this connection was sent */
} ls_seat;

ls_status ls_seat_init(ls_seat *seat, uint32_t input_bytes_max, const ls_allocator *allocator);
void ls_seat_deinit(ls_seat *seat);

/* Forgets the player that sat here; keeps the memory, the turns and what the simulation was told.
 */
void ls_seat_reset(ls_seat *seat);

/* A newcomer sits down, with the seat's next turn; or is gone before it was READY, which leaves the
 * seat to who sat there before: figures, state, and the right to come back. */
void ls_seat_take(ls_seat *seat);
void ls_seat_untake(ls_seat *seat);

/* It was offered to somebody who has not sat here before. */
bool ls_seat_has_newcomer(const ls_seat *seat);

/* Forgets the connection alone: its player has come back on another one. */
void ls_seat_reconnect(ls_seat *seat);

/* The simulation will be told LEFT in the next tick, if it was told JOINED: who has not joined does
 * not leave, and nobody has before tick 0 is closed. */
void ls_seat_leave_band(ls_seat *seat);

/* Tick `tick` is closed without this seat's input. */
void ls_seat_pass_tick(ls_seat *seat, ls_tick tick);

/* Goes through the inputs behind a header that has been read from `stream`, to their end, then
 * stores what is new. MALFORMED, STALE or FUTURE change nothing but that the base, if there is one,
 * is not offered again as one. `cursor` is working memory. */
ls_status ls_seat_read_inputs(ls_seat *seat, const ls_downlink_clock *clock,
                              const ls_inputs_header *header, ls_bit_stream stream,
                              ls_tick_cursor *cursor);

/* The slot's input for the tick that is being closed; moves `wanted` on. *is_on_time is false when
 * there is none: then `before` (the slot's input of the tick before) is repeated. */
ls_slot_input ls_seat_close_input(ls_seat *seat, ls_tick tick, const ls_slot_input *before,
                                  bool *is_on_time);

/* Writes TICKS: the closed ticks from the downlink's next on, as many as fit. Returns the size;
 * *end is the first closed tick that did not. */
size_t ls_seat_write_ticks(ls_seat *seat, const ls_downlink_clock *clock,
                           const ls_downlink_ticks *ticks, uint8_t bytes[LS_PACKET_BYTES_MAX],
                           ls_tick *end);

#endif
