/* Desync lines: a client's lines in the log about a desync: what a player needs of the server's
 * report. Called by session_log. */
#ifndef LOCKSTEP_CLIENT_LINK_DESYNC_LINES_H
#define LOCKSTEP_CLIENT_LINK_DESYNC_LINES_H

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/log.h"

/* `event`: LS_SESSION_EVENT_DESYNC or LS_SESSION_EVENT_CAUSE. */
void ls_desync_lines_log(const ls_session *session, const ls_session_event *event,
                         const ls_log *log);

#endif
