/* Worker rooms: the rooms of one worker by their names: opens them by their settings, carries out
 * what an operator asks of them, and reports on them. Called by worker. */
#ifndef LOCKSTEP_SERVER_SERVICE_WORKER_ROOMS_H
#define LOCKSTEP_SERVER_SERVICE_WORKER_ROOMS_H

#include "lockstep/server/rooms/rooms.h"
#include "lockstep/server/service/join_limits.h"
#include "lockstep/server/service/room_directory.h"
#include "lockstep/server/service/work_mark.h"
#include "lockstep/server/service/worker_message.h"

typedef struct ls_worker_rooms_config {
    const ls_worker_settings *settings; /* outlive these, as all below */
    const ls_room_directory *directory; /* knows which rooms are expected */
    ls_join_limits *limits;             /* of all workers */
    ls_work_mark *mark;                 /* is told the names of rooms, and what is worked on */
    ls_console *console;
    ls_host_config host; /* as in rooms.h */
    /* Something is worth telling: an event, or GONE. */
    void (*notify)(void *user, const ls_worker_message *message);
    void *user;
} ls_worker_rooms_config;

typedef struct ls_worker_rooms ls_worker_rooms;

/* Listens, and has no room yet. As ls_rooms_create. */
ls_status ls_worker_rooms_create(const ls_worker_rooms_config *config, ls_worker_rooms **out,
                                 ls_text *why);
/* Closes every room. NULL is allowed. */
void ls_worker_rooms_destroy(ls_worker_rooms *all);

/* Owned by the rooms. */
ls_host *ls_worker_rooms_host(const ls_worker_rooms *all);

/* Carries out a COMMAND and makes its RESULT; false: that is told later. */
bool ls_worker_rooms_command(ls_worker_rooms *all, const ls_worker_message *message,
                             ls_worker_message *result);

/* Some time has passed: 100 ms, say. True when nobody is in any room, and none of them is being
 * saved. */
bool ls_worker_rooms_look(ls_worker_rooms *all);

/* Reports through `tell`. A report takes as long as some ticks: each room has one of `turns_min`
 * turns, which follow one another, or of more turns where many rooms are played in; an empty one
 * takes every tenth of its own. Or of rooms whose seats or state have changed, a few at a time;
 * whether there were any. */
void ls_worker_rooms_report(ls_worker_rooms *all, uint64_t turn, uint32_t turns_min);
bool ls_worker_rooms_report_changed(ls_worker_rooms *all);

/* Ends the rooms where nobody plays yet. */
void ls_worker_rooms_drain(ls_worker_rooms *all);

/* With so many newcomers on their way, who have no seat yet: they come first to rooms where others
 * wait. */
ls_worker_seats ls_worker_rooms_seats(ls_worker_rooms *all, uint32_t coming);
/* Whether there is a room that they can watch. */
bool ls_worker_rooms_can_watch(const ls_worker_rooms *all);
uint32_t ls_worker_rooms_count(const ls_worker_rooms *all);

/* For rooms that are quiet: see ls_rooms_set_resting. */
void ls_worker_rooms_set_resting(ls_worker_rooms *all, bool are_resting);

/* How many closed ticks the journals do not hold yet; goes on writing them. */
uint64_t ls_worker_rooms_unwritten(ls_worker_rooms *all, uint64_t now_ns);

#endif
