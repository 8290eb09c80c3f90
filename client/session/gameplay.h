/* Gameplay: the match as a session plays it, from the server's offer on. It makes the parts that
 * receive, send, step, join and heal, and has each do its work in every frame. Knows nothing of
 * handshakes and of making a link anew; how the session's state changes is returned, not decided
 * here. */
#ifndef LOCKSTEP_CLIENT_SESSION_GAMEPLAY_H
#define LOCKSTEP_CLIENT_SESSION_GAMEPLAY_H

#include "lockstep/client/session/session_context.h"

/* How a call has ended for the session. */
typedef enum ls_gameplay_outcome {
    LS_GAMEPLAY_GOES_ON,
    LS_GAMEPLAY_ARRIVED,  /* a joining session is where the match is: it plays */
    LS_GAMEPLAY_FINISHED, /* the final state is reached, and the server was told */
    LS_GAMEPLAY_ENOUGH,   /* the player has played as long as planned */
    LS_GAMEPLAY_FAILED,   /* the session cannot go on: the context's failure is for the server */
} ls_gameplay_outcome;

/* Takes an offer: SIMULATION_MISMATCH, SIMULATION_VERSION_MISMATCH or PARAMETER_MISMATCH when this
 * client cannot play it, NO_MEMORY, or what the simulation says; `why` names the item that differs.
 * The session has the parts from then on. */
ls_status ls_gameplay_create(ls_session *session, const ls_offer *offer, ls_text *why);
void ls_gameplay_destroy(ls_session *session);

/* The offer of a link that was made anew. ALREADY_OVER when it is another match. */
ls_status ls_gameplay_receive_offer(ls_session *session, const ls_offer *offer, ls_text *why);

/* The link is lost. */
void ls_gameplay_lose_link(ls_session *session);

/* ---- receiving ---- */

/* START and JOIN, which took `rtt_ns` at most to answer. JOIN may fail. */
void ls_gameplay_start(ls_session *session, const ls_start *start);
ls_gameplay_outcome ls_gameplay_join(ls_session *session, const ls_join *join, uint64_t rtt_ns);

/* A message of a running match. MALFORMED when it does not belong there. */
ls_status ls_gameplay_receive(ls_session *session, const ls_message *message);

/* An unreliable packet of this kind. *status: MALFORMED, or STALE or FUTURE when it says nothing
 * new. */
ls_gameplay_outcome ls_gameplay_receive_packet(ls_session *session, uint32_t kind,
                                               const uint8_t *bytes, size_t size,
                                               ls_status *status);

/* ---- time ---- */

/* One frame while the session joins, plays, is finished, or has no link. */
ls_gameplay_outcome ls_gameplay_frame(ls_session *session);

/* Frames apart: does what is due, and says when the next thing is. */
void ls_gameplay_update(ls_session *session);
uint64_t ls_gameplay_next_ns(const ls_session *session);

/* Playing: whether a packet that comes changes nothing before the next frame, or before that time.
 */
bool ls_gameplay_may_packets_wait(const ls_session *session);

/* ---- reading ---- */

/* Nothing of the match is missing but the goodbye. */
bool ls_gameplay_is_complete(const ls_session *session);

/* Fills in the claim of a client that comes back: its seat, and the ticks that it holds. */
void ls_gameplay_claim(const ls_session *session, ls_return *claim);

/* Fills in the report's figures of the match. */
void ls_gameplay_report(const ls_session *session, ls_session_report *report);

#endif
