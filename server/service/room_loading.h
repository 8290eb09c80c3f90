/* Room loading: the game of a room, made of the room's settings: its simulation from the folder of
 * plug-ins or built in, its parameters and the settings of its match. Called by worker_rooms and
 * service_program. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_LOADING_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_LOADING_H

#include "lockstep/server/rooms/room_game.h"
#include "lockstep/server/service/room_settings.h"

#include <stddef.h>

typedef struct ls_room_loading {
    ls_room_settings *settings; /* its texts are borrowed by the game */
    const char *plugin_dir;     /* NULL: built-in simulations alone */
    const ls_room_files *files; /* that its parameters may name */
    const char *journal;        /* that it goes on from; NULL: it is new */
    char *path;                 /* gets that of the plug-in, likewise */
    size_t path_capacity;
} ls_room_loading;

/* Loads the game into this process, which runs code of the plug-in. BAD_ARGUMENT, or what
 * room_game.h says, with `why`. */
ls_status ls_room_load(const ls_room_loading *loading, ls_room_game **out, ls_text *why);

/* Whether every match of the room could be loaded and begun; the settings of `loading` do not
 * count. Of a plug-in only what can be told without its code, unless that may be run. */
ls_status ls_room_loading_check(const ls_room_loading *loading, const ls_room_settings *room,
                                bool runs_plugins, ls_text *why);

#endif
