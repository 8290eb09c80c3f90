/* Uplink: what goes up to the server: this player's inputs, made so that each arrives just before
 * its tick is closed, resent until they are acknowledged, and in the same packets the
 * acknowledgement of closed ticks and the chain of hashes. Steps nothing; never reads a clock. */
#ifndef LOCKSTEP_CLIENT_SESSION_UPLINK_H
#define LOCKSTEP_CLIENT_SESSION_UPLINK_H

#include "lockstep/client/session/confirmed_ticks.h"
#include "lockstep/client/session/hash_log.h"
#include "lockstep/client/session/tick_sync.h"

typedef struct ls_uplink ls_uplink;

/* NO_MEMORY. */
ls_status ls_uplink_create(const ls_session *context, ls_uplink **out);
void ls_uplink_destroy(ls_uplink *uplink);

/* A new connection: the packets sent over it are counted anew, and the server says if the match is
 * paused. */
void ls_uplink_connect(ls_uplink *uplink);

/* The match is paused, or goes on. Inputs that were made in a pause would be played after it, and
 * keep those of the player from counting for as long as it took. */
void ls_uplink_pause(ls_uplink *uplink, bool is_paused);

/* ---- how the match begins for this player ---- */

/* The session has got into a running match: tick `closes` is closed at `close_ns`. Inputs that were
 * made before the link was lost stay if they can still be used. Returns the first input that the
 * server can expect. */
ls_tick ls_uplink_enter(ls_uplink *uplink, ls_tick closes, uint64_t close_ns);

/* From now on the session plays. Until the server says otherwise the way up counts as lossy. */
void ls_uplink_begin(ls_uplink *uplink);

/* Inputs made so far are not for this match or slot. */
void ls_uplink_forget_inputs(ls_uplink *uplink);

/* ---- what is measured ---- */

/* A frame has begun `frame_ns` after the one before. */
void ls_uplink_add_frame(ls_uplink *uplink, uint64_t frame_ns);

/* Ticks were due in this frame and could not be stepped. */
void ls_uplink_add_stalled(ls_uplink *uplink, uint64_t ticks);

/* A packet with closed ticks has come. */
void ls_uplink_receive_packet(ls_uplink *uplink, const ls_confirmed_packet *packet);

/* ---- making and sending ---- */

/* Makes the inputs that are due. */
void ls_uplink_make(ls_uplink *uplink);

/* Sends one INPUTS, or several when what is not acknowledged does not fit into one. */
void ls_uplink_send(ls_uplink *uplink);

/* The same, if there is something new to send, or the newest inputs are due a second time. */
void ls_uplink_send_due(ls_uplink *uplink);

/* The same, if nothing was sent for as long as may be. */
void ls_uplink_send_in_time(ls_uplink *uplink);

/* Playing: when making or sending is due next, frames apart; UINT64_MAX: not before the next
 * packet. */
uint64_t ls_uplink_next_ns(const ls_uplink *uplink);

/* Playing: inputs are made and sent by the clock alone. The lead is known and the newest report
 * says that it is enough; no input waits for closed ticks, and none is sent twice unless it is
 * acknowledged before. */
bool ls_uplink_is_by_clock(const ls_uplink *uplink);

/* ---- reading ---- */

/* This player's inputs, borrowed; how many were made. */
const ls_input_buffer *ls_uplink_inputs(const ls_uplink *uplink);
uint64_t ls_uplink_inputs_made(const ls_uplink *uplink);

/* Fills in the report's figures of the inputs, of the way up and of this machine. */
void ls_uplink_report(const ls_uplink *uplink, ls_session_report *report);

#endif
