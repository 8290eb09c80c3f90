#include "lockstep/server/rooms/rooms.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/common/system/output.h"

#include <string.h>

enum {
    PULL_MS = 100, /* for what becomes due while no tick is closed */
    SEED_OF_ID = 0x73656564,
};

struct ls_rooms {
    ls_rooms_config config;
    ls_host *host;
    ls_room_ground ground;
    ls_loop_source *timer;
    ls_room **rows; /* rooms_max of them, by the numbers of their matches; NULL: there is none */
};

static ls_event_loop *loop_of(const ls_rooms *rooms)
{
    return ls_host_loop(rooms->host);
}

uint32_t ls_rooms_count(const ls_rooms *rooms)
{
    return ls_match_table_count(ls_host_table(rooms->host));
}

ls_room *ls_rooms_room(const ls_rooms *rooms, uint32_t number)
{
    return number < rooms->config.host.table.matches_max ? rooms->rows[number] : NULL;
}

ls_host *ls_rooms_host(const ls_rooms *rooms)
{
    return rooms->host;
}

/* ---- what happens ---- */

static bool are_all_done(const ls_rooms *rooms)
{
    for (uint32_t i = 0; i < ls_rooms_count(rooms); i++) {
        if (rooms->rows[i] && !ls_room_is_done(rooms->rows[i])) {
            return false;
        }
    }
    return true;
}

/* Before the first room is opened nothing has ended. */
static bool may_end(void *user)
{
    const ls_rooms *rooms = user;
    return !rooms->config.is_lasting && rooms->ground.serials > 0 && are_all_done(rooms);
}

static void on_journal_closed(void *user)
{
    const ls_rooms *rooms = user;
    if (may_end(user)) {
        ls_event_loop_stop(loop_of(rooms));
    }
}

static void on_event(void *user, const ls_match_table_event *event)
{
    ls_rooms *rooms = user;
    ls_room *room = rooms->rows[event->match];
    if (!room) {
        return; /* it is being opened */
    }
    ls_room_receive_event(room, &event->event);
    if (rooms->config.on_event) {
        rooms->config.on_event(rooms->config.user, room, &event->event);
    }
}

static void on_gone(void *user, uint32_t match, ls_peer_id peer)
{
    const ls_rooms *rooms = user;
    if (rooms->rows[match]) {
        ls_room_on_disconnect(rooms->rows[match], peer);
    }
}

static void on_advanced(void *user, uint32_t number, uint64_t due_ns, uint64_t now_ns)
{
    const ls_rooms *rooms = user;
    ls_room *room = rooms->rows[number];
    if (!room) {
        return;
    }
    ls_room_pull(room, now_ns);
    if (rooms->config.on_advanced) {
        rooms->config.on_advanced(rooms->config.user, room, due_ns, now_ns);
    }
}

static const char *put_off(void *user, const ls_match_asker *asker)
{
    const ls_rooms *rooms = user;
    return rooms->config.put_off(rooms->config.user, asker);
}

static void on_written(void *user, const ls_desync_file *file)
{
    const ls_rooms *rooms = user;
    for (uint32_t i = 0; i < ls_rooms_count(rooms); i++) {
        if (rooms->rows[i]) {
            ls_room_receive_bundle(rooms->rows[i], file);
        }
    }
    if (rooms->config.on_bundle) {
        rooms->config.on_bundle(rooms->config.user, file);
    }
}

static void on_timer(void *user, uint64_t now_ns)
{
    const ls_rooms *rooms = user;
    for (uint32_t i = 0; i < ls_rooms_count(rooms); i++) {
        ls_room *room = rooms->rows[i];
        if (!room) {
            continue;
        }
        ls_room_pull(room, now_ns);
        if (rooms->config.on_done && ls_room_is_done_now(room)) {
            rooms->config.on_done(rooms->config.user, room);
        }
    }
}

/* ---- opening and closing ---- */

ls_status ls_rooms_give_identity(ls_match_config *match, ls_text *why)
{
    if (ls_secret_key_random(&match->key) != LS_OK) {
        return ls_fail(LS_IO, why, "the system has no random numbers to give");
    }
    match->match_id = ls_secret_match_id(&match->key);
    if (match->draws_seed) { /* the id is as random, and no secret */
        match->sim.seed = ls_hash_pair(match->match_id, SEED_OF_ID);
    }
    return LS_OK;
}

static ls_status restore(ls_rooms *rooms, const ls_room_opening *opening, uint32_t number,
                         ls_resume_report *report, ls_text *why)
{
    ls_match *match = ls_match_table_match(ls_host_table(rooms->host), number);
    uint64_t now_ns = ls_event_loop_now_ns(loop_of(rooms));
    ls_status status = ls_resume_restore(opening->resume, match, now_ns, report, why);
    if (status == LS_OK) {
        ls_host_touch(rooms->host, number);
    }
    return status;
}

ls_status ls_rooms_open(ls_rooms *rooms, const ls_room_opening *opening, ls_room **out,
                        ls_resume_report *report, ls_text *why)
{
    ls_match_config config = opening->match;
    config.clean_name = ls_player_name_clean;
    const ls_match_opening match = {.match = &config,
                                    .name = opening->name,
                                    .is_for_invited = opening->is_for_invited,
                                    .held = opening->held};
    uint32_t number = 0;
    ls_status status = ls_host_open_match(rooms->host, &match, &number, why);
    if (status != LS_OK) {
        return status;
    }
    if (opening->resume) {
        status = restore(rooms, opening, number, report, why);
    }
    LS_THEN(status, ls_room_create(opening, number,
                                   ls_match_table_match(ls_host_table(rooms->host), number),
                                   &rooms->ground, &rooms->rows[number], why));
    if (status != LS_OK) {
        ls_host_close_match(rooms->host, number);
        return status;
    }
    if (opening->journal_dir || opening->resume) {
        ls_loop_source_set_active(rooms->timer, true);
    }
    *out = rooms->rows[number];
    return LS_OK;
}

void ls_rooms_close(ls_rooms *rooms, ls_room *room)
{
    uint32_t number = ls_room_number(room);
    ls_room_destroy(room);
    rooms->rows[number] = NULL;
    ls_host_close_match(rooms->host, number);
}

/* ---- life ---- */

static ls_status create_host(ls_rooms *rooms, ls_text *why)
{
    ls_host_config *host = &rooms->config.host;
    host->on_event = on_event;
    host->on_gone = on_gone;
    host->may_end = may_end;
    host->table.on_advanced = on_advanced;
    host->table.put_off = rooms->config.put_off ? put_off : NULL;
    host->table.user = rooms;
    ls_status status = ls_host_create(host, ls_allocator_paired(), &rooms->host, why);
    ls_cipher_wipe(&host->sealed, sizeof host->sealed);
    return status;
}

/* A match without bundles is still a match: the operator is warned before the match begins. */
static ls_status create_files(ls_rooms *rooms)
{
    ls_text why = {{0}};
    const char *directory = rooms->config.bundle_dir;
    if (!directory) {
        return LS_OK;
    }
    if (ls_output_check_directory(directory, "bundles of desyncs", &why) != LS_OK) {
        ls_log_line(&rooms->config.console->log, LS_LOG_WARNING, "%s", why.bytes);
    }
    const ls_desync_files_config files = {.directory = directory,
                                          .bytes_max = (uint64_t)rooms->config.bundle_mib_max << 20,
                                          .loop = loop_of(rooms),
                                          .on_written = on_written,
                                          .user = rooms};
    return ls_desync_files_create(&files, &rooms->ground.files);
}

static ls_status create_parts(ls_rooms *rooms, ls_text *why)
{
    rooms->rows = ls_allocate_array(ls_allocator_heap(), rooms->config.host.table.matches_max,
                                    sizeof *rooms->rows);
    ls_status status = rooms->rows ? create_host(rooms, why) : LS_NO_MEMORY;
    if (status == LS_OK) {
        rooms->ground.loop = loop_of(rooms);
        rooms->ground.transport = ls_host_transport(rooms->host);
        status = create_files(rooms);
    }
    ls_loop_handler timer = {on_timer, rooms};
    LS_THEN(status, ls_event_loop_add_timer(loop_of(rooms), PULL_MS, timer, &rooms->timer));
    if (status == LS_OK) {
        ls_loop_source_set_active(rooms->timer, rooms->config.on_done != NULL);
    }
    return status;
}

ls_status ls_rooms_create(const ls_rooms_config *config, ls_rooms **out, ls_text *why)
{
    ls_rooms *rooms = ls_allocate(ls_allocator_heap(), sizeof *rooms);
    if (!rooms) {
        return LS_NO_MEMORY;
    }
    rooms->config = *config;
    rooms->ground.console = config->console;
    rooms->ground.on_closed = on_journal_closed;
    rooms->ground.user = rooms;
    ls_status status = create_parts(rooms, why);
    if (status != LS_OK) {
        ls_rooms_destroy(rooms);
        return status;
    }
    *out = rooms;
    return LS_OK;
}

void ls_rooms_set_resting(ls_rooms *rooms, bool are_resting)
{
    ls_loop_source_set_active(rooms->timer, !are_resting);
}

void ls_rooms_finish_bundles(ls_rooms *rooms)
{
    ls_desync_files_destroy(rooms->ground.files);
    rooms->ground.files = NULL;
}

void ls_rooms_destroy(ls_rooms *rooms)
{
    if (!rooms) {
        return;
    }
    if (rooms->host) {
        ls_rooms_finish_bundles(rooms);
        ls_loop_source_remove(rooms->timer);
    }
    for (uint32_t i = 0; rooms->rows && i < rooms->config.host.table.matches_max; i++) {
        ls_room_destroy(rooms->rows[i]);
    }
    ls_host_destroy(rooms->host);
    ls_release(ls_allocator_heap(), rooms->rows);
    ls_release(ls_allocator_heap(), rooms);
}
