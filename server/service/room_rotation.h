/* Room rotation: the matches that a room plays one after the other, out of its settings, and the
 * votes for the next one. Called by service_config, room_placement, room_keeper and worker_rooms.
 *
 * Three settings are about it: "rotation", a row for each match, "map=canyon size=3": settings of a
 * match, and whatever is none is a parameter of the simulation; "next": "in-turn" or "vote"; and
 * "turn", the match that is played, from 1 on. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_ROTATION_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_ROTATION_H

#include "lockstep/common/base/limits.h"
#include "lockstep/server/service/room_settings.h"

#define LS_ROTATION_MATCHES_MAX 32u

/* 0: the room has no rotation, and plays one match. */
uint32_t ls_room_rotation_count(const ls_room_settings *room);

/* The match that is played, from 0 on. */
uint32_t ls_room_rotation_turn(const ls_room_settings *room);
ls_status ls_room_rotation_set_turn(ls_room_settings *room, uint32_t turn);

bool ls_room_rotation_is_voted(const ls_room_settings *room);

/* As it was given: "map=canyon size=3". */
const char *ls_room_rotation_words(const ls_room_settings *room, uint32_t turn);

/* The settings of the match that is played: those of the room under those of its turn. A match of
 * another simulation has none of the room's parameters. BAD_ARGUMENT or FULL with `why`. */
ls_status ls_room_rotation_settle(const ls_room_settings *room, ls_room_settings *match,
                                  ls_text *why);

/* Asked of the settings of each match beside its words; without `check` nothing is. */
typedef struct ls_room_match_check {
    ls_status (*check)(void *user, ls_room_settings *match, ls_text *why);
    void *user;
} ls_room_match_check;

/* Whether every match of it can be played, or, without a rotation, its only one: `why` names the
 * first that cannot be. */
ls_status ls_room_rotation_check(const ls_room_settings *room, ls_room_match_check more,
                                 ls_text *why);

/* ---- votes ---- */

/* Zero: there are no votes. */
typedef struct ls_room_votes {
    uint8_t choices[LS_PLAYERS_MAX]; /* of each slot: a turn and 1 */
} ls_room_votes;

/* A line of the chat: whether it is a vote, "/vote 2". */
bool ls_room_votes_receive(ls_room_votes *votes, const ls_room_settings *room, uint32_t slot,
                           const char *line);

/* The turn behind that which is played: with the most votes, of equal ones that which comes first
 * in turn. */
uint32_t ls_room_votes_next(const ls_room_votes *votes, const ls_room_settings *room);

/* For players: what they may vote for, and how that stands. */
void ls_room_votes_write(const ls_room_votes *votes, const ls_room_settings *room, ls_text *out);

#endif
