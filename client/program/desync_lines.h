/* Desync lines: what a client logs about a desync: which machine differs, from which tick on, in
 * what and why, as the server found it out. The server has the whole report; these lines are what a
 * player needs. Called by the client program. */
#ifndef LOCKSTEP_CLIENT_PROGRAM_DESYNC_LINES_H
#define LOCKSTEP_CLIENT_PROGRAM_DESYNC_LINES_H

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/log.h"

/* Whether the slot is this client's. A spectator has none. */
bool ls_desync_lines_is_own(const ls_session *session, uint32_t slot);

void ls_desync_lines_notice(const ls_session *session, const ls_desync_notice *notice,
                            const ls_log *log);

/* `newest` is the newest notice, by which it is known whether the cause is about the server. */
void ls_desync_lines_cause(const ls_session *session, const ls_desync_cause *cause,
                           const ls_desync_notice *newest, const ls_log *log);

#endif
