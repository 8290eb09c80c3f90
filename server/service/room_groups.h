/* Room groups: keeps as many rooms of each [[rooms]] of the configuration open as it asks for, and
 * knows of which none can be opened. Owns no room. Called by room_keeper. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_GROUPS_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_GROUPS_H

#include "lockstep/server/service/room_placement.h"

typedef struct ls_room_groups_config {
    ls_room_placement placement;
    ls_event_loop *loop;
    const ls_log *log;
    /* This room was registered, with its worker and settings, and is to be opened. */
    void (*open)(void *user, ls_registered_room *room);
    void *user;
} ls_room_groups_config;

typedef struct ls_room_groups ls_room_groups;

/* NO_MEMORY. */
ls_status ls_room_groups_create(const ls_room_groups_config *config, ls_room_groups **out);
/* NULL is allowed. */
void ls_room_groups_destroy(ls_room_groups *groups);

/* Opens what is missing. */
void ls_room_groups_tend(ls_room_groups *groups);

/* A room is open, or could not be opened: then its group gets no other one for a while. Without
 * effect for one that was made on demand, or whose group the configuration has no more. */
void ls_room_groups_note_opened(ls_room_groups *groups, const ls_registered_room *room);
void ls_room_groups_note_failed(ls_room_groups *groups, const ls_registered_room *room);

/* The name of a group of which the newest room could not be opened; NULL: there is none. */
const char *ls_room_groups_failed(const ls_room_groups *groups);

#endif
