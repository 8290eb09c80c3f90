/* Room name: which names a room may have: they stand in paths, files and metrics as they are.
 * Called wherever a name comes from outside. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_NAME_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_NAME_H

#include <stdbool.h>

#define LS_ROOM_NAME_BYTES_MAX 48u

/* 1 to LS_ROOM_NAME_BYTES_MAX - 1 letters, digits, '-' and '_'. */
bool ls_room_name_is_valid(const char *name);

#endif
