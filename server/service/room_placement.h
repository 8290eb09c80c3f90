/* Room placement: where a new room comes to be, under which name and with which settings. Called by
 * room_keeper. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_PLACEMENT_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_PLACEMENT_H

#include "lockstep/server/service/room_register.h"
#include "lockstep/server/service/worker_pool.h"

/* The parts of the service that a placement asks, all borrowed. */
typedef struct ls_room_placement {
    const ls_service_config *service;
    const ls_worker_pool *pool;
    uint32_t workers;
    ls_room_register *rooms;
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

#endif
