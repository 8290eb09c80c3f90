/* Joiner: gets a session into a running match. It receives the state that the server sends, a
 * snapshot or the whole history, queues the closed ticks that come meanwhile, and steps on until
 * the session is where the match is. Made when JOIN has come, destroyed when the session plays.
 * Never decides what comes after. */
#ifndef LOCKSTEP_CLIENT_SESSION_JOINER_H
#define LOCKSTEP_CLIENT_SESSION_JOINER_H

#include "lockstep/client/session/stepper.h"

typedef struct ls_joiner ls_joiner;

/* Checks JOIN against the ticks that are held and the state: what is wrong with it, or NULL. */
const char *ls_joiner_check(const ls_session *context, const ls_join *join);

/* Begins with a JOIN that was checked; ticks are queued here from now on. NO_MEMORY, or what the
 * simulation says when it cannot begin again. */
ls_status ls_joiner_create(const ls_session *context, const ls_join *join, ls_joiner **out);

/* The session plays with a state that differs from the server's, and is sent the server's: it plays
 * on until that is there, goes on from it, and steps the ticks since then, which are queued from
 * now on. MALFORMED, STALE (its ticks are not held any more), FULL, NO_MEMORY. */
ls_status ls_joiner_create_healing(const ls_session *context, const ls_heal_snapshot *heal,
                                   ls_joiner **out);

/* Ticks are queued no more. NULL is allowed. */
void ls_joiner_destroy(ls_joiner *joiner);

/* The link was lost on the way, and another JOIN says that the session may go on with what it
 * holds, or comes with the rest of its state. */
void ls_joiner_resume(ls_joiner *joiner, const ls_join *join);

/* ---- on the way ---- */

/* A part of the snapshot or history. STALE or FUTURE for one that says nothing new; MALFORMED. */
ls_status ls_joiner_receive_part(ls_joiner *joiner, const uint8_t *bytes, size_t size);

/* Acknowledges the parts that have come, when that is due; and when it is due next. */
void ls_joiner_acknowledge(ls_joiner *joiner);
uint64_t ls_joiner_next_ns(const ls_joiner *joiner);

/* OK while there was room for every tick that came; FELL_BEHIND or NO_MEMORY. */
ls_status ls_joiner_check_backlog(const ls_joiner *joiner, ls_text *why);

/* Takes the state out of what came for it, if it is all there, and steps the ticks that have come
 * since, as far as a frame may take. Works without a link as well. MISBEHAVED, DESYNCED, or what
 * the simulation says; then the session cannot go on. */
ls_status ls_joiner_frame(ls_joiner *joiner, uint64_t elapsed_ns, ls_text *why);

/* The live state is the one that the queue follows: it is kept when the link is lost. */
bool ls_joiner_has_state(const ls_joiner *joiner);

/* As long as such a session has its link. */
bool ls_joiner_is_healing(const ls_joiner *joiner);

/* ---- having got there ---- */

/* Every closed tick has been stepped, and there is a hash that the server can compare. */
bool ls_joiner_is_done(const ls_joiner *joiner);

/* Tells the server so, and begins to make inputs. */
void ls_joiner_announce(ls_joiner *joiner);

/* Tells the server how healing went. */
void ls_joiner_announce_healed(const ls_joiner *joiner, bool is_equal);

/* Fills in how far it is. */
void ls_joiner_report(const ls_joiner *joiner, ls_session_report *report);

#endif
