/* Room lines: tells the log what happens in a match: a line or more for each event. Reads the match
 * only. Called by room.c. */
#ifndef LOCKSTEP_SERVER_ROOMS_ROOM_LINES_H
#define LOCKSTEP_SERVER_ROOMS_ROOM_LINES_H

#include "lockstep/common/base/log.h"
#include "lockstep/server/match/match.h"

typedef struct ls_room_lines {
    ls_match *match;
    const ls_log *log;
    const char *bundle; /* path, of the desync that the event is about; NULL: there is none */
} ls_room_lines;

void ls_room_lines_log(const ls_room_lines *room, const ls_match_event *event);

#endif
