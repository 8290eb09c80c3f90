/* Match state: the inside of a match, shared by match.c (who is in it: greeting, leaving),
 * match_seats.c (whose seat it is), match_join.c (coming late and coming back), match_play.c (what
 * is played: closing, comparing, ending), match_send.c (closed ticks going out), match_lag.c (who
 * lags and why), match_desync.c (what made a slot differ, and what is done about it),
 * match_record.c (what a recorder takes), match_spectators.h (who watches), match_resume.c (going
 * on after a restart), and the few helpers that they need. Never included by anybody else. */
#ifndef LOCKSTEP_SERVER_MATCH_MATCH_STATE_H
#define LOCKSTEP_SERVER_MATCH_MATCH_STATE_H

#include "lockstep/common/base/clock.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/protocol/blob/blob_sender.h"
#include "lockstep/server/match/aged_state.h"
#include "lockstep/server/match/arbiter.h"
#include "lockstep/server/match/investigation.h"
#include "lockstep/server/match/match.h"
#include "lockstep/server/match/seat.h"
#include "lockstep/server/match/tick_history.h"

enum {
    MATCH_EVENTS_MAX = 256,
    MATCH_PENDING_MAX = 64, /* connected, but not seated */
    MATCH_MALFORMED_MAX = 64,
    MATCH_PACKETS_PER_TICK_MAX = 256,
    MATCH_PARTS_PER_TURN = 128, /* to one player, and then the tick that is begun */
    MATCH_NO_SLOT = LS_PLAYERS_MAX,
    MATCH_NO_SENDER = 0,
};

#define MATCH_HEARTBEAT_NS (UINT64_C(500) * LS_NS_PER_MS)
#define MATCH_RESEND_NS (UINT64_C(100) * LS_NS_PER_MS) /* heartbeat once ticks are closed */
#define MATCH_HANDSHAKE_NS (UINT64_C(10) * LS_NS_PER_SECOND)
#define MATCH_ENDING_NS (UINT64_C(5) * LS_NS_PER_SECOND)
#define MATCH_WAITING_FIRST_NS (UINT64_C(100) * LS_NS_PER_MS)
#define MATCH_WAITING_NEXT_NS (UINT64_C(500) * LS_NS_PER_MS)

/* joined_tick of a seat after a restart, until ticks or its player tell which it is */
#define MATCH_NOT_JOINED UINT32_MAX

#define MATCH_NOT_HANDED_ON "the state of this simulation cannot be handed on"

typedef struct match_pending {
    ls_peer_id peer; /* 0: free */
    uint64_t since_ns;
    uint64_t number; /* in the order in which they came */
} match_pending;

/* What is needed for those who join while the match runs. */
typedef struct match_join_room {
    ls_blob *blob;            /* NULL: none was needed yet, or the state is too large */
    ls_tick_history *history; /* NULL: the state can be saved */
    uint32_t sender_count;
    ls_state_copy in_blob;                       /* the state that it holds, or leads to */
    uint64_t made_ns;                            /* when */
    uint64_t compress_ns;                        /* when more of it is compressed */
    ls_blob_sender *senders[LS_PLAYERS_MAX + 1]; /* from 1 on */
    bool is_sender_taken[LS_PLAYERS_MAX + 1];
} match_join_room;

/* A match that goes on after its server was stopped. */
typedef struct match_resume {
    bool is_given_up;  /* it was stopped before it went on: who was back comes back another time */
    uint64_t until_ns; /* players are waited for */
    uint64_t told_ns;  /* when RESUMING last went out */
    uint32_t waited_mask; /* slots that played */
    uint32_t recovered;   /* ticks that came from clients */

    /* Asking clients for the ticks that the journal has not. */
    bool is_asking;
    uint32_t asked_mask;                /* slots that have been asked */
    uint8_t asked_anew[LS_PLAYERS_MAX]; /* how often, since they had lost their link meanwhile */
    uint32_t asked_slot;                /* who is asked now; MATCH_NO_SLOT */
    ls_tick asked_end;                  /* behind the last tick of the newest request */
    ls_tick next;                       /* the first tick that has not come from it */
    uint64_t chain;                     /* tick chain before that one */
    uint32_t part;                      /* of it, that comes next */
    uint64_t progress_ns;
    uint32_t agreeing;      /* claims of those who are back that what came so far bears out ... */
    uint32_t contradicting; /* ... and that it does not */
    bool is_disputed;       /* somebody's ticks have contradicted somebody's claim */
    bool is_settling;       /* whoever is asked now is whom most agree with */
    uint32_t
        support[LS_PLAYERS_MAX]; /* claims that bear out this one's ticks; 0: not to be asked */
    ls_input_buffer *candidates; /* what came, from next_close on; NULL: not restored */
} match_resume;

struct ls_match {
    /* What every packet and every call needs stands together and before the large rings: a host of
     * many matches finds nothing of the one that it turns to in a cache. */
    ls_match_state state;
    ls_tick next_close;
    uint64_t now_ns;
    uint64_t arrived_ns; /* of the packet that is being taken; now_ns or earlier */
    uint64_t closed_ns;  /* when the newest tick was closed; 0: none yet */
    uint64_t last_ns;    /* up to where the timestep has been advanced */
    uint64_t due_ticks;  /* ticks whose time has come but that wait for an input */
    uint64_t sent_ns;    /* when TICKS last went out */
    uint64_t again_ns;   /* when they go out a second time, to who loses many; 0: they do not */
    uint64_t ending_ns;  /* when ENDING began */
    uint64_t waiting_ns; /* rule wait: since when; 0: not waiting */
    uint64_t waiting_told_ns;
    uint32_t waited_mask;   /* slots without whose input the next tick was due */
    uint32_t excused_ticks; /* by which the match is behind its time since the last closing */
    uint32_t unsent_ticks;  /* closed since TICKS last went out */
    uint32_t pending_count;
    uint32_t event_first;
    uint32_t event_count;
    ls_peer_id peers[LS_PLAYERS_MAX]; /* of the seats, for finding whose a packet is; 0: nobody */
    ls_timestep timestep;
    ls_packet_sink sink;
    const ls_allocator *allocator;
    ls_sim_instance *instance;
    ls_input_buffer *closed;
    uint64_t rejected;
    uint64_t final_hash;
    uint64_t pending_seen;
    uint64_t events_lost;
    ls_match_config config;
    ls_ready own_ready;

    /* Rings by tick. */
    uint64_t closed_at_ns[LS_WINDOW_TICKS];
    ls_coded_tick coded[LS_WINDOW_TICKS];  /* the closed ticks as they are sent */
    uint64_t tick_chains[LS_WINDOW_TICKS]; /* before each tick; the newest before next_close */
    ls_arbiter arbiter;
    ls_investigation *investigation; /* NULL: nothing is kept to find causes with */
    match_join_room join;
    match_resume resume;
    struct ls_match_spectators *watch; /* match_spectators.h; NULL: nobody may watch */
    bool is_let_go;                    /* ENDING: the players have been; who watches is behind */

    ls_seat seats[LS_PLAYERS_MAX];
    match_pending pending[MATCH_PENDING_MAX];
    ls_match_event events[MATCH_EVENTS_MAX];

    /* Working memory. */
    ls_tick_cursor cursor;
    ls_message message;
    uint8_t packet[LS_PACKET_BYTES_MAX];
    uint8_t large_tick[LS_TICK_BYTES_MAX]; /* as coded for the last peer that was sent parts */
    uint32_t large_tick_bytes;             /* 0: none yet */
    ls_tick large_tick_number;
    bool is_large_tick_alone;
};

/* ---- match.c ---- */

/* A new event to fill in; one that is thrown away when the queue is full. */
ls_match_event *ls_match_push_event(ls_match *match, ls_match_event_kind kind);

/* Sends match->message to one peer. */
void ls_match_send(ls_match *match, ls_peer_id peer);

/* Sends match->message to everybody who plays. */
void ls_match_send_all(ls_match *match);

/* Makes match->message an OFFER, without what is a seat's own. */
void ls_match_fill_offer(ls_match *match);

/* Tells a peer why, and closes its connection. */
void ls_match_refuse(ls_match *match, ls_peer_id peer, ls_status status, const char *why);

/* Nothing more will happen: refuses who is still at the door. */
void ls_match_close(ls_match *match);

/* ---- match_seats.c ---- */

/* The secret of who sits on a slot now. */
void ls_match_secret(const ls_match *match, uint32_t slot, uint8_t out[LS_SECRET_BYTES]);

/* The seat for who says this HELLO. `why` says why there is none. */
ls_status ls_match_find_seat(ls_match *match, const ls_hello *hello, uint32_t *slot, ls_text *why);

/* Seats a peer there, a new player or the one who was there; an old connection is closed. */
void ls_match_take_seat(ls_match *match, uint32_t slot, ls_peer_id peer, const ls_hello *hello);

/* The player is gone: frees the seat in the lobby, marks it as left in a running match, or keeps it
 * when the link was lost and it has played. */
void ls_match_vacate(ls_match *match, uint32_t slot, bool is_lost, ls_status status,
                     const char *why);

/* Takes a seated player out: refuses it with a reason, closes its connection, vacates the seat. */
void ls_match_drop(ls_match *match, uint32_t slot, ls_status status, const char *why);

/* The same for one whose link was lost. */
void ls_match_lose(ls_match *match, uint32_t slot, ls_status status, const char *why);

/* ---- match_play.c ---- */

void ls_match_play_start(ls_match *match);

/* END, to one slot. */
void ls_match_play_tell_end(ls_match *match, uint32_t slot);

/* Tick next_close begins to be due after start_delay_ms. Returns from now until it closes. */
uint64_t ls_match_play_schedule(ls_match *match);

/* Room for the inputs of tick next_close in match->closed; and that tick is closed, with the inputs
 * that have been put there. */
void ls_match_play_make_room(ls_match *match);
void ls_match_play_tick(ls_match *match);

/* The slot plays: its input counts from `tick` on, which is not closed yet. */
void ls_match_play_from(ls_match *match, uint32_t slot, ls_tick tick);
void ls_match_play_advance(ls_match *match);

/* Ends the match when its players have been let go and nobody watches any more. */
void ls_match_play_close(ls_match *match);
void ls_match_play_end(ls_match *match);
ls_status ls_match_play_inputs(ls_match *match, uint32_t slot, const uint8_t *bytes, size_t size);
ls_status ls_match_play_hashes(ls_match *match, uint32_t slot, const ls_hashes *hashes);
ls_status ls_match_play_finished(ls_match *match, uint32_t slot, const ls_finished *finished);

/* A player leaves; if its state hashes have been asked for, the difference is announced without
 * them. */
void ls_match_play_settle_unanswered(ls_match *match, uint32_t slot);

/* ---- match_lag.c ---- */

/* The slot begins to play. */
void ls_match_lag_begin(ls_match *match, uint32_t slot);

/* A tick has been closed: counts for each player how it came about, and now and then judges it. */
void ls_match_lag_count(ls_match *match, uint32_t slot, bool is_on_time);

/* ---- match_join.c ---- */

ls_status ls_match_join_create(ls_match *match);
void ls_match_join_destroy(ls_match *match);

/* A blob with room for so many bytes; the one that is there goes when it is too small, and nobody
 * may be sent it then. UNSUPPORTED: more than a blob can be. NO_MEMORY. */
ls_status ls_match_make_blob(const ls_match *match, size_t bytes, ls_blob **blob);

/* What goes with the live state, but for its state hash and bytes. */
ls_state_copy ls_match_live(const ls_match *match);

/* Makes match->message a JOIN, with what all of them have in common. */
ls_join *ls_match_begin_join(ls_match *match, ls_join_source source);

/* Completes a JOIN that brings a blob; `how` says so in words. */
void ls_match_join_by_blob(ls_join *join, const ls_state_copy *copy, const ls_blob *blob,
                           ls_text *how);

/* READY came while the match runs: JOIN goes out, at once or when it is this one's turn. */
void ls_match_join_ready(ls_match *match, uint32_t slot);
ls_status ls_match_join_joined(ls_match *match, uint32_t slot, const ls_joined *joined);
ls_status ls_match_join_ack(ls_match *match, uint32_t slot, const uint8_t *bytes, size_t size);

/* A joining client says that it has simulated up to state `simulated`. */
void ls_match_join_heard(ls_match *match, uint32_t slot, ls_tick simulated);

/* The slot is left, or there: its blob, if it is being sent one, is not needed any more. */
void ls_match_join_stop(ls_match *match, uint32_t slot);
void ls_match_join_advance(ls_match *match);
uint64_t ls_match_join_next_ns(const ls_match *match);

/* ---- match_resume.c ---- */

/* Somebody is back who knows that the match had begun, if the match itself did not. */
void ls_match_resume_begin(ls_match *match);

void ls_match_resume_advance(ls_match *match);
uint64_t ls_match_resume_next_ns(const ls_match *match);

/* CLOSED_TICK has come. */
ls_status ls_match_resume_take(ls_match *match, uint32_t slot, const ls_tick_part *part);

/* The slot is left, for good or not. */
void ls_match_resume_leave(ls_match *match, uint32_t slot, bool is_kept);

/* ---- match_desync.c ---- */

/* A slot differs: its cause is looked for, then the match's rule is applied to it. */
void ls_match_desync_found(ls_match *match, uint32_t slot);
void ls_match_desync_advance(ls_match *match);
bool ls_match_desync_is_open(const ls_match *match);

/* The slot is about to be left: what is known of it is reported. */
void ls_match_desync_leave(ls_match *match, uint32_t slot);

/* No more answers are waited for. */
void ls_match_desync_finish(ls_match *match);

/* What comes too late, or was never asked for, is STALE. */
ls_status ls_match_desync_answer(ls_match *match, uint32_t slot, const ls_wire_answer *answer);
ls_status ls_match_desync_evidence(ls_match *match, uint32_t slot,
                                   const ls_wire_evidence *evidence);
ls_status ls_match_desync_fingerprint(ls_match *match, uint32_t slot,
                                      const ls_wire_fingerprint *print);
ls_status ls_match_desync_healed(ls_match *match, uint32_t slot, const ls_healed *healed);

/* ---- match_spectators.c ---- */

ls_status ls_match_spectators_create(ls_match *match);
void ls_match_spectators_destroy(ls_match *match);

/* A HELLO that is good comes to watch: sends OFFER, or says in `why` why it may not. */
ls_status ls_match_spectators_seat(ls_match *match, ls_peer_id peer, const ls_hello *hello,
                                   ls_text *why);

/* Nothing happens when the peer does not watch. */
void ls_match_spectators_disconnected(ls_match *match, ls_peer_id peer, ls_status reason);
void ls_match_spectators_receive(ls_match *match, ls_peer_id peer, ls_channel channel,
                                 const uint8_t *bytes, size_t size);

/* Sends what is due to those who watch; comes after what is sent to players. */
void ls_match_spectators_advance(ls_match *match);
uint64_t ls_match_spectators_next_ns(const ls_match *match);

/* Everybody who watches has seen the end, or has had the time to. */
bool ls_match_spectators_is_done(ls_match *match);

/* Nothing more will happen: refuses those who are still there. */
void ls_match_spectators_close(ls_match *match);

/* ---- match_send.c ---- */

/* Sends TICKS to every seat that takes them, now; or when it is their time, and when that will be.
 */
void ls_match_send_ticks(ls_match *match);
void ls_match_send_due(ls_match *match);
uint64_t ls_match_send_next_ns(const ls_match *match);

/* The match's clock, and what it has closed, as links need it. */
ls_downlink_clock ls_match_clock(const ls_match *match);
ls_downlink_ticks ls_match_ticks(const ls_match *match);

/* Ticks from `first` to before `end` did not fit into the TICKS that was sent just now. They do not
 * wait for the acknowledgement of the rest, or no more than a packet would ever be confirmed in a
 * round trip: sends in parts those that are due. Returns how many bytes, headers counted. */
size_t ls_match_send_parts(ls_match *match, ls_downlink *link, ls_peer_id peer, ls_tick first,
                           ls_tick end);

/* No side is ever silent for longer. */
static inline uint64_t ls_match_silence_max_ns(const ls_match *match)
{
    return match->config.timeout_ms * LS_NS_PER_MS / 4;
}

/* In the match from START on and still connected. */
static inline bool ls_seat_is_in_play(const ls_seat *seat)
{
    return seat->state == LS_SEAT_PLAYING || seat->state == LS_SEAT_FINISHED;
}

/* Is sent closed ticks, and acknowledges them. */
static inline bool ls_seat_follows(const ls_seat *seat)
{
    return ls_seat_is_in_play(seat) || seat->state == LS_SEAT_JOINING;
}

/* Somebody is connected there. */
static inline bool ls_seat_is_taken(const ls_seat *seat)
{
    return seat->state != LS_SEAT_EMPTY && seat->state != LS_SEAT_KEPT &&
           seat->state != LS_SEAT_LEFT;
}

#endif
