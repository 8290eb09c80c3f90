/* Room progress: live lines about a match on a terminal. Reads the match only. Called by server.c.
 */
#ifndef LOCKSTEP_SERVER_ROOMS_ROOM_PROGRESS_H
#define LOCKSTEP_SERVER_ROOMS_ROOM_PROGRESS_H

#include "lockstep/common/program/console.h"
#include "lockstep/server/match/match.h"

#define LS_ROOM_PROGRESS_LINES_MAX 16u /* of players or of rooms, that fit a terminal */

/* The only room of a server, with its players; one of several, in a line. */
void ls_room_progress_draw(ls_console *console, const ls_match *match);
void ls_room_progress_draw_short(ls_console *console, const char *title, const ls_match *match);

#endif
