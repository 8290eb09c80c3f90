/* Gameplay: the match as a session plays it, from the server's offer on. It makes the parts that
 * receive, send, step, join and heal, and has each do its work in every frame. Knows nothing of
 * handshakes and of making a link anew; how the session's state changes is returned, not decided
 * here. Called by session. */
#ifndef LOCKSTEP_CLIENT_SESSION_GAMEPLAY_H
#define LOCKSTEP_CLIENT_SESSION_GAMEPLAY_H

#include "lockstep/client/session/session_context.h"
#include "lockstep/client/session/session_outbox.h"

typedef struct ls_gameplay ls_gameplay;

/* How a call has ended for the session. */
typedef enum ls_gameplay_outcome {
    LS_GAMEPLAY_GOES_ON,
    LS_GAMEPLAY_ARRIVED,  /* a joining session is where the match is: it plays */
    LS_GAMEPLAY_FINISHED, /* the final state is reached, and the server was told */
    LS_GAMEPLAY_ENOUGH,   /* the player has played as long as planned */
    LS_GAMEPLAY_FAILED,   /* the session cannot go on: see the failure */
} ls_gameplay_outcome;

/* FAILED: what the server is told. */
typedef struct ls_failure {
    ls_status status;
    ls_text why;
} ls_failure;

/* Takes an offer: SIMULATION_MISMATCH, SIMULATION_VERSION_MISMATCH or PARAMETER_MISMATCH when this
 * client cannot play it, NO_MEMORY, or what the simulation says. The config is borrowed. */
ls_status ls_gameplay_create(const ls_session_config *config, const ls_offer *offer,
                             ls_session_outbox *outbox, const ls_allocator *allocator,
                             ls_gameplay **out, ls_text *why);
void ls_gameplay_destroy(ls_gameplay *gameplay);

/* The offer of a link that was made anew. ALREADY_OVER when it is another match. */
ls_status ls_gameplay_take_offer(ls_gameplay *gameplay, const ls_offer *offer, ls_text *why);

/* The link is lost; it was made anew; the session ends. */
void ls_gameplay_lose_link(ls_gameplay *gameplay, const ls_session_moment *moment);
void ls_gameplay_connect(ls_gameplay *gameplay);
void ls_gameplay_end(ls_gameplay *gameplay);

/* ---- receiving ---- */

/* READY was answered so soon. */
void ls_gameplay_add_rtt(ls_gameplay *gameplay, uint64_t rtt_ns);

/* START and JOIN, which took `rtt_ns` at most to answer. JOIN may fail. */
void ls_gameplay_start(ls_gameplay *gameplay, const ls_start *start,
                       const ls_session_moment *moment);
ls_gameplay_outcome ls_gameplay_join(ls_gameplay *gameplay, const ls_join *join, uint64_t rtt_ns,
                                     const ls_session_moment *moment, ls_failure *failure);

/* A message of a running match. MALFORMED when it does not belong there. */
ls_status ls_gameplay_receive(ls_gameplay *gameplay, const ls_message *message,
                              const ls_session_moment *moment);

/* An unreliable packet of this kind. *status: MALFORMED, or STALE or FUTURE when it says nothing
 * new. */
ls_gameplay_outcome ls_gameplay_receive_packet(ls_gameplay *gameplay, uint32_t kind,
                                               const uint8_t *bytes, size_t size,
                                               const ls_session_moment *moment, ls_status *status,
                                               ls_failure *failure);

/* A resumed server asks for closed ticks. */
void ls_gameplay_send_ticks(const ls_gameplay *gameplay, const ls_ticks_request *request);

/* ---- time ---- */

/* One frame while the session joins, plays, is finished, or has no link. */
ls_gameplay_outcome ls_gameplay_frame(ls_gameplay *gameplay, const ls_session_moment *moment,
                                      ls_failure *failure);

/* A frame comes `frame_ns` after the one before. */
void ls_gameplay_add_frame(ls_gameplay *gameplay, uint64_t frame_ns);

/* Sends when nothing was sent for as long as may be. */
void ls_gameplay_send_in_time(ls_gameplay *gameplay, const ls_session_moment *moment);

/* Frames apart: does what is due, and says when the next thing is. */
void ls_gameplay_update(ls_gameplay *gameplay, const ls_session_moment *moment);
uint64_t ls_gameplay_next_ns(const ls_gameplay *gameplay, const ls_session_moment *moment);

void ls_gameplay_set_input_delay(ls_gameplay *gameplay, uint32_t ticks);

/* ---- reading ---- */

/* Nothing of the match is missing but the goodbye; the player has played as long as planned. */
bool ls_gameplay_is_complete(const ls_gameplay *gameplay);

/* Fills in the claim of a client that comes back: its seat, and the ticks that it holds. */
void ls_gameplay_claim(const ls_gameplay *gameplay, ls_return *claim);

const ls_offer *ls_gameplay_offer(const ls_gameplay *gameplay);
ls_sim_instance *ls_gameplay_instance(ls_gameplay *gameplay);
ls_tick ls_gameplay_tick(const ls_gameplay *gameplay);
ls_fixed ls_gameplay_alpha(const ls_gameplay *gameplay);
void ls_gameplay_draw(const ls_gameplay *gameplay, ls_fixed alpha, ls_draw_list *list);

/* Fills in the report's figures of the match. */
void ls_gameplay_report(const ls_gameplay *gameplay, ls_session_report *report);

#endif
