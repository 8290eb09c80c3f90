/* Seat file: remembers the seat of a player outside of the process, so that a client that crashed
 * and is started again gets its seat back at once. Only its owner can read it. Written once the
 * player is seated, removed when the seat is gone. */
#ifndef LOCKSTEP_CLIENT_LINK_SEAT_FILE_H
#define LOCKSTEP_CLIENT_LINK_SEAT_FILE_H

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/log.h"

/* The seat that the file remembers of this server (its key, or "HOST:PORT" as it was given).
 * NOT_FOUND when there is no file (path NULL: none is wanted), or one of another server; IO with
 * the reason when it cannot be used. */
ls_status ls_seat_file_read(const char *path, const char *server, ls_session_seat *seat,
                            ls_text *why);

/* Replaces the file: whatever happens, there is the one before or this one, whole. IO with the
 * reason. */
ls_status ls_seat_file_write(const char *path, const char *server, const ls_session_seat *seat,
                             ls_text *why);

/* There may be none. */
void ls_seat_file_remove(const char *path);

/* Writes the file once the player is seated, and each time that it is given another secret, before
 * the server can hear that it was received: call this before the packets of the turn leave. Removes
 * the file when the session ends with the match, or because the server took the seat away: not when
 * the link was lost, nor when this build was refused. Path NULL: none is wanted. */
void ls_seat_file_receive_event(const char *path, const char *server, const ls_session *session,
                                const ls_session_event *event, const ls_log *log);

#endif
