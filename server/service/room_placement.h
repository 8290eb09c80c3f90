/* Room placement: where a new room comes to be, under which name and with which settings; keeps as
 * many rooms of each [[rooms]] of the configuration open as it asks for, and knows of which none
 * can be opened. Owns no room. Called by room_keeper. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_PLACEMENT_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_PLACEMENT_H

#include "lockstep/server/service/room_register.h"
#include "lockstep/server/service/worker_pool.h"

typedef struct ls_room_group_state {
    uint32_t named;    /* rooms that were given a name */
    uint64_t again_ns; /* no room is opened before */
    bool has_failed;   /* the newest room could not be opened */
} ls_room_group_state;

/* All but the last two members are borrowed parts of the service, and set by the owner. */
typedef struct ls_room_placement {
    const ls_service_config *service;
    const ls_worker_pool *pool;
    uint32_t workers;
    ls_room_register *rooms;
    ls_event_loop *loop;
    const ls_log *log;
    /* This room was registered, with its worker and settings, and is to be opened. */
    void (*open)(void *user, ls_registered_room *room);
    void *user;
    bool is_at_limit; /* of rooms, and the log says so */
    ls_room_group_state groups[LS_SERVICE_GROUPS_MAX];
} ls_room_placement;

/* STEM-1, STEM-2 ... after number `named`, which becomes the one that was taken: a name that no
 * room has. */
void ls_room_placement_name(const ls_room_placement *placement, const char *stem, uint32_t *named,
                            char name[LS_ROOM_NAME_BYTES_MAX]);

/* Registers a room on the worker with the fewest rooms of those that are not busy. NULL: `result`
 * says why not. */
ls_registered_room *ls_room_placement_add(const ls_room_placement *placement, const char *name,
                                          ls_service_result *result);

/* Gives a room the settings of all rooms and those that an operator gave for this one, which may
 * name a group to begin with, and a journal to go on from. NOT_FOUND, BAD_ARGUMENT or FULL with
 * `why`. */
ls_status ls_room_placement_settle(const ls_room_placement *placement,
                                   const ls_room_settings *given, ls_registered_room *room,
                                   ls_text *why);

/* ---- groups of rooms ---- */

/* Opens the rooms that the groups of the configuration lack. */
void ls_room_placement_tend(ls_room_placement *placement);

/* Before another configuration takes the place of that of the service: what is known of its groups
 * goes by their names. */
void ls_room_placement_reconfigure(ls_room_placement *placement, const ls_service_config *fresh);

/* A room is open, or could not be opened: then its group gets no other one for a while. Without
 * effect for one that was made on demand, or whose group the configuration has no more. */
void ls_room_placement_note(ls_room_placement *placement, const ls_registered_room *room,
                            bool is_open);

/* The name of a group of which the newest room could not be opened; NULL: there is none. */
const char *ls_room_placement_failed(const ls_room_placement *placement);

/* ---- Intake: which worker newcomers come to (room_directory.h says what workers do with it), and
 * how it is given from one to another. Called by the room keeper ---- */

typedef struct ls_intake {
    uint32_t workers;
    uint32_t worker; /* that has it */
    ls_worker_seats seats[LS_SERVICE_WORKERS_MAX];
    /* This worker has the intake, and knows it: newcomers are to come to it from now on. */
    void (*on_known)(void *user, uint32_t worker);
    void *user;
} ls_intake;

/* A worker has started, and hears who has the intake. */
void ls_intake_greet(const ls_intake *intake, ls_worker_pool *pool, uint32_t worker);

/* The seats of a worker have changed: all workers hear of it. */
void ls_intake_note_seats(ls_intake *intake, ls_worker_pool *pool, uint32_t worker,
                          const ls_worker_seats *seats);

/* No more rooms are opened: newcomers are to come where somebody can tell them so, to the worker
 * with the most players. */
void ls_intake_drain(ls_intake *intake, ls_worker_pool *pool);

/* A worker has ended: its seats are gone, and the intake is given to another. */
void ls_intake_lose(ls_intake *intake, ls_worker_pool *pool, uint32_t worker);

/* `worker` says that `to` has the intake: itself when it knows so, or the one it hands it on to. A
 * message of a worker that has it no more is out of date. */
void ls_intake_receive(ls_intake *intake, ls_worker_pool *pool, uint32_t worker, uint32_t to);

#endif
