/* Room directory: which worker has which room, and where newcomers find seats, as each worker knows
 * it of all of them: so that a worker can tell a client where its place is. Called by worker. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_DIRECTORY_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_DIRECTORY_H

#include "lockstep/server/service/service_config.h"

typedef struct ls_room_directory ls_room_directory;

/* NO_MEMORY. */
ls_status ls_room_directory_create(ls_room_directory **out);
/* NULL is allowed. */
void ls_room_directory_destroy(ls_room_directory *directory);

/* A room was opened by a worker; a match id of 0: it is gone. One too many is left out. */
void ls_room_directory_note(ls_room_directory *directory, const char *name, uint64_t match_id,
                            uint32_t worker);

/* The worker of a room, by its name or by the id of its match in 16 hex digits; UINT32_MAX: there
 * is no such room. */
uint32_t ls_room_directory_find(const ls_room_directory *directory, const char *name);

/* So many seats are there for newcomers who were not invited; the worker with the most, or
 * UINT32_MAX: there are none. */
void ls_room_directory_note_seats(ls_room_directory *directory, uint32_t worker, uint32_t seats);
uint32_t ls_room_directory_most_seats(const ls_room_directory *directory);

#endif
