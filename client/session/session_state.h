/* Session state: the inside of a session, shared by session.c (getting in, messages, leaving),
 * session_inputs.c (making and sending inputs), session_play.c (confirmed ticks, the end),
 * session_step.c (when and how the simulation is stepped), session_predict.c (the same with
 * prediction), session_join.c and session_catch_up.c (getting into a running match),
 * session_return.c (lost links) and session_desync.c (what the server asks when this side differs).
 * Never included by anybody else. */
#ifndef LOCKSTEP_CLIENT_SESSION_SESSION_STATE_H
#define LOCKSTEP_CLIENT_SESSION_SESSION_STATE_H

#include "lockstep/client/session/confirmed_ticks.h"
#include "lockstep/client/session/hash_log.h"
#include "lockstep/client/session/jitter_buffer.h"
#include "lockstep/client/session/prediction.h"
#include "lockstep/client/session/session.h"
#include "lockstep/client/session/session_outbox.h"
#include "lockstep/client/session/session_terms.h"
#include "lockstep/client/session/tick_backlog.h"
#include "lockstep/client/session/uplink.h"
#include "lockstep/common/diagnosis/rerun.h"
#include "lockstep/common/diagnosis/state_tree.h"
#include "lockstep/common/journal/tick_block.h"
#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/protocol/blob/blob_receiver.h"

enum {
    SESSION_MALFORMED_MAX = 64,
};

#define SESSION_HANDSHAKE_NS (UINT64_C(10) * LS_NS_PER_SECOND)
#define SESSION_GOODBYE_NS (UINT64_C(6) * LS_NS_PER_SECOND) /* longer than the server waits */

/* What this side needs to find out what made it differ. */
typedef struct session_diagnosis {
    ls_replay_window *window; /* NULL: nothing is kept */
    ls_state_tree *tree;      /* of the held state */
    ls_rerun *rerun;
    ls_sim_instance *held; /* a state that the server asks about, or heals */
    bool is_holding;
    bool is_rerunning;
    ls_tick bad_tick;
    uint64_t ran_ns; /* when the re-run was last advanced */
} session_diagnosis;

/* On the way into a running match. Made by JOIN, released where the match is. */
typedef struct session_joining {
    ls_join join;
    ls_blob_receiver *receiver; /* of the snapshot or history; NULL without */
    bool has_state;             /* the live state is the one that the backlog follows */
    ls_tick_backlog *backlog;   /* every closed tick that has come since */
    uint32_t steps_per_frame;
    uint32_t steps_left;         /* in this frame */
    uint64_t frame_max_ns;       /* with fewer steps in the next one when it takes longer */
    uint64_t close_ns;           /* when join.next_close is closed, as JOIN said */
    ls_quantile_window arrivals; /* of ticks: the time less the tick times dt */
    bool is_in_history;          /* it is being stepped */
    size_t history_at;           /* of the next block */
    bool is_in_block;            /* `block` has more */
    ls_tick_block_reader block;
    uint64_t history_chain; /* tick chain over the ticks of the history that were stepped */
} session_joining;

/* A link that was lost, or never was. */
typedef struct session_return {
    ls_status status;     /* why it was lost */
    uint64_t lost_ns;     /* when; 0: it is there */
    uint64_t pause_ns;    /* before the next attempt */
    uint64_t retry_ns;    /* when that is due */
    bool is_greeted;      /* this attempt: HELLO sent, */
    bool is_seated;       /* READY sent */
    bool has_no_state;    /* nothing is held that the server could build on */
    bool is_unstarted;    /* lost while it waited for the others: START or JOIN may come */
    bool has_claim;       /* to the seat of the last OFFER */
    uint64_t unplayed_ns; /* not yet counted as a stalled tick */
} session_return;

struct ls_session {
    ls_session_config config;
    ls_session_outbox *outbox;
    const ls_allocator *allocator;
    ls_session_report report;
    uint64_t now_ns;
    uint64_t heard_ns;
    uint64_t asked_ns; /* HELLO sent, or READY: its answer shows how long the way is at most */
    uint64_t finished_ns;
    uint64_t drawn_ns; /* time of the last frame */
    uint32_t malformed;

    const ls_simulation *simulation;
    ls_offer offer;
    char names[LS_PLAYERS_MAX][LS_PLAYER_NAME_BYTES_MAX];
    ls_sim_instance *instance;
    uint8_t *previous; /* state before the newest step */
    ls_fixed alpha;

    ls_session_terms terms;
    ls_uplink *uplink;
    ls_confirmed_ticks *ticks;

    /* Stepping. */
    ls_timestep timestep;
    uint64_t frames_before; /* drawn before START */
    uint64_t frame_ns;      /* time of the last frame */
    bool is_stepping;       /* the first closed tick has come */
    ls_jitter_buffer jitter_buffer;

    /* Stepping with prediction. */
    ls_prediction *prediction; /* NULL without */
    ls_tick predicted_tick;    /* the live one after the last frame */
    uint64_t predicted_inputs; /* made up to then */

    ls_hash_log *hashes;

    session_joining *joining; /* NULL: it is where the match is */
    session_return back;

    session_diagnosis diagnosis;

    /* Working memory. */
    ls_message message; /* that has come in */
};

/* ---- session.c ---- */

/* Ends the session; LS_OK after a complete match. */
void ls_session_end(ls_session *session, ls_status status, const char *why);

/* Tells the server why, then ends: with that status, or with LS_OK. */
void ls_session_give_up(ls_session *session, ls_status status, const char *why);
void ls_session_leave_as_planned(ls_session *session, const char *why);

/* ---- session_play.c ---- */

ls_status ls_session_play_init(ls_session *session);
void ls_session_play_deinit(ls_session *session);
void ls_session_play_start(ls_session *session, const ls_start *start);

/* Inputs, stepping and the picture begin anew: with START, or where a late client has got to. */
void ls_session_play_begin(ls_session *session);
void ls_session_play_frame(ls_session *session);
ls_status ls_session_play_ticks(ls_session *session, const uint8_t *bytes, size_t size);
ls_status ls_session_play_part(ls_session *session, const uint8_t *bytes, size_t size);
void ls_session_play_send_hashes(ls_session *session, const ls_hash_request *request);

/* What the uplink needs to know now. */
ls_uplink_moment ls_session_moment(const ls_session *session);

/* ---- session_step.c ---- */

/* Steps the ticks that are due since the frame before. */
void ls_session_step_due(ls_session *session);

/* Steps the instance on these inputs, keeping the state before it for drawing. */
void ls_session_step_on(ls_session *session, const ls_tick_inputs *inputs);

/* State `tick` is the result of closed ticks alone, and this is its state hash when it is a hashed
 * one.
 */
void ls_session_settle(ls_session *session, ls_tick tick, uint64_t state_hash);

/* The newest state that is the result of closed ticks alone. */
ls_tick ls_session_settled_tick(const ls_session *session);

/* ---- session_predict.c ---- */

/* Sets up prediction when the config asks for it and the simulation allows it. */
ls_status ls_session_predict_init(ls_session *session);

/* In place of ls_session_step_due: steps up to the newest input made, or as far as it may. */
void ls_session_predict(ls_session *session);

/* Makes the newest settled state the live one, for good. */
void ls_session_predict_end(ls_session *session);

/* ---- session_join.c ---- */

/* JOIN has come. */
void ls_session_join(ls_session *session, const ls_join *join);

/* Gives up what was on its way. */
void ls_session_join_deinit(ls_session *session);

/* STALE or FUTURE for parts that say nothing new; MALFORMED. */
ls_status ls_session_join_part(ls_session *session, const uint8_t *bytes, size_t size);

/* Steps on towards the match; and when it has got there, plays. */
void ls_session_join_frame(ls_session *session);

/* From now on nothing is held: the next JOIN has to bring everything. */
void ls_session_join_hold_nothing(ls_session *session);

/* Back to state 0, and to the chain of state hashes that begins there. */
ls_status ls_session_join_restart_instance(ls_session *session);

/* How far it is. */
void ls_session_join_report(const ls_session *session, ls_session_report *report);

/* Acknowledges parts that have come; when that is due. */
void ls_session_join_update(ls_session *session);
uint64_t ls_session_join_next_ns(const ls_session *session);

/* ---- session_catch_up.c ---- */

/* Takes the state out of what came for it, if it is all there; steps what has come since, as far as
 * a frame may take. Without a link as well. */
void ls_session_join_step(ls_session *session, uint64_t elapsed_ns);

/* This player leaves after so many ticks, and steps no more than those. */
bool ls_session_has_played_enough(const ls_session *session);

/* ---- session_return.c ---- */

/* The link is lost, or the attempt to make it anew has failed: true when the session goes on
 * without, false when that is not for it. */
bool ls_session_return_lose(ls_session *session, ls_status status, const char *why);

/* Whether the session goes on after REFUSE with this status. */
bool ls_session_return_outlives(const ls_session *session, ls_status refusal);

/* The link was lost when nothing of the match was missing but the goodbye. */
bool ls_session_return_is_complete(const ls_session *session);

/* What HELLO says of the seat and the ticks that are held. */
ls_return ls_session_return_claim(const ls_session *session);

/* OFFER of an attempt: checks that it is the same match; its words where it is not. */
ls_status ls_session_return_take_offer(ls_session *session, const ls_offer *offer, ls_text *why);

void ls_session_return_frame(ls_session *session);

/* How long the server may be silent before the link counts as lost. */
uint64_t ls_session_return_silence_ns(const ls_session *session);

/* The time of this frame counts as stalled. */
void ls_session_return_count_stalled(ls_session *session, uint64_t elapsed_ns);

/* ---- session_desync.c ---- */

ls_status ls_session_desync_init(ls_session *session);
void ls_session_desync_deinit(ls_session *session);

/* Keeps settled state `tick` and the inputs that led to it. */
void ls_session_desync_record(ls_session *session, ls_tick tick, uint64_t state_hash);

void ls_session_desync_answer(ls_session *session, const ls_wire_query *query);

/* The server asks for evidence: begins to simulate again what led to state `tick`. */
void ls_session_desync_look(ls_session *session, ls_tick tick);
void ls_session_desync_advance(ls_session *session);

/* MALFORMED: no leaf of a state that is held. */
ls_status ls_session_desync_take_leaf(ls_session *session, const ls_heal_leaf *leaf);
void ls_session_desync_heal(ls_session *session, const ls_heal *heal);

/* ---- session_inputs.c ---- */

/* Sends new inputs, or the newest a second time, if that is due. */
void ls_session_play_send_due(ls_session *session);

/* Sends INPUTS when nothing was sent for as long as may be. */
void ls_session_play_send_in_time(ls_session *session);

/* Makes and sends what is due; when that is, frames apart. */
void ls_session_play_update(ls_session *session);
uint64_t ls_session_play_next_ns(const ls_session *session);

/* Sends INPUTS: the acknowledgement, the chain and every input not acknowledged. */
void ls_session_play_send_inputs(ls_session *session);

#endif
