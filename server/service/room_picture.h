/* Room picture: what the simulation of a room draws of its newest state, as an SVG document, for an
 * operator. Takes a few milliseconds of the worker, and is bounded. Called by worker_rooms. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_PICTURE_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_PICTURE_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/simulation/sim_instance.h"

#include <stddef.h>

/* Shapes beyond are left out; of larger bitmaps some columns and rows are. */
#define LS_ROOM_PICTURE_SHAPES_MAX 2500u
#define LS_ROOM_PICTURE_PIXELS_MAX 65536u
#define LS_ROOM_PICTURE_BYTES_MAX ((size_t)600 << 10)

/* The text is the caller's, to release to the heap. NOT_FOUND: the simulation draws nothing;
 * FULL: it is larger than BYTES_MAX; NO_MEMORY. */
ls_status ls_room_picture_make(ls_sim_instance *instance, char **out, ls_text *why);

#endif
