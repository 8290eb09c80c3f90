#include "lockstep/server/service/room_glances.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/assert.h"

#include <stddef.h>

struct ls_room_glances {
    uint32_t rooms_max;
    ls_room_glance rows[];
};

ls_status ls_room_glances_create(uint32_t rooms_max, ls_room_glances **out)
{
    size_t bytes = sizeof **out + rooms_max * sizeof(ls_room_glance);
    ls_room_glances *glances = ls_allocate(ls_allocator_heap(), bytes);
    if (!glances) {
        return LS_NO_MEMORY;
    }
    glances->rooms_max = rooms_max;
    *out = glances;
    return LS_OK;
}

void ls_room_glances_destroy(ls_room_glances *glances)
{
    ls_release(ls_allocator_heap(), glances);
}

void ls_room_glances_set(ls_room_glances *glances, uint32_t number, const ls_room_glance *glance)
{
    LS_ASSERT(number < glances->rooms_max);
    glances->rows[number] = *glance;
}

const ls_room_glance *ls_room_glances_at(const ls_room_glances *glances, uint32_t number)
{
    LS_ASSERT(number < glances->rooms_max);
    return &glances->rows[number];
}

static bool is_awaited(const ls_room_glance *room)
{
    return room->is_lobby && room->open > 0 && room->open < room->seats;
}

/* With those of `coming` who find a seat there; returns how many are left. */
static uint32_t add_seats(const ls_room_glance *room, uint32_t coming, ls_worker_seats *seats)
{
    uint32_t seated = LS_MIN(coming, room->open);
    uint32_t left = room->open - seated;
    seats->players += room->players + seated;
    seats->open += left;
    seats->awaited += room->is_lobby && left < room->seats ? left : 0;
    return coming - seated;
}

ls_worker_seats ls_room_glances_seats(const ls_room_glances *glances, uint32_t count,
                                      uint32_t coming)
{
    ls_worker_seats seats = {.open = 0};
    uint32_t rounds = coming > 0 ? 2 : 1; /* else it does not matter which room is first */
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < count; i++) {
            const ls_room_glance *room = ls_room_glances_at(glances, i);
            if (rounds == 1 || is_awaited(room) == (round == 0)) {
                coming = add_seats(room, coming, &seats);
            }
        }
    }
    return seats;
}
