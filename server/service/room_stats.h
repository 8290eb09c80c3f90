/* Room stats: counts what happens in a room, for its report: events, closed ticks and how late they
 * were, round trips. Reads the match only. Called by worker_rooms.c. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_STATS_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_STATS_H

#include "lockstep/server/rooms/room.h"
#include "lockstep/server/service/room_report.h"

/* All zero at first. */
typedef struct ls_room_stats {
    ls_room_counters counters; /* those that events and ticks tell */
    ls_tick tick;              /* closed so far */
    uint64_t advanced_ns;      /* when it was advanced last; 0: never */
    ls_tick sampled_from;      /* no latency before it: the length of a pause would be in it */
    ls_slot_set lost;          /* slots whose link was lost: counted, and perhaps coming back */
} ls_room_stats;

/* The match of the room stands at this tick: those before it were closed by another process. */
void ls_room_stats_begin(ls_room_stats *stats, const ls_match *match);

void ls_room_stats_receive_event(ls_room_stats *stats, const ls_match *match,
                                 const ls_match_event *event);

/* The match was advanced at `now_ns`, which it had been due for since `due_ns`. */
void ls_room_stats_advanced(ls_room_stats *stats, const ls_match *match, uint64_t due_ns,
                            uint64_t now_ns);

/* Fills in all that the match, its journal and the network know; name, group and worker are the
 * caller's. Takes a sample of the players' round trips each time. */
void ls_room_stats_report(ls_room_stats *stats, const ls_room *room, const ls_transport *transport,
                          ls_room_report *report);

#endif
