/* Room saving: leaves the match of a room in its journal, to go on another time: pauses it, waits
 * until all that is closed is written, and suspends it. Called by worker_rooms. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_SAVING_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_SAVING_H

#include "lockstep/server/rooms/room.h"
#include "lockstep/server/service/worker_message.h"

typedef enum ls_saving_state {
    LS_SAVING_NONE,
    LS_SAVING_WRITES, /* the match is paused, and its journal does not hold all of it yet */
    LS_SAVING_LEFT,   /* the match is suspended: the room is done in a moment */
    LS_SAVING_FAILED, /* the match goes on, or has ended in its own way: `status` and `why` */
} ls_saving_state;

/* Zero: no saving has begun. */
typedef struct ls_room_saving {
    ls_saving_state state;
    bool was_paused; /* already, by an operator */
    uint64_t began_ns;
    ls_tick tick;  /* when it was looked at last */
    ls_text words; /* that players read */
    ls_status status;
    const char *why;        /* a sentence */
    uint64_t ticks_missing; /* in the journal */
} ls_room_saving;

/* REFUSED: the match has not begun, or is over; UNSUPPORTED: the room has no journal;
 * ALREADY_STARTED; with `why`. `words` may be empty. */
ls_status ls_room_saving_begin(ls_room_saving *saving, ls_room *room, const char *words,
                               uint64_t now_ns, ls_text *why);

/* Some time has passed. */
ls_saving_state ls_room_saving_look(ls_room_saving *saving, ls_room *room, uint64_t now_ns);

/* The room is done: a saving that has not left it fails, REFUSED. */
void ls_room_saving_end(ls_room_saving *saving);

/* Moves the closed journal of a match that was left to the folder "saved" beside it: among those
 * that are written a retention limit would find it. `moved` is where it is then. False, with errno:
 * it stays where it was. */
bool ls_room_saving_move(const char *path, const char *journal_dir,
                         char moved[LS_WORKER_PATH_BYTES_MAX]);

#endif
