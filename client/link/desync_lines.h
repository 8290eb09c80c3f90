/* Desync lines: a client's lines in the log about a desync: what a player needs of the server's
 * report. Called by session_log. */
#ifndef LOCKSTEP_CLIENT_LINK_DESYNC_LINES_H
#define LOCKSTEP_CLIENT_LINK_DESYNC_LINES_H

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/log.h"

/* The command that names the line of code, of the bundle as the server names it where its file
 * begins with no room's name; empty: the session has no simulation, or it is too long. */
ls_text ls_desync_lines_command(ls_session *session, const ls_desync_cause *cause);

/* `event`: LS_SESSION_EVENT_DESYNC or LS_SESSION_EVENT_CAUSE. */
void ls_desync_lines_log(ls_session *session, const ls_session_event *event, const ls_log *log);

#endif
