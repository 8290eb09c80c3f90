/* Session: the client's side of one match, as a state machine without I/O. Time and packets come in
 * as arguments; packets leave through the sink, events through ls_session_next_event.
 * It makes inputs on time, steps its own simulation over closed ticks, or with prediction beyond
 * them, and sends back the hash of every state that closed ticks led to. Never reads a clock, a
 * socket or a file; allocates nothing once the match has started. One belongs to one thread at a
 * time. docs/embedding.md shows a game with one. */
#ifndef LOCKSTEP_CLIENT_SESSION_SESSION_H
#define LOCKSTEP_CLIENT_SESSION_SESSION_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/chat.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/lag/lag_verdict.h"
#include "lockstep/common/simulation/sim_files.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/protocol/transport/transport.h"
#include "lockstep/protocol/wire/notices.h"

LS_C_BEGIN

struct ls_build_fingerprint; /* build_fingerprint.h */
struct ls_rerun_host;        /* rerun_host.h */

#define LS_SESSION_RECONNECT_MS_MAX 86400000u /* a day */
#define LS_SESSION_ROOM_BYTES_MAX 48u         /* with its final NUL */

/* The seat of a player, as OFFER said it: the client that knows it gets the seat back. */
typedef struct ls_session_seat {
    uint64_t match_id; /* 0: none */
    uint8_t secret[LS_SECRET_BYTES];
} ls_session_seat;

/* Comes from ls_session_config_default; the row of a field in session_config.c has its range. */
typedef struct ls_session_config {
    uint32_t cookie; /* of ls_session_config_default: leave it as it is */
    char name[LS_PLAYER_NAME_BYTES_MAX];
    char room[LS_SESSION_ROOM_BYTES_MAX]; /* of a server with several matches; "": any */

    /* The simulation that the server names, or NULL when it is not to be had. */
    const ls_simulation *(*find_simulation)(void *user, const char *name);

    /* The files that this machine has for file parameters, borrowed with their content for the
     * session's life; NULL: none. A match that needs another one is left before it begins. */
    const ls_sim_files *files;

    /* This player's input, at most input_bytes_max bytes; returns the size. `instance` is the
     * newest simulated state (guessed, with prediction), to be read only. NULL: always empty. */
    uint32_t (*make_input)(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes);

    /* Called after every step, before the state is hashed; NULL for none. A game reads what it
     * needs; a test of the desync detection may write. With prediction, and when the state was
     * healed, a tick may be stepped several times, each time from the state before it: the last
     * time counts. */
    void (*after_step)(void *user, ls_sim_instance *instance);

    /* A sound that this player is to hear now: a cue, or samples, because of the step of `tick`.
     * Borrowed for the call, which comes right after the step. Each is given out once, however
     * often a tick is stepped, and none half a second after its time or on the way into a running
     * match. NULL: no callback, and the simulation is not asked. Of a
     * simulation with sounds, costs a copy of the state a tick, as keeps_previous_state does. */
    void (*on_sound)(void *user, ls_tick tick, const ls_sound *sound);

    void *user; /* handed to the four */
    /* The driver calls ls_session_update when ls_session_next_ns says. Otherwise inputs are made in
     * frames alone, and earlier by what a frame lasts; and what is to be sent twice a tick is so
     * only with frames of less than half a tick. */
    bool makes_inputs_between_frames;

    bool keeps_previous_state; /* for previous and draw; costs a copy of the state a tick */
    uint32_t ticks;            /* leaves after so many; 0: stays to the end */

    /* Comes to watch: makes no inputs, sits on no seat, checks every state hash all the same. */
    bool is_spectator;

    /* Where the players of a lobby say that they are ready, this one is not before
     * ls_session_set_ready. False: it is at once. */
    bool asks_when_ready;

    /* Comes back to this seat of a process that is gone, at once and without anything of the match;
     * where the seat is not to be had any more it comes as a newcomer. */
    ls_session_seat seat;

    /* How long a lost link is made anew, by a driver that does as ls_session_reconnect_ns says;
     * 0: the session ends with its link. */
    uint32_t reconnect_ms; /* 0 .. LS_SESSION_RECONNECT_MS_MAX */

    /* Prediction: this player's inputs are stepped as soon as they are made, up to so many ticks
     * ahead of the closed ones, on guesses at the others' inputs; where a guess was wrong, the
     * session goes back and steps again. 0 (off) .. LS_PREDICT_TICKS_MAX; holds as many states. */
    uint32_t predict_ticks;

    uint32_t frame_max_ms; /* longer frames are cut for stepping; 1 .. 10,000 */

    /* Keeps the newest states and inputs, so that the cause of a desync can be found and healed:
     * ls_replay_window_bytes says in how much memory. */
    bool finds_causes;

    /* Where ticks are simulated again for a diagnosis, borrowed for the session's life. NULL:
     * nowhere, and the server is told so (common/diagnosis/rerun_host.h). */
    const struct ls_rerun_host *rerun_host;
    /* Of this program (ls_build_fingerprint_here), borrowed; NULL: the server is not told. */
    const struct ls_build_fingerprint *print;
    uint64_t
        maths_check; /* ls_simulation_maths: the server has to have the same; 0: none is used */
} ls_session_config;

typedef enum ls_session_state {
    LS_SESSION_CONNECTING,
    LS_SESSION_HANDSHAKING, /* HELLO sent */
    LS_SESSION_SEATED,      /* READY sent; waiting for the others */
    LS_SESSION_JOINING, /* a running match: the state is on its way, or steps to where that is */
    LS_SESSION_PLAYING,
    LS_SESSION_RECONNECTING, /* the link was lost; the next state is JOINING */
    LS_SESSION_FINISHED,     /* the final state is reached and told */
    LS_SESSION_OVER,         /* see ls_session_report.status */
} ls_session_state;

typedef enum ls_session_event_kind {
    LS_SESSION_EVENT_SEATED,
    LS_SESSION_EVENT_SECRET, /* it comes back: ls_session_offer has another secret of its seat. A
                                program that remembers the seat writes it down before it lets the
                                packets of this turn leave */
    LS_SESSION_EVENT_UNPREDICTED,   /* text: prediction was asked for and cannot be had */
    LS_SESSION_EVENT_UNNAMED_WRITE, /* text: what the simulation wrote here unnamed */
    LS_SESSION_EVENT_STARTED,
    LS_SESSION_EVENT_JOINING, /* join: the match runs, and this is how the session gets into it */
    LS_SESSION_EVENT_JOINED,  /* tick: it plays from this state on; away_ns */
    LS_SESSION_EVENT_LOST,    /* status, tick, tick_chain, text: why the link, or an attempt to make
                                 it anew, failed */
    LS_SESSION_EVENT_RESUMING, /* resuming: slots that a restarted server still waits for */
    LS_SESSION_EVENT_WAITING,  /* waiting */
    LS_SESSION_EVENT_LAG,      /* lag: what this player suffers from has changed, as the server
                                  says */
    LS_SESSION_EVENT_NOTICE,   /* notice: what the host of the match says; it may be paused */
    LS_SESSION_EVENT_CHAT,     /* chat: a player, this one as well, has said this to all; `text` has
                                  the words of a quick line, too */
    LS_SESSION_EVENT_LOBBY,    /* ls_session_lobby_of has changed */
    LS_SESSION_EVENT_DESYNC,   /* desync, subject */
    LS_SESSION_EVENT_CAUSE,    /* cause, subject: what the server found out about a desync; one that
                                  is open is followed by another */
    LS_SESSION_EVENT_HEALED,   /* tick: this slot differed and agrees again from this state on */
    LS_SESSION_EVENT_ENDED,    /* end: the final tick is known */
    LS_SESSION_EVENT_OVER,     /* status, text */
} ls_session_event_kind;

/* Which machine a desync is about. */
typedef enum ls_desync_subject {
    LS_DESYNC_OF_ANOTHER, /* the client of another slot */
    LS_DESYNC_OF_THIS_CLIENT,
    LS_DESYNC_OF_SERVER,
} ls_desync_subject;

typedef struct ls_session_event {
    ls_session_event_kind kind;
    ls_waiting waiting;
    ls_lag lag;
    ls_desync_notice desync;
    ls_desync_cause cause;
    ls_desync_subject subject;
    ls_tick tick;
    ls_end end;
    ls_join join;
    ls_resuming resuming;
    ls_notice notice;
    ls_chat chat;
    uint64_t away_ns;     /* JOINING, JOINED: since the link was lost; 0: it never was */
    uint64_t retry_in_ns; /* LOST: the next attempt, from now */
    uint64_t tick_chain;  /* LOST: before `tick`, the first closed tick that is not here */
    ls_status status;
    ls_text text;
} ls_session_event;

/* The session's figures now; final once the session is over. */
typedef struct ls_session_report {
    ls_session_state state;
    ls_status status; /* OVER: LS_OK after a complete match, else why it ended */
    uint32_t slot;
    ls_tick tick;          /* of the newest state that closed ticks led to */
    ls_tick shown_tick;    /* of the live state, which is drawn: with prediction ahead of `tick` */
    ls_tick confirmed;     /* first closed tick not received */
    ls_tick next_input;    /* first input not made */
    ls_tick joined_tick;   /* state from which on it plays; 0: from the start */
    uint32_t rejoins;      /* times that it came back after a lost link */
    uint32_t behind_ticks; /* JOINING: that have come and are not stepped */
    uint32_t transfer_bytes; /* JOINING: of the snapshot or history; 0: none is to come */
    uint32_t transferred_bytes;
    uint64_t inputs_made;
    uint64_t inputs_skipped; /* their ticks were closed before they could be made */
    /* Were due on this machine's clock, but not confirmed yet; with prediction: could not even be
     * guessed, because too many guesses were out. */
    uint64_t stalled_ticks;
    uint64_t frames;
    uint64_t steps;      /* repeated ones too; without prediction and healing as many as ticks */
    bool has_prediction; /* else the next five are 0 */
    uint64_t rollbacks;
    uint64_t rollback_ticks; /* guessed steps thrown away, by all of them together */
    uint32_t rollback_depth_p99;
    uint32_t rollback_depth_max;
    uint32_t suggested_predict_ticks; /* more than were allowed; 0: those suffice */
    uint64_t
        jitter_buffer_delay_ns; /* how long a punctual tick waits until it is due to be stepped */
    int32_t jitter_buffer_speed_ppm; /* of stepping, beyond real time; -50,000 .. 50,000 */
    uint64_t rtt_ns;
    int64_t slack_ns;                /* newest that the server reported */
    ls_link_figures downlink;        /* as measured here */
    ls_link_figures uplink;          /* as the server said last */
    uint32_t input_delay_ticks;      /* as was said last, by the server or on this side */
    uint64_t confirm_latency_p50_ns; /* from making an input to receiving its closed tick */
    uint64_t confirm_latency_p99_ns;
    uint64_t confirm_latency_max_ns;
    ls_lag lag;          /* as the server said last */
    uint64_t silence_ns; /* since anything came from the server */
    uint64_t packets_rejected;
    uint32_t desyncs;        /* notices received, of any machine */
    uint32_t server_desyncs; /* of them the server's */
    bool is_desynced;        /* of this slot */
    ls_desync_notice own_desync;
    uint32_t own_desyncs; /* notices of this slot */
    uint32_t healed;      /* how often this slot was healed */
    bool has_own_cause;
    ls_desync_cause own_cause;
    bool has_end;
    ls_end end;
} ls_session_report;

struct ls_session; /* session_context.h */
typedef struct ls_session ls_session;

/* No simulation, no input, name "player", frames cut at 250 ms, finds causes. */
ls_session_config ls_session_config_default(void);

/* BAD_ARGUMENT; `why` names the field and its range. A config that did not come from
 * ls_session_config_default is refused. */
ls_status ls_session_config_check(const ls_session_config *config, ls_text *why);

/* As the check, or NO_MEMORY, with `why`. The config and the sink are copied; what they point to,
 * and the allocator, must outlive the session. */
ls_status ls_session_create(const ls_session_config *config, const ls_packet_sink *sink,
                            const ls_allocator *allocator, ls_session **out, ls_text *why);
/* Sends nothing: leave first, and let the packets go. NULL is allowed. */
void ls_session_destroy(ls_session *session);

/* The owner says what happened on its transport: the link to the server is there, the link or an
 * attempt to make it failed, a packet came. `now_ns` never goes back. */
void ls_session_connected(ls_session *session, ls_peer_id server, uint64_t now_ns);
void ls_session_disconnected(ls_session *session, ls_status reason, uint64_t now_ns);
void ls_session_receive(ls_session *session, ls_channel channel, const uint8_t *bytes, size_t size,
                        uint64_t now_ns);

/* The same for an event that the transport has given. */
void ls_session_receive_event(ls_session *session, const ls_transport_event *event,
                              uint64_t now_ns);

/* One rendered frame: makes the inputs that are due, steps what is due, sends. */
void ls_session_frame(ls_session *session, uint64_t now_ns);

/* Makes and sends the inputs that are due, between frames; steps and draws nothing. */
void ls_session_update(ls_session *session, uint64_t now_ns);

/* When ls_session_update has something to do next; UINT64_MAX while it has nothing. Changes with
 * every frame, update and packet. */
uint64_t ls_session_next_ns(const ls_session *session);

/* Whether packets may wait for the next frame or for ls_session_next_ns, whichever comes first, and
 * then be handed in with the times at which they arrived: what is sent and stepped is the same. It
 * is while the session plays or watches, its inputs come in time and none of them waits for a
 * packet. Changes like ls_session_next_ns. */
bool ls_session_may_packets_wait(const ls_session *session);

/* RECONNECTING: from when on the driver is to try to connect anew, once, and tell how it went by
 * ls_session_connected or ls_session_disconnected. UINT64_MAX: there is nothing to do. */
uint64_t ls_session_reconnect_ns(const ls_session *session);

/* From now on this player's inputs are made `ticks` (0 .. LS_INPUT_DELAY_TICKS_MAX) earlier than
 * the network needs, in place of what the server said last. The change takes 20 ticks for each: no
 * input is left out and none comes more than 5 % sooner or later after the one before. Without
 * effect before the session is seated. */
void ls_session_set_input_delay(ls_session *session, uint32_t ticks);

/* Says something to all players and spectators of the match: a text, cut at 200 bytes and made
 * printable, or a quick line (1 .. LS_QUICK_LINES), with `text` NULL. The line comes back as an
 * event when the server has passed it on. UNSUPPORTED of a spectator, NOT_FOUND when nobody would
 * hear it now, BAD_ARGUMENT when it is empty. */
ls_status ls_session_chat(ls_session *session, uint32_t quick_line, const char *text);

/* Says that this player is ready for the match to begin, or not any more; see asks_when_ready. */
void ls_session_set_ready(ls_session *session, bool is_ready);
ls_session_lobby ls_session_lobby_of(const ls_session *session);

/* Leaves the match with a reason. */
void ls_session_leave(ls_session *session, uint64_t now_ns);

/* The oldest event not yet taken, or false. */
bool ls_session_next_event(ls_session *session, ls_session_event *event);
ls_session_report ls_session_report_of(const ls_session *session);

/* The report's `state` and `tick` by themselves: making a whole report takes a few microseconds. */
ls_session_state ls_session_state_of(const ls_session *session);
ls_tick ls_session_tick(const ls_session *session);

/* Adds "ann (slot 0), slot 1" for the slots whose bits are set. A player who came later than this
 * client has no name here. */
void ls_session_add_names(const ls_session *session, ls_slot_set slots, ls_text *names);

/* The verdict as a sentence for this player: "the uplink is slower at times". */
void ls_session_lag_text(const ls_session *session, const ls_lag *lag, ls_text *text);

/* The name of a state for a person: "waiting for the others". */
const char *ls_session_state_words(ls_session_state state);

/* NULL until the server's offer has been taken. The live state is that of report.shown_tick, and of
 * report.tick once the session is finished or over. */
ls_sim_instance *ls_session_instance(ls_session *session);
const ls_offer *ls_session_offer(const ls_session *session);
const char *ls_session_player_name(const ls_session *session, uint32_t slot);

/* The share of the newest state in this frame's picture: how far the time of the frame lies between
 * the two newest states. */
ls_fixed ls_session_alpha(const ls_session *session);

/* The state before the newest one, or that itself where it is not kept; NULL: there is none yet. */
const void *ls_session_previous(const ls_session *session);

/* Appends the picture `alpha` of the way from the state before to the newest one: with this frame's
 * alpha it moves evenly, with LS_FIXED_ONE it shows the newest state as it is. Does nothing before
 * the match has started or when the simulation cannot draw. */
void ls_session_draw(ls_session *session, ls_fixed alpha, ls_draw_list *list);

LS_C_END

#endif
