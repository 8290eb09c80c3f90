#include "lockstep/server/service/room_placement.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/file.h"
#include "lockstep/server/service/room_directory.h"
#include "lockstep/server/service/room_rotation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- placing ---- */

#define LOAD_MAX 0.95 /* of a worker that gets no new rooms */

/* ---- the name and the worker ---- */

void ls_room_placement_name(const ls_room_placement *placement, const char *stem, uint32_t *named,
                            char name[LS_ROOM_NAME_BYTES_MAX])
{
    do {
        snprintf(name, LS_ROOM_NAME_BYTES_MAX, "%.36s-%" PRIu32, stem, ++*named);
    } while (ls_room_register_find(placement->rooms, name));
}

static uint32_t rooms_of(const ls_room_placement *placement, uint32_t worker)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ls_room_register_count(placement->rooms); i++) {
        count += ls_room_register_at(placement->rooms, i)->report.worker == worker ? 1 : 0;
    }
    return count;
}

/* As long as none is ready, those that are being started wait as well. */
static bool is_there(const ls_room_placement *placement, uint32_t worker)
{
    bool is_any_ready = false;
    for (uint32_t i = 0; i < placement->workers; i++) {
        is_any_ready = is_any_ready || ls_worker_pool_is_ready(placement->pool, i);
    }
    return is_any_ready ? ls_worker_pool_is_ready(placement->pool, worker)
                        : ls_worker_pool_is_started(placement->pool, worker);
}

/* UINT32_MAX: every worker is busy, or away. */
static uint32_t choose_worker(const ls_room_placement *placement)
{
    uint32_t best = UINT32_MAX;
    uint32_t fewest = UINT32_MAX;
    for (uint32_t i = 0; i < placement->workers; i++) {
        bool is_free =
            is_there(placement, i) && ls_worker_pool_report(placement->pool, i)->load < LOAD_MAX;
        uint32_t rooms = is_free ? rooms_of(placement, i) : UINT32_MAX;
        if (rooms < fewest) {
            fewest = rooms;
            best = i;
        }
    }
    return best;
}

ls_registered_room *ls_room_placement_add(const ls_room_placement *placement, const char *name,
                                          ls_service_result *result)
{
    uint32_t rooms_max = placement->service->rooms_max;
    uint32_t worker = choose_worker(placement);
    if (ls_room_register_count(placement->rooms) >= rooms_max) {
        result->status =
            ls_fail(LS_FULL, &result->text, "there are %" PRIu32 " rooms, the limit", rooms_max);
    } else if (ls_room_register_find(placement->rooms, name)) {
        result->status =
            ls_fail(LS_ALREADY_STARTED, &result->text, "there is a room '%s' already", name);
    } else if (worker == UINT32_MAX) {
        result->status = ls_fail(LS_FULL, &result->text,
                                 "every worker is busy, or being started again: end rooms, or add "
                                 "cores or machines");
    } else {
        ls_registered_room *room = ls_room_register_add(placement->rooms, name);
        result->status = room ? LS_OK : LS_NO_MEMORY;
        if (room) {
            room->report.worker = worker;
        }
        return room;
    }
    return NULL;
}

/* ---- the settings ---- */

/* Of rooms on demand; those of a group are to wait for players. */
static ls_status set_join_timeout(const ls_room_placement *placement, ls_room_settings *settings,
                                  ls_text *why)
{
    char text[16];
    snprintf(text, sizeof text, "%" PRIu32, placement->service->join_timeout_s);
    return ls_room_settings_set(settings, "join-timeout", text, why);
}

/* A room goes on in a journal of the service, and in no other file that somebody names. */
static ls_status check_journal(const char *folder, const char *path, ls_text *why)
{
    ls_mapped_file file;
    size_t size = strlen(folder);
    bool is_in_folder = size > 0 && strncmp(path, folder, size) == 0 && path[size] == '/';
    ls_status status =
        is_in_folder ? ls_mapped_file_open_beneath(folder, path + size + strspn(path + size, "/"),
                                                   &file, why)
                     : LS_BAD_ARGUMENT;
    if (status == LS_OK) {
        ls_mapped_file_close(&file);
    }
    return status == LS_BAD_ARGUMENT
               ? ls_fail(status, why, "resume takes a path in the folder of the journals%s%s",
                         size > 0 ? ", " : ", which this service has none of", folder)
               : status;
}

ls_status ls_room_placement_settle(const ls_room_placement *placement,
                                   const ls_room_settings *given, ls_registered_room *room,
                                   ls_text *why)
{
    const char *group_name = ls_room_settings_find(given, "group");
    const char *journal = ls_room_settings_find(given, "resume");
    const ls_service_group *group =
        group_name ? ls_service_config_group(placement->service, group_name) : NULL;
    if (group_name && !group) {
        return ls_fail(LS_NOT_FOUND, why, "the configuration has no rooms '%.48s'", group_name);
    }
    ls_room_settings own = {.count = 0};
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < given->count; i++) {
        const ls_room_setting *row = &given->rows[i];
        if (strcmp(row->flag, "group") != 0 && strcmp(row->flag, "resume") != 0) {
            status = ls_room_settings_set(&own, row->flag, row->value, why);
        }
    }
    ls_name_copy(room->journal, sizeof room->journal, journal ? journal : "");
    if (status == LS_OK && journal) {
        status = check_journal(placement->service->journal_dir, room->journal, why);
    }
    ls_room_settings settings;
    uint32_t join_timeout_s = 0;
    LS_THEN(status, ls_service_config_settle(placement->service, group, &settings, why));
    LS_THEN(status, set_join_timeout(placement, &settings, why));
    LS_THEN(status, ls_room_settings_merge(&settings, &own, why));
    LS_THEN(status, ls_room_rotation_check(&settings, (ls_room_match_check){0}, why));
    LS_THEN(status, ls_room_settings_join_timeout(&settings, &join_timeout_s, why));
    return status == LS_OK ? ls_room_register_set(room, &settings) : status;
}

/* ---- groups of rooms ---- */

enum {
    GROUP_AGAIN_S = 10, /* after a room of a group could not be opened */
    FAILURES_SOON = 3,  /* of a room to go on, in 3 s: its worker of before may still write */
};

/* ---- what became of a room ---- */

static ls_room_group_state *state_of(ls_room_placement *placement, const ls_registered_room *room)
{
    const ls_service_config *service = placement->service;
    const ls_service_group *group = ls_service_config_group(service, room->report.group);
    return group ? &placement->groups[group - service->groups] : NULL;
}

static void note_failure(const ls_room_placement *placement, ls_room_group_state *group)
{
    group->again_ns = ls_event_loop_now_ns(placement->loop) + GROUP_AGAIN_S * LS_NS_PER_SECOND;
    group->has_failed = true;
}

void ls_room_placement_note(ls_room_placement *placement, const ls_registered_room *room,
                            bool is_open)
{
    ls_room_group_state *group = state_of(placement, room);
    if (group && is_open) {
        group->has_failed = false;
    } else if (group) {
        note_failure(placement, group);
    }
}

const char *ls_room_placement_failed(const ls_room_placement *placement)
{
    const ls_service_config *service = placement->service;
    for (uint32_t i = 0; i < service->group_count; i++) {
        if (placement->groups[i].has_failed) {
            return service->groups[i].name;
        }
    }
    return NULL;
}

/* ---- opening ---- */

static void open_room(ls_room_placement *placement, uint32_t index)
{
    const ls_service_group *group = &placement->service->groups[index];
    char name[LS_ROOM_NAME_BYTES_MAX];
    ls_service_result result = {.status = LS_OK};
    ls_room_settings settings;
    ls_room_placement_name(placement, group->name, &placement->groups[index].named, name);
    ls_registered_room *room = ls_room_placement_add(placement, name, &result);
    if (room) {
        ls_name_copy(room->report.group, sizeof room->report.group, group->name);
        result.status =
            ls_service_config_settle(placement->service, group, &settings, &result.text);
        LS_THEN(result.status, ls_room_register_set(room, &settings));
    }
    if (result.status == LS_OK) {
        placement->open(placement->user, room);
        return;
    }
    if (room) {
        ls_room_register_remove(placement->rooms, name);
    }
    note_failure(placement, &placement->groups[index]);
    ls_log_line(placement->log, LS_LOG_WARNING, "no room of '%s' is opened: %s", group->name,
                result.text.bytes);
}

/* Newcomers find a seat there, or will soon. */
static bool is_available(const ls_registered_room *room)
{
    if (!room->is_open) {
        return room->failures < FAILURES_SOON;
    }
    uint32_t state = room->report.state;
    return room->report.seats_open > 0 && state != LS_ROOM_PAUSED && state < LS_ROOM_ENDING;
}

/* The next room is opened as soon as one of these has ended. */
static bool is_at_limit(ls_room_placement *placement, const ls_service_group *group)
{
    uint32_t rooms = ls_room_register_count(placement->rooms);
    bool was_at_limit = placement->is_at_limit;
    placement->is_at_limit = rooms >= placement->service->rooms_max;
    if (placement->is_at_limit && !was_at_limit) {
        ls_log_line(placement->log, LS_LOG_WARNING,
                    "no room of '%s' is opened before another ends: there are %" PRIu32
                    " rooms, as many as rooms-max allows",
                    group->name, rooms);
    }
    return placement->is_at_limit;
}

static uint32_t count_available(const ls_room_placement *placement, const ls_service_group *group)
{
    const ls_room_register *rooms = placement->rooms;
    uint32_t available = 0;
    for (uint32_t i = 0; i < ls_room_register_count(rooms); i++) {
        const ls_registered_room *room = ls_room_register_at(rooms, i);
        if (strcmp(room->report.group, group->name) == 0) {
            available += is_available(room) ? 1 : 0;
        }
    }
    return available;
}

static void tend_group(ls_room_placement *placement, uint32_t index)
{
    const ls_service_group *group = &placement->service->groups[index];
    uint32_t available = count_available(placement, group);
    uint64_t now_ns = ls_event_loop_now_ns(placement->loop);
    while (available < group->open && now_ns >= placement->groups[index].again_ns &&
           !is_at_limit(placement, group)) {
        open_room(placement, index);
        available++;
    }
}

void ls_room_placement_reconfigure(ls_room_placement *placement, const ls_service_config *fresh)
{
    const ls_service_config *running = placement->service;
    ls_room_group_state groups[LS_SERVICE_GROUPS_MAX] = {{0}};
    for (uint32_t i = 0; i < fresh->group_count; i++) {
        const ls_service_group *group = ls_service_config_group(running, fresh->groups[i].name);
        if (group) {
            groups[i].named = placement->groups[group - running->groups].named;
        }
    }
    memcpy(placement->groups, groups, sizeof groups);
}

void ls_room_placement_tend(ls_room_placement *placement)
{
    for (uint32_t i = 0; i < placement->service->group_count; i++) {
        tend_group(placement, i);
    }
}

/* ---- intake ---- */

static ls_worker_message message_of_seats(uint32_t worker, const ls_worker_seats *seats)
{
    return (ls_worker_message){.kind = LS_WORKER_SEATS, .worker = worker, .seats = *seats};
}

static void give(ls_intake *intake, ls_worker_pool *pool, uint32_t worker)
{
    const ls_worker_message message = {.kind = LS_WORKER_INTAKE, .worker = worker};
    intake->worker = worker;
    ls_worker_pool_send_all(pool, &message);
}

/* The worker that had it is gone, or it was handed to one that is. */
static void give_anew(ls_intake *intake, ls_worker_pool *pool)
{
    uint32_t best = ls_worker_seats_best(intake->seats, intake->workers);
    for (uint32_t i = 0; i < intake->workers && best == UINT32_MAX; i++) {
        best = ls_worker_pool_is_ready(pool, i) ? i : UINT32_MAX;
    }
    if (best != UINT32_MAX) {
        give(intake, pool, best);
    }
}

void ls_intake_greet(const ls_intake *intake, ls_worker_pool *pool, uint32_t worker)
{
    const ls_worker_message message = {.kind = LS_WORKER_INTAKE, .worker = intake->worker};
    (void)ls_worker_pool_send(pool, worker, &message);
    for (uint32_t i = 0; i < intake->workers; i++) {
        const ls_worker_message seats = message_of_seats(i, &intake->seats[i]);
        (void)ls_worker_pool_send(pool, worker, &seats);
    }
}

void ls_intake_note_seats(ls_intake *intake, ls_worker_pool *pool, uint32_t worker,
                          const ls_worker_seats *seats)
{
    const ls_worker_message message = message_of_seats(worker, seats);
    intake->seats[worker] = *seats;
    for (uint32_t i = 0; i < intake->workers; i++) {
        if (i != worker) {
            (void)ls_worker_pool_send(pool, i, &message);
        }
    }
}

void ls_intake_drain(ls_intake *intake, ls_worker_pool *pool)
{
    uint32_t best = intake->worker;
    for (uint32_t i = 0; i < intake->workers; i++) {
        best = intake->seats[i].players > intake->seats[best].players ? i : best;
    }
    if (best != intake->worker) {
        give(intake, pool, best);
    }
}

void ls_intake_lose(ls_intake *intake, ls_worker_pool *pool, uint32_t worker)
{
    ls_intake_note_seats(intake, pool, worker, &(ls_worker_seats){.open = 0});
    if (worker == intake->worker) {
        give_anew(intake, pool);
    }
}

void ls_intake_receive(ls_intake *intake, ls_worker_pool *pool, uint32_t worker, uint32_t to)
{
    if (worker != intake->worker || to >= intake->workers) {
        return;
    }
    if (to == worker) {
        intake->on_known(intake->user, worker);
    } else if (ls_worker_pool_is_ready(pool, to)) {
        give(intake, pool, to);
    } else {
        give_anew(intake, pool);
    }
}
