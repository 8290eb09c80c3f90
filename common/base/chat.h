/* Chat: a line that a player says to the others, as typed or by the number of a quick line; the
 * words of those; and the limit to how much one player may say. And the players of a
 * lobby. Owns nothing; knows no match. */
#ifndef LOCKSTEP_COMMON_BASE_CHAT_H
#define LOCKSTEP_COMMON_BASE_CHAT_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/slot_set.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_CHAT_TEXT_BYTES_MAX 201u /* with its final NUL */
#define LS_QUICK_LINES 8u           /* numbers 1 .. 8; 0: the line is a text */

typedef struct ls_chat {
    uint32_t slot;       /* of the player who says it */
    uint32_t quick_line; /* 0, or its number: `text` is empty then on the wire */
    char text[LS_CHAT_TEXT_BYTES_MAX];
    char name[LS_PLAYER_NAME_BYTES_MAX]; /* the player's, as the server knows it */
} ls_chat;

/* The words of a quick line, 1 .. LS_QUICK_LINES. */
const char *ls_quick_line_words(uint32_t quick_line);

#define LS_CHAT_BURST_MAX 4u /* lines at once; later one in LS_CHAT_LINE_NS */
#define LS_CHAT_LINE_NS UINT64_C(2000000000)

/* Of one player; comes zeroed. */
typedef struct ls_chat_meter {
    uint64_t paid_ns; /* until then the lines said so far are paid for */
    bool has_refused; /* and the player was told; until it may say all lines at once again */
} ls_chat_meter;

/* One more line: false when it is too many. */
bool ls_chat_meter_spend(ls_chat_meter *meter, uint64_t now_ns);

/* A line is refused: whether the player is to be told, which it is once. */
bool ls_chat_meter_refuse(ls_chat_meter *meter);

/* The players in the lobby; ls_session_player_name has the names. */
typedef struct ls_session_lobby {
    ls_slot_set here;  /* empty: it is not known, or the match has begun; as a client says it */
    ls_slot_set ready; /* players who have said so */
    bool asks_nobody;  /* the match starts without a word of the players */
} ls_session_lobby;

/* LOBBY: the players of a lobby, and those who have said that they are ready. A client sends its
 * own bit alone, and no name. */
typedef struct ls_lobby {
    ls_session_lobby players;
    char names[LS_NAMES_PER_MESSAGE][LS_PLAYER_NAME_BYTES_MAX]; /* of who is there */
} ls_lobby;

LS_C_END

#endif
