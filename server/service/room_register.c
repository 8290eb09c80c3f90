#include "lockstep/server/service/room_register.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/common/system/system_clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct ls_room_register {
    char path[LS_WORKER_PATH_BYTES_MAX]; /* "": no file */
    int lock;                            /* held while the register is there; -1: none */
    size_t whole_bytes; /* of the file when it was written as a whole; 0: that comes next */
    size_t added_bytes; /* of changes behind that */
    bool has_changed;   /* and that is not in the file */
    char *noted;        /* lines that come next */
    size_t noted_bytes;
    size_t noted_capacity;
    ls_ban_list bans;
    uint32_t count;
    uint64_t opened;
    uint64_t ended;
    ls_room_counters gone;
    ls_registered_room *rows[LS_SERVICE_ROOMS_MAX]; /* in the order of their names */
};

#define WHAT "list of rooms"

enum {
    ADDED_BYTES_MIN = 65536, /* of changes, before the file is written anew */
};

/* ---- rows ---- */

static const ls_room_settings no_settings;

/* The index of the name, or where it would stand. */
static uint32_t place_of(const ls_room_register *rooms, const char *name)
{
    uint32_t low = 0;
    uint32_t high = rooms->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(rooms->rows[middle]->report.name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const ls_room_register *rooms, uint32_t index, const char *name)
{
    return index < rooms->count && strcmp(rooms->rows[index]->report.name, name) == 0;
}

ls_registered_room *ls_room_register_find(const ls_room_register *rooms, const char *name)
{
    uint32_t index = place_of(rooms, name);
    return is_at(rooms, index, name) ? rooms->rows[index] : NULL;
}

ls_registered_room *ls_room_register_add(ls_room_register *rooms, const char *name)
{
    uint32_t index = place_of(rooms, name);
    if (rooms->count == LS_SERVICE_ROOMS_MAX || is_at(rooms, index, name)) {
        return NULL;
    }
    ls_registered_room *room = ls_allocate(ls_allocator_heap(), sizeof *room);
    if (room) {
        room->settings = &no_settings;
        ls_name_copy(room->report.name, sizeof room->report.name, name);
        memmove(&rooms->rows[index + 1], &rooms->rows[index],
                (rooms->count - index) * sizeof(ls_registered_room *));
        rooms->rows[index] = room;
        rooms->count++;
    }
    return room;
}

static void release_settings(ls_registered_room *room)
{
    if (room->settings != &no_settings) {
        ls_room_settings_release(room->settings);
    }
}

ls_status ls_room_register_set(ls_registered_room *room, const ls_room_settings *settings)
{
    const ls_room_settings *kept = ls_room_settings_keep(settings);
    if (!kept) {
        return LS_NO_MEMORY;
    }
    release_settings(room);
    room->settings = kept;
    return LS_OK;
}

static void destroy_room(ls_registered_room *room)
{
    release_settings(room);
    ls_room_report_deinit(&room->report);
    ls_release(ls_allocator_heap(), room);
}

void ls_room_register_lose(ls_room_register *rooms, ls_registered_room *room)
{
    ls_room_counters_add(&rooms->gone, &room->report.counters);
    memset(&room->report.counters, 0, sizeof room->report.counters);
    ls_room_report_deinit(&room->report);
    room->report.spectators = 0;
    room->is_open = false;
    room->is_asked = false;
}

void ls_room_register_remove(ls_room_register *rooms, const char *name)
{
    uint32_t index = place_of(rooms, name);
    if (!is_at(rooms, index, name)) {
        return;
    }
    ls_registered_room *room = rooms->rows[index];
    rooms->ended += room->is_open ? 1 : 0;
    ls_room_register_lose(rooms, room);
    destroy_room(room);
    rooms->count--;
    memmove(&rooms->rows[index], &rooms->rows[index + 1],
            (rooms->count - index) * sizeof(ls_registered_room *));
}

uint32_t ls_room_register_count(const ls_room_register *rooms)
{
    return rooms->count;
}

ls_registered_room *ls_room_register_at(const ls_room_register *rooms, uint32_t index)
{
    return rooms->rows[index];
}

const ls_room_counters *ls_room_register_gone(const ls_room_register *rooms)
{
    return &rooms->gone;
}

uint64_t ls_room_register_opened(const ls_room_register *rooms)
{
    return rooms->opened;
}

uint64_t ls_room_register_ended(const ls_room_register *rooms)
{
    return rooms->ended;
}

void ls_room_register_note_opened(ls_room_register *rooms)
{
    rooms->opened++;
}

ls_ban_list *ls_room_register_bans(ls_room_register *rooms)
{
    return &rooms->bans;
}

/* ---- the file ---- */

/* The folder of the file with its slash, in bytes. */
static size_t folder_bytes(const ls_room_register *rooms)
{
    const char *slash = strrchr(rooms->path, '/');
    return slash ? (size_t)(slash - rooms->path) + 1 : 0;
}

/* The folder may be elsewhere when the file is read: a journal in it goes by its name alone. */
static const char *journal_name(const ls_room_register *rooms, const char *journal)
{
    size_t folder = folder_bytes(rooms);
    bool is_inside = folder > 0 && strncmp(journal, rooms->path, folder) == 0;
    return is_inside && !strchr(journal + folder, '/') ? journal + folder : journal;
}

static ls_status find_journal(const ls_room_register *rooms, const char *name,
                              char journal[LS_WORKER_PATH_BYTES_MAX])
{
    int folder = strchr(name, '/') ? 0 : (int)folder_bytes(rooms);
    int bytes = snprintf(journal, LS_WORKER_PATH_BYTES_MAX, "%.*s%s", folder, rooms->path, name);
    return bytes > 0 && (size_t)bytes < LS_WORKER_PATH_BYTES_MAX ? LS_OK : LS_MALFORMED;
}

static void write_room(const ls_room_register *rooms, const ls_registered_room *room, ls_json *list)
{
    ls_json *object = ls_json_append(list);
    ls_json_text(object, "name", room->report.name);
    ls_json_text(object, "group", room->report.group);
    ls_json_number(object, "worker", room->report.worker);
    ls_json_text(object, "journal", journal_name(rooms, room->journal));
    ls_json_hash(object, "match_id", room->report.match_id);
    if (room->is_unplayed) {
        ls_json_bool(object, "unplayed", true);
    }
    if (room->is_paused) {
        ls_json_text(object, "paused", room->pause_why.bytes);
    }
    ls_room_settings_write(room->settings, ls_json_object(object, "settings"));
}

static void write_bans(const ls_room_register *rooms, ls_json *json)
{
    ls_ban_list_write(&rooms->bans, ls_clock_unix_ms() / 1000, ls_json_array(json, "bans"));
}

/* A room without a journal has nothing to go on with. */
static bool is_written(const ls_registered_room *room)
{
    return room && room->journal[0] != '\0';
}

static void write_whole(const ls_room_register *rooms, ls_json *json)
{
    ls_json *list = ls_json_array(json, "rooms");
    for (uint32_t i = 0; i < rooms->count; i++) {
        if (is_written(rooms->rows[i])) {
            write_room(rooms, rooms->rows[i], list);
        }
    }
    write_bans(rooms, json);
}

static void write_change(const ls_room_register *rooms, const char *name, ls_json *json)
{
    const ls_registered_room *room = name ? ls_room_register_find(rooms, name) : NULL;
    if (is_written(room)) {
        write_room(rooms, room, ls_json_array(json, "rooms"));
    } else if (name) {
        ls_json_text(json, "gone", name);
    } else {
        write_bans(rooms, json);
    }
}

/* Room for so many bytes more, twice as much as there was at least. */
static bool reserve_noted(ls_room_register *rooms, size_t bytes)
{
    size_t needed = rooms->noted_bytes + bytes;
    if (needed <= rooms->noted_capacity) {
        return true;
    }
    size_t capacity = LS_MAX(needed, 2 * rooms->noted_capacity);
    char *wider = ls_allocate(ls_allocator_heap(), capacity);
    if (!wider) {
        return false;
    }
    if (rooms->noted_bytes > 0) {
        memcpy(wider, rooms->noted, rooms->noted_bytes);
    }
    ls_release(ls_allocator_heap(), rooms->noted);
    rooms->noted = wider;
    rooms->noted_capacity = capacity;
    return true;
}

/* False: memory is out. */
static bool note_line(ls_room_register *rooms, const ls_json *json)
{
    char *text = ls_json_print_line(json);
    size_t bytes = text ? strlen(text) : 0;
    bool has_room = text && reserve_noted(rooms, bytes + 1);
    if (has_room) {
        memcpy(rooms->noted + rooms->noted_bytes, text, bytes);
        rooms->noted_bytes += bytes + 1;
        rooms->noted[rooms->noted_bytes - 1] = '\n';
    }
    ls_json_release_line(text);
    return has_room;
}

void ls_room_register_note(ls_room_register *rooms, const char *name)
{
    if (rooms->path[0] == '\0') {
        return;
    }
    ls_json *json = ls_json_create();
    rooms->has_changed = true;
    write_change(rooms, name, json);
    if (!note_line(rooms, json)) {
        rooms->whole_bytes = 0;
    }
    ls_json_destroy(json);
}

static ls_status save_noted(ls_room_register *rooms, ls_text *why)
{
    size_t bytes = rooms->noted_bytes;
    rooms->noted_bytes = 0;
    rooms->added_bytes += bytes;
    return ls_private_file_append(rooms->path, WHAT, (const uint8_t *)rooms->noted, bytes, why);
}

static ls_status save_whole(ls_room_register *rooms, ls_text *why)
{
    ls_json *json = ls_json_create();
    write_whole(rooms, json);
    rooms->noted_bytes = 0;
    ls_status status = note_line(rooms, json) ? LS_OK : LS_NO_MEMORY;
    ls_json_destroy(json);
    LS_THEN(status, ls_private_file_replace(rooms->path, WHAT, (const uint8_t *)rooms->noted,
                                            rooms->noted_bytes, why));
    rooms->whole_bytes = status == LS_OK ? rooms->noted_bytes : 0;
    rooms->added_bytes = 0;
    rooms->noted_bytes = 0;
    return status;
}

ls_status ls_room_register_save(ls_room_register *rooms, ls_text *why)
{
    if (!rooms->has_changed) {
        return LS_OK;
    }
    rooms->has_changed = false;
    bool is_whole =
        rooms->whole_bytes == 0 || rooms->added_bytes > rooms->whole_bytes + ADDED_BYTES_MIN;
    if (!is_whole && save_noted(rooms, why) == LS_OK) {
        return LS_OK;
    }
    return save_whole(rooms, why);
}

static ls_registered_room *add_anew(ls_room_register *rooms, const char *name)
{
    ls_room_register_remove(rooms, name);
    return ls_room_register_add(rooms, name);
}

static ls_status read_room(ls_room_register *rooms, const ls_json *object)
{
    const char *name = ls_json_read_text(object, "name");
    const char *group = ls_json_read_text(object, "group");
    const char *journal = ls_json_read_text(object, "journal");
    ls_registered_room *room = name && group && journal ? add_anew(rooms, name) : NULL;
    if (!room || find_journal(rooms, journal, room->journal) != LS_OK) {
        return LS_MALFORMED;
    }
    ls_name_copy(room->report.group, sizeof room->report.group, group);
    (void)ls_json_read_u32(object, "worker", &room->report.worker);
    (void)ls_json_read_hash(object, "match_id", &room->report.match_id);
    const char *paused = ls_json_read_text(object, "paused");
    (void)ls_json_read_bool(object, "unplayed", &room->is_unplayed);
    room->is_paused = paused != NULL;
    ls_text_set(&room->pause_why, "%s", paused ? paused : "");
    room->is_kept = true;
    room->report.state = LS_ROOM_RESUMING;
    ls_room_settings settings;
    ls_status status =
        ls_room_settings_read(ls_json_read_object(object, "settings"), &settings, NULL);
    return status == LS_OK ? ls_room_register_set(room, &settings) : status;
}

/* A file of an older version has a host alone. */
static void read_ban(ls_room_register *rooms, const ls_json *object)
{
    ls_ban ban = {.number = 0};
    uint32_t kind = LS_BAN_ADDRESS;
    const char *word = ls_json_read_text(object, "kind");
    const char *what = ls_json_read_text(object, word ? "what" : "host");
    const char *why = ls_json_read_text(object, "why");
    bool is_known = !word || ls_ban_kind_read(word, &kind);
    (void)ls_json_read_u64(object, "number", &ban.number);
    snprintf(ban.why, sizeof ban.why, "%s", why ? why : "");
    if (is_known && what && ls_json_read_u64(object, "until_unix_s", &ban.until_unix_s) &&
        ls_ban_set(&ban, kind, what, NULL) == LS_OK) {
        (void)ls_ban_list_add(&rooms->bans, &ban);
    }
}

/* All of it, or what has changed. */
static ls_status read_line(ls_room_register *rooms, const char *line, size_t size)
{
    ls_json *json = ls_json_parse(line, size);
    ls_status status = ls_json_is_object(json) ? LS_OK : LS_MALFORMED;
    const ls_json *object = ls_json_read_members(json, "rooms");
    for (; status == LS_OK && object; object = ls_json_next(object)) {
        status = read_room(rooms, object);
    }
    const char *gone = ls_json_read_text(json, "gone");
    if (gone) {
        ls_room_register_remove(rooms, gone);
    }
    if (ls_json_has(json, "bans")) {
        rooms->bans = (ls_ban_list){.newest = rooms->bans.newest};
    }
    object = ls_json_read_members(json, "bans");
    for (; status == LS_OK && object; object = ls_json_next(object)) {
        read_ban(rooms, object);
    }
    ls_json_destroy(json);
    return status;
}

/* The last line has no end where the service was killed while it wrote: that change is not known.
 * The first one was written as a whole; of an older version it is the file. */
static ls_status read_lines(ls_room_register *rooms, const char *text, size_t size)
{
    ls_status status = size > 0 ? LS_OK : LS_MALFORMED;
    for (size_t at = 0; status == LS_OK && at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t bytes = end ? (size_t)(end - text) - at : size - at;
        if (!end && at > 0) {
            return LS_OK;
        }
        status = read_line(rooms, text + at, bytes);
        at += bytes + 1;
    }
    return status;
}

static ls_status read_file(ls_room_register *rooms, ls_text *why)
{
    ls_mapped_file file = {NULL, 0};
    if (!ls_file_look(rooms->path, NULL)) {
        return LS_OK;
    }
    ls_status status = ls_mapped_file_open(rooms->path, &file, why);
    if (status != LS_OK) {
        return status;
    }
    status = read_lines(rooms, (const char *)file.bytes, file.size);
    ls_mapped_file_close(&file);
    return status == LS_OK ? LS_OK
                           : ls_fail(status, why,
                                     "%s is damaged: put it aside, and the service begins without "
                                     "the rooms of before; their journals stay",
                                     rooms->path);
}

/* Two services with one folder would forget one another's rooms. A folder where no file can be made
 * is no reason not to play. */
static ls_status lock_file(ls_room_register *rooms, ls_text *why)
{
    char path[sizeof rooms->path + 8];
    snprintf(path, sizeof path, "%s.lock", rooms->path);
    rooms->lock = ls_file_lock(path);
    return rooms->lock < 0 && errno == EWOULDBLOCK
               ? ls_fail(LS_ALREADY_STARTED, why,
                         "%s is that of another service which runs: give this one a folder for "
                         "journals of its own",
                         rooms->path)
               : LS_OK;
}

ls_status ls_room_register_create(const char *path, ls_room_register **out, ls_text *why)
{
    ls_room_register *rooms = ls_allocate(ls_allocator_heap(), sizeof *rooms);
    if (!rooms) {
        return LS_NO_MEMORY;
    }
    ls_name_copy(rooms->path, sizeof rooms->path, path ? path : "");
    rooms->lock = -1;
    ls_status status = path ? lock_file(rooms, why) : LS_OK;
    if (status == LS_OK && path) {
        status = read_file(rooms, why);
    }
    if (status != LS_OK) {
        ls_room_register_destroy(rooms);
        return status;
    }
    *out = rooms;
    return LS_OK;
}

void ls_room_register_destroy(ls_room_register *rooms)
{
    for (uint32_t i = 0; rooms && i < rooms->count; i++) {
        destroy_room(rooms->rows[i]);
    }
    if (rooms) {
        ls_file_unlock(rooms->lock);
        ls_release(ls_allocator_heap(), rooms->noted);
    }
    ls_release(ls_allocator_heap(), rooms);
}
