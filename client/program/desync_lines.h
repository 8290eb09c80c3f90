/* Desync lines: what a client logs about a desync: which machine differs, from which tick on, in
 * what and why, as the server found it out. The server has the whole report; these lines are what a
 * player needs. Called by the client program. */
#ifndef LOCKSTEP_CLIENT_PROGRAM_DESYNC_LINES_H
#define LOCKSTEP_CLIENT_PROGRAM_DESYNC_LINES_H

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/log.h"

/* `event`: LS_SESSION_EVENT_DESYNC */
void ls_desync_lines_notice(const ls_session *session, const ls_session_event *event,
                            const ls_log *log);

/* `event`: LS_SESSION_EVENT_CAUSE */
void ls_desync_lines_cause(const ls_session *session, const ls_session_event *event,
                           const ls_log *log);

#endif
