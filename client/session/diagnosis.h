/* Diagnosis: what a session does about desyncs. It keeps what the server tells about them, answers
 * what the server asks about this side's states, simulates ticks again to find the cause, and heals
 * the live state with what the server sends. */
#ifndef LOCKSTEP_CLIENT_SESSION_DIAGNOSIS_H
#define LOCKSTEP_CLIENT_SESSION_DIAGNOSIS_H

#include "lockstep/client/session/stepper.h"

typedef struct ls_diagnosis ls_diagnosis;

/* NO_MEMORY. */
ls_status ls_diagnosis_create(const ls_session *context, ls_diagnosis **out);
void ls_diagnosis_destroy(ls_diagnosis *diagnosis);

/* A message about desyncs. MALFORMED for any other, and for one that does not fit what is held.
 * While the session does not play, nothing is healed. */
ls_status ls_diagnosis_receive(ls_diagnosis *diagnosis, const ls_message *message);

/* The server asks for the hashes of states from `first` on: its next question may be about them. */
void ls_diagnosis_expect(ls_diagnosis *diagnosis, ls_tick first);

/* Goes on with simulating again, beside the match. */
void ls_diagnosis_frame(ls_diagnosis *diagnosis);

/* The session gets its state anew: whatever was asked before is over. */
void ls_diagnosis_reset(ls_diagnosis *diagnosis);

/* The session's state is the server's from state `tick` on. */
void ls_diagnosis_note_healed(ls_diagnosis *diagnosis, ls_tick tick);

/* The server has said that this slot's state differs. */
bool ls_diagnosis_is_desynced(const ls_diagnosis *diagnosis);

/* Fills in the report's figures of desyncs. */
void ls_diagnosis_report(const ls_diagnosis *diagnosis, ls_session_report *report);

#endif
