/* Client chat: what the players of a match say to each other, between session and person: the
 * muted ones, the commands of the chat line, and how a line is written so that no text of a player
 * can be taken for the program's own. */
#ifndef LOCKSTEP_CLIENT_PROGRAM_CLIENT_CHAT_H
#define LOCKSTEP_CLIENT_PROGRAM_CLIENT_CHAT_H

#include "lockstep/client/session/session.h"

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
