#include "lockstep/server/service/room_groups.h"

#include "lockstep/common/base/clock.h"

#include <inttypes.h>
#include <string.h>

enum {
    GROUP_AGAIN_S = 10, /* after a room of a group could not be opened */
};

typedef struct group_state {
    uint32_t named;    /* rooms that were given a name */
    uint64_t again_ns; /* no room is opened before */
    bool has_failed;   /* the newest room could not be opened */
} group_state;

struct ls_room_groups {
    ls_room_groups_config config;
    bool is_at_limit; /* of rooms, and the log says so */
    group_state states[LS_SERVICE_GROUPS_MAX];
};

static const ls_service_config *service_of(const ls_room_groups *groups)
{
    return groups->config.placement.service;
}

/* ---- what became of a room ---- */

static group_state *state_of(ls_room_groups *groups, const ls_registered_room *room)
{
    const ls_service_config *service = service_of(groups);
    const ls_service_group *group = ls_service_config_group(service, room->report.group);
    return group ? &groups->states[group - service->groups] : NULL;
}

static void note_failure(const ls_room_groups *groups, group_state *group)
{
    group->again_ns = ls_event_loop_now_ns(groups->config.loop) + GROUP_AGAIN_S * LS_NS_PER_SECOND;
    group->has_failed = true;
}

void ls_room_groups_note_opened(ls_room_groups *groups, const ls_registered_room *room)
{
    group_state *group = state_of(groups, room);
    if (group) {
        group->has_failed = false;
    }
}

void ls_room_groups_note_failed(ls_room_groups *groups, const ls_registered_room *room)
{
    group_state *group = state_of(groups, room);
    if (group) {
        note_failure(groups, group);
    }
}

const char *ls_room_groups_failed(const ls_room_groups *groups)
{
    const ls_service_config *service = service_of(groups);
    for (uint32_t i = 0; i < service->group_count; i++) {
        if (groups->states[i].has_failed) {
            return service->groups[i].name;
        }
    }
    return NULL;
}

/* ---- opening ---- */

static void open_room(ls_room_groups *groups, uint32_t index)
{
    const ls_room_placement *placement = &groups->config.placement;
    const ls_service_group *group = &placement->service->groups[index];
    char name[LS_ROOM_NAME_BYTES_MAX];
    ls_service_result result = {.status = LS_OK};
    ls_room_placement_name(placement, group->name, &groups->states[index].named, name);
    ls_registered_room *room = ls_room_placement_add(placement, name, &result);
    if (room) {
        ls_name_copy(room->report.group, sizeof room->report.group, group->name);
        result.status =
            ls_service_config_settle(placement->service, group, &room->settings, &result.text);
    }
    if (result.status == LS_OK) {
        groups->config.open(groups->config.user, room);
        return;
    }
    if (room) {
        ls_room_register_remove(placement->rooms, name);
    }
    note_failure(groups, &groups->states[index]);
    ls_log_line(groups->config.log, LS_LOG_WARNING, "no room of '%s' is opened: %s", group->name,
                result.text.bytes);
}

/* Newcomers find a seat there, or will soon. */
static bool is_available(const ls_registered_room *room)
{
    if (!room->is_open) {
        return room->failures == 0;
    }
    uint32_t state = room->report.state;
    return room->report.seats_open > 0 && state != LS_ROOM_PAUSED && state < LS_ROOM_ENDING;
}

/* The next room is opened as soon as one of these has ended. */
static bool is_at_limit(ls_room_groups *groups, const ls_service_group *group)
{
    uint32_t rooms = ls_room_register_count(groups->config.placement.rooms);
    bool was_at_limit = groups->is_at_limit;
    groups->is_at_limit = rooms >= service_of(groups)->rooms_max;
    if (groups->is_at_limit && !was_at_limit) {
        ls_log_line(groups->config.log, LS_LOG_WARNING,
                    "no room of '%s' is opened before another ends: there are %" PRIu32
                    " rooms, as many as rooms-max allows",
                    group->name, rooms);
    }
    return groups->is_at_limit;
}

static uint32_t count_available(const ls_room_groups *groups, const ls_service_group *group)
{
    const ls_room_register *rooms = groups->config.placement.rooms;
    uint32_t available = 0;
    for (uint32_t i = 0; i < ls_room_register_count(rooms); i++) {
        const ls_registered_room *room = ls_room_register_at(rooms, i);
        if (strcmp(room->report.group, group->name) == 0) {
            available += is_available(room) ? 1 : 0;
        }
    }
    return available;
}

static void tend_group(ls_room_groups *groups, uint32_t index)
{
    const ls_service_group *group = &service_of(groups)->groups[index];
    uint32_t available = count_available(groups, group);
    uint64_t now_ns = ls_event_loop_now_ns(groups->config.loop);
    while (available < group->open && now_ns >= groups->states[index].again_ns &&
           !is_at_limit(groups, group)) {
        open_room(groups, index);
        available++;
    }
}

void ls_room_groups_tend(ls_room_groups *groups)
{
    for (uint32_t i = 0; i < service_of(groups)->group_count; i++) {
        tend_group(groups, i);
    }
}

/* ---- life ---- */

ls_status ls_room_groups_create(const ls_room_groups_config *config, ls_room_groups **out)
{
    ls_room_groups *groups = ls_allocate(ls_allocator_heap(), sizeof *groups);
    if (!groups) {
        return LS_NO_MEMORY;
    }
    groups->config = *config;
    *out = groups;
    return LS_OK;
}

void ls_room_groups_destroy(ls_room_groups *groups)
{
    ls_release(ls_allocator_heap(), groups);
}
