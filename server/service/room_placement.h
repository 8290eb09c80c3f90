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

#endif
