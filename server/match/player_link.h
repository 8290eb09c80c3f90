/* Player link: one slot's link to its player: the connection, the inputs received, how early they
 * come, and the two packets that carry it all. Knows one player only; never closes a tick and never
 * decides who stays. */
#ifndef LOCKSTEP_SERVER_MATCH_PLAYER_LINK_H
#define LOCKSTEP_SERVER_MATCH_PLAYER_LINK_H

#include "lockstep/common/lag/lag_meter.h"
#include "lockstep/common/lag/lag_notes.h"
#include "lockstep/server/match/match_context.h"
#include "lockstep/server/match/outbox.h"
#include "lockstep/server/match/peer_link.h"

/* ---- Player lag: what one player's match suffers from, and the input delay that it plays with.
 * Hands the facts of each closed tick to the meter (common/lag), keeps its verdict, and says what
 * the delay is to the player's client and as an event ---- */

typedef struct ls_player_lag {
    /* Of this connection. */
    ls_delay_control delay;
    ls_lag_said said;

    uint32_t input_delay_ticks;
    ls_lag_meter meter;
    ls_lag lag; /* of the last five seconds */
} ls_player_lag;

/* The player: its slot for events, and its peer for messages. */
typedef struct ls_player_name {
    uint32_t slot;
    ls_peer_id peer;
} ls_player_name;

/* The player begins to play, or goes on after it was away (`has_played`). */
void ls_player_lag_begin(ls_player_lag *lag, const ls_match *match, bool has_played);

/* A tick has been closed: counts how it came about for this player; fills the input delay into
 * `tick`. True when there is a verdict that is to be said. */
bool ls_player_lag_count(ls_player_lag *lag, const ls_match *match, ls_player_name who,
                         ls_lag_tick *tick);

/* The player's input delay changes. */
void ls_player_lag_set_delay(ls_player_lag *lag, const ls_match *match, ls_peer_id peer,
                             uint32_t ticks);

/* Figures of a player that outlive its connection. */
typedef struct ls_player_figures {
    uint64_t inputs_on_time;
    uint64_t inputs_late;
    uint64_t inputs_substituted;
    uint64_t packets_rejected;
    int64_t slack_ns;
    uint32_t ticks_behind;
    ls_player_lag lag;
} ls_player_figures;

/* Closed ticks whose inputs may still come, and may serve as a base. */
#define LS_PLAYER_INPUTS_KEPT_TICKS 256u
/* Ticks whose inputs are held: those, and those ahead. */
#define LS_PLAYER_INPUTS_TICKS (LS_PLAYER_INPUTS_KEPT_TICKS + LS_LEAD_TICKS_MAX)

typedef struct ls_player_link {
    /* Every packet and every tick needs these; see ls_player_link_prefetch. */
    uint32_t slot;
    uint32_t input_bytes_max;
    ls_input_buffer *received; /* NULL before it is opened */
    ls_tick wanted;            /* first input tick that is still wanted */
    ls_tick newest;            /* newest input tick received */
    bool has_newest;
    ls_tick unread; /* the input behind a base against which INPUTS could not be read; 0: none */
    bool is_arrival_reported;
    bool is_uneven;    /* inputs of the newest packet were not made when they were due */
    uint64_t late_ns;  /* by which the latest input of the newest packet came after its closing */
    ls_send_loss loss; /* of the way here, as its client was told last */
    int32_t slack;     /* least since the last TICKS, LS_SLACK_NONE when none came */
    uint64_t newest_arrival_ns;
    uint64_t substituted[LS_PLAYER_INPUTS_KEPT_TICKS / 64]; /* a bit for each closed tick */
    ls_tick chain_tick; /* of the newest state that it has hashed, as its newest INPUTS says */
    uint32_t unstepped_ticks; /* that the client has and has not stepped, as its newest says */
    ls_tick joined_at;        /* the tick that was to be closed next when JOIN was sent */
    ls_tick sealed_end;       /* behind the last tick that a seal was of */
    uint64_t sealed_ns;       /* when that one went out */
    ls_peer_link peer;
    ls_player_figures figures;
    ls_player_figures past; /* of the player before, until this one counts */
} ls_player_link;

/* The player at the other end of the link has changed. */
typedef enum ls_player_change {
    LS_PLAYER_SAME,
    LS_PLAYER_CLEARED,  /* to nobody, as if nobody had been there */
    LS_PLAYER_NEWCOMER, /* to a player who has not been here: the figures of the one before are put
                         * aside */
    LS_PLAYER_TAKEN_BACK, /* to nobody: the newcomer left before it counted; the figures come back
                           */
    LS_PLAYER_RETURNED,   /* to the same player on another connection: the figures stay */
} ls_player_change;

/* Open takes the memory for inputs, of a link without a player; close gives it back. NO_MEMORY. */
void ls_player_link_init(ls_player_link *link, uint32_t slot, uint32_t input_bytes_max);
ls_status ls_player_link_open(ls_player_link *link, const ls_allocator *allocator);
void ls_player_link_close(ls_player_link *link);
void ls_player_link_change(ls_player_link *link, ls_player_change change);

/* The player is sent JOIN, with a state from which on tick `first` is the first that it lacks. */
void ls_player_link_join(ls_player_link *link, ls_tick first, bool is_keyframe, ls_tick next_close,
                         uint64_t now_ns);

/* Tick `tick` is closed without this player's input. */
void ls_player_link_pass_tick(ls_player_link *link, ls_tick tick);

/* Goes through the inputs behind a header that has been read from `stream`, to their end, then
 * stores what is new. MALFORMED, STALE or FUTURE change nothing but that the base, if there is one,
 * is not offered again as one. `cursor` is working memory. */
ls_status ls_player_link_read_inputs(ls_player_link *link, const ls_match *match,
                                     const ls_inputs_header *header, ls_bit_stream *stream,
                                     ls_tick_cursor *cursor);

/* The player's input for the tick that is being closed; moves `wanted` on. *is_on_time is false
 * when there is none: then `before` (the slot's input of the tick before) is repeated. */
ls_slot_input ls_player_link_close_input(ls_player_link *link, ls_tick tick,
                                         const ls_slot_input *before, bool *is_on_time);

/* Writes TICKS: the closed ticks from the downlink's next to before *end, as many as fit. Returns
 * the size; *end becomes the first tick that did not. */
size_t ls_player_link_write_ticks(ls_player_link *link, const ls_match *match, ls_tick *end,
                                  uint8_t bytes[LS_PACKET_BYTES_MAX]);

/* Writes a TICKS of at most room_bytes that answers to an address which is not proven. Returns the
 * size, or 0 when no tick fits or none is unacknowledged. */
size_t ls_player_link_write_answer(ls_player_link *link, const ls_match *match, size_t room_bytes,
                                   uint8_t bytes[LS_PACKET_BYTES_MAX]);

/* Asks for the memory that the next tick will need, in two steps. */
void ls_player_link_prefetch(const ls_player_link *link);
void ls_player_link_prefetch_more(const ls_player_link *link, ls_tick next_close);

#endif
