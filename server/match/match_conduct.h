/* Match conduct: what happens in a match, in its order: a player comes, plays, leaves; ticks are
 * closed and sent; the match begins, goes on and ends. It calls the parts and carries out what they
 * return; it keeps nothing itself. */
#ifndef LOCKSTEP_SERVER_MATCH_MATCH_CONDUCT_H
#define LOCKSTEP_SERVER_MATCH_MATCH_CONDUCT_H

#include "lockstep/server/match/desync_service.h"
#include "lockstep/server/match/join_service.h"
#include "lockstep/server/match/resume_vote.h"
#include "lockstep/server/match/spectators.h"
#include "lockstep/server/match/tick_closer.h"

/* ---- memory ---- */

/* Whether a match takes the memory that its state and ticks need when somebody first comes to it,
 * or is restored. The other matches of a server wait while that is done: a match of a large state
 * takes it from the start. */
bool ls_conduct_opens_late(const ls_match *match);

/* Takes that memory, unless the match has it. NO_MEMORY, or what ls_sim_instance_wake says: another
 * try may follow. */
ls_status ls_conduct_open(ls_match *match);

/* ---- leaving ---- */

/* The player of a seat is gone; every part is told. The seat is kept when the link was lost and the
 * match still runs. */
void ls_conduct_depart(ls_match *match, uint32_t slot, bool is_lost, ls_status status,
                       const char *why);

/* Takes a connected player out: refuses it with a reason, then it departs for good; or as one whose
 * link was lost. */
void ls_conduct_drop(ls_match *match, uint32_t slot, ls_status status, const char *why);
void ls_conduct_lose(ls_match *match, uint32_t slot, ls_status status, const char *why);

void ls_conduct_refuse_pending(ls_match *match, ls_peer_id peer, ls_status status, const char *why);

/* The same without a word to the peer, whose pass is not good. */
void ls_conduct_turn_away(ls_match *match, ls_peer_id peer, const char *why);

/* The match is over, and what the connection would have asked for is not known: it may have meant
 * another match of the server. */
void ls_conduct_refuse_late(ls_match *match, ls_peer_id peer);

/* ---- coming ---- */

/* A newcomer who has been offered a seat, or this one unless it is MATCH_NO_SLOT, and is not READY
 * makes room for another, who comes from `for_origin`: after its time; or at once, if its origin
 * has let an offer lapse lately or has been offered several seats now, and the other's origin is
 * another one and has let none lapse. False: there is none. */
bool ls_conduct_make_room(ls_match *match, uint32_t wanted, uint64_t for_origin);

void ls_conduct_sit_down(ls_match *match, uint32_t slot, ls_peer_id peer, const ls_hello *hello);

/* A READY player gets into a running match, or waits for its turn. */
void ls_conduct_begin_joining(ls_match *match, uint32_t slot);

/* The slot plays: its input counts from `tick` on. */
void ls_conduct_play_from(ls_match *match, uint32_t slot, ls_tick tick);

/* ---- the course of the match ---- */

/* The players who are READY begin to play, once they may. */
void ls_conduct_start_when_due(ls_match *match);

void ls_conduct_close_due(ls_match *match);

/* TICKS leave for the players: at once when ticks have been closed, a second time to a player that
 * loses many packets, and as a heartbeat when nothing is closed. */
void ls_conduct_send_due(ls_match *match);

/* The newest packet of a peer came from an address that is not proven, to which a packet of
 * room_bytes may go: what a player was sent since it moved is lost, and the address will be proven
 * a round trip from now only. */
void ls_conduct_answer_moved(ls_match *match, ls_peer_id peer, size_t room_bytes);

/* Announces the slots that were found to differ and are to be announced by now;
 * `is_time_up`: all of them. */
void ls_conduct_announce_desyncs(ls_match *match, bool is_time_up);
void ls_conduct_drop_desynced(ls_match *match, ls_desync_drop found);

/* The newest closed tick was the last one; and nothing more will happen. */
void ls_conduct_end(ls_match *match);
void ls_conduct_close(ls_match *match, ls_status status, const char *why);

/* ---- after a restart ---- */

/* The players who were there are waited for; `is_known`: the journal said who they were. */
void ls_conduct_await_players(ls_match *match, bool is_known);

/* Closes a tick again as it was. */
void ls_conduct_repeat_tick(ls_match *match, const ls_tick_inputs *inputs);

/* ---- what the host says ---- */

/* A peer that was sent OFFER is told what it has missed. */
void ls_conduct_greet(const ls_match *match, ls_peer_id peer);

#endif
