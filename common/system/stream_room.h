/* Stream room: whether a line can be written to a standard stream without waiting for its reader:
 * for a plug-in, which has no console to write to, and which synctest reads to the last call: tty
 * would bring questions about terminals along. Called by the lua plug-in. */
#ifndef LOCKSTEP_COMMON_SYSTEM_STREAM_ROOM_H
#define LOCKSTEP_COMMON_SYSTEM_STREAM_ROOM_H

#include "lockstep/common/system/tty.h"

#include <stdbool.h>

/* Room for 512 bytes. False for a stopped terminal, a full pipe, and one whose reader is gone. */
bool ls_stream_has_room(ls_tty stream);

#endif
