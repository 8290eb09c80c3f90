/* Talk: the lines that players say to each other, and the lobby, in which they learn who is there
 * and may say that they are ready. Limits what each of them may say; forwards it to those who play
 * and watch. Touches no tick and no state, and starts no match: match_conduct does. */
#ifndef LOCKSTEP_SERVER_MATCH_TALK_H
#define LOCKSTEP_SERVER_MATCH_TALK_H

#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/match/match.h"

#define LS_TALK_LOBBY_NS UINT64_C(250000000) /* at least, between two LOBBY to all */

/* Comes zeroed. */
typedef struct ls_talk {
    ls_chat_meter meters[LS_PLAYERS_MAX]; /* of each seat, whoever sits there */
    ls_slot_set ready;                    /* slots whose players have said that they are ready */
    bool is_changed;                      /* since the last LOBBY to all */
    bool has_newcomer;                    /* likewise: there is a name to be told */
    uint64_t sent_ns;                     /* when that went out */
} ls_talk;

/* A line of a player: forwarded, or not; then `why` is what the player is to be told, or NULL.
 * MALFORMED when it is another's; MISBEHAVED from one who is not READY. */
ls_status ls_talk_receive_chat(ls_talk *talk, const ls_match *match, uint32_t slot,
                               const ls_chat *chat, const char **why);

/* MALFORMED when it speaks for another. */
ls_status ls_talk_receive_lobby(ls_talk *talk, const ls_match *match, uint32_t slot,
                                const ls_lobby *lobby);

/* A player is READY in the lobby, and is told who is there. */
void ls_talk_come(ls_talk *talk, const ls_match *match, uint32_t slot);
void ls_talk_leave(ls_talk *talk, uint32_t slot);

/* Tells all in the lobby what has changed there; when there is something to tell. */
void ls_talk_advance(ls_talk *talk, const ls_match *match);
uint64_t ls_talk_next_ns(const ls_talk *talk, const ls_match *match);

/* The match is in its lobby, enough players are there, and none of them is waited for. */
bool ls_talk_may_start(const ls_talk *talk, const ls_match *match);

#endif
