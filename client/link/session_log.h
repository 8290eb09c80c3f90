/* Session log: the lines of a log about what happens to a session, in words for its player. It
 * counts what the server causes, so that no server fills the log. Called by whoever drives a
 * session over a client link. */
#ifndef LOCKSTEP_CLIENT_LINK_SESSION_LOG_H
#define LOCKSTEP_CLIENT_LINK_SESSION_LOG_H

#include "lockstep/client/link/client_link.h"
#include "lockstep/client/session/session.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/lag/lag_notes.h"

/* The pointers are borrowed; the rest comes zeroed. */
typedef struct ls_session_log {
    ls_log *log;
    ls_session *session;
    const ls_client_link *link;
    const ls_client_place *place;
    bool has_picture;     /* the player wants to see the simulation draw */
    ls_slot_set resuming; /* that was logged last, and the next one */
    ls_session_lobby lobby;
    ls_wait_notes waits;  /* of WAITING */
    ls_log_budget budget; /* of lines that the server causes */
} ls_session_log;

/* An event of the session; of CHAT nothing, which is for the caller: it may be muted. */
void ls_session_log_event(ls_session_log *lines, const ls_session_event *event, uint64_t now_ns);
void ls_session_log_chat(ls_session_log *lines, const char *line, uint64_t now_ns);

/* Called now and then: says so when nobody has been waited for any more for a while. */
void ls_session_log_end_waits(ls_session_log *lines, uint64_t now_ns);

/* "2 of 4 players are here; not ready: ann": of a session that waits for its match. */
void ls_session_log_add_lobby(const ls_session *session, ls_text *line);

/* The command that names the line of code, of the bundle as the server names it where its file
 * begins with no room's name; empty: the session has no simulation, or it is too long. */
ls_text ls_desync_lines_command(ls_session *session, const ls_desync_cause *cause);

/* ---- chat: what the players of a match say to each other, between session and person: the muted
 * ones, the commands of the chat line, and how a line is written so that no text of a player can be
 * taken for the program's own ---- */

/* Comes zeroed. */
typedef struct ls_client_chat {
    ls_slot_set muted_slots; /* while these players sit there */
    char muted[LS_PLAYERS_MAX][LS_PLAYER_NAME_BYTES_MAX];
} ls_client_chat;

/* Writes the line of a player: "[2] Ann: hello", with the number of its seat, from 1 on. False: it
 * is muted. */
bool ls_client_chat_write(ls_client_chat *chat, const ls_chat *said, ls_text *line);

/* Carries out what the person typed: a line for all, or a command (/mute, /unmute, /help, /1 to
 * /8). `answer` is what the person is told, "" for nothing. */
void ls_client_chat_type(ls_client_chat *chat, ls_session *session, const char *typed,
                         ls_text *answer);

/* Says a quick line. */
void ls_client_chat_say(ls_session *session, uint32_t quick_line, ls_text *answer);

#endif
