/* Room glances: what a worker looks at many times a second of each of its rooms, kept side by side:
 * rooms where nothing happens are not gone through. Knows no match. Called by worker_rooms. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_GLANCES_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_GLANCES_H

#include "lockstep/common/base/status.h"
#include "lockstep/server/service/worker_message.h"

/* Zero: there is no room. */
typedef struct ls_room_glance {
    bool is_lobby; /* its match has not begun */
    bool is_quiet; /* it has no players, and nothing is due there */
    bool is_there;
    uint32_t seats;
    uint32_t open; /* of them, to newcomers who were not invited */
    uint32_t players;
} ls_room_glance;

typedef struct ls_room_glances ls_room_glances;

/* NO_MEMORY. */
ls_status ls_room_glances_create(uint32_t rooms_max, ls_room_glances **out);
/* NULL is allowed. */
void ls_room_glances_destroy(ls_room_glances *glances);

/* `number`: below rooms_max. */
void ls_room_glances_set(ls_room_glances *glances, uint32_t number, const ls_room_glance *glance);
const ls_room_glance *ls_room_glances_at(const ls_room_glances *glances, uint32_t number);

/* Of the first `count` rooms, with so many newcomers on their way, who have no seat yet: they come
 * first to rooms where others wait for one more. */
ls_worker_seats ls_room_glances_seats(const ls_room_glances *glances, uint32_t count,
                                      uint32_t coming);

#endif
