#include "lockstep/common/base/clock.h"
#include "lockstep/common/diagnosis/rerun_local.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/server/rooms/room_game.h"
#include "lockstep/server/rooms/rooms.h"
#include "lockstep/tools/liblockstep/handle.h"

#include <string.h>

enum {
    WATCH_MS = 1000, /* between two looks at who was kept out */
    SPECTATORS = 16,
};

/* One room on a network of its own. */
typedef struct host_part {
    lockstep_self *handle;
    ls_console console; /* its lines become events */
    ls_rerun_local *reruns;
    ls_room_game *game;
    ls_admission admission;
    bool has_admission;
    ls_rooms *rooms;
    ls_room *room;
    ls_loop_source *watch;
    char invite[LS_INVITE_TEXT_BYTES_MAX];
    char name[LS_PLAYER_NAME_BYTES_MAX]; /* that was asked for last */
    uint32_t desyncs;
    bool is_saved;
} host_part;

static ls_match *match_of(const host_part *host)
{
    return ls_room_match(host->room);
}

static uint64_t now_of(const lockstep_self *handle)
{
    return ls_event_loop_now_ns(handle->loop);
}

/* ---- events ---- */

/* -1: no event of its own, but a line of the log if it has one. */
static int kind_of(const ls_match_event *event)
{
    if (event->kind == LS_MATCH_PLAYER_READY && !event->was_coming) {
        return -1; /* it was told when the player returned */
    }
    static const struct {
        ls_match_event_kind from;
        lockstep_event_kind to;
    } kinds[] = {{LS_MATCH_PLAYER_READY, LOCKSTEP_PLAYER_JOINED},
                 {LS_MATCH_PLAYER_RETURNED, LOCKSTEP_PLAYER_JOINED},
                 {LS_MATCH_PLAYER_LOST, LOCKSTEP_PLAYER_LOST},
                 {LS_MATCH_PLAYER_LEFT, LOCKSTEP_PLAYER_LEFT},
                 {LS_MATCH_PEER_REFUSED, LOCKSTEP_REFUSED_PEER},
                 {LS_MATCH_STARTED, LOCKSTEP_STARTED},
                 {LS_MATCH_RESUMED, LOCKSTEP_STARTED},
                 {LS_MATCH_STALLED, LOCKSTEP_WAITING},
                 {LS_MATCH_DESYNC, LOCKSTEP_DESYNC},
                 {LS_MATCH_DESYNC_CAUSE, LOCKSTEP_CAUSE},
                 {LS_MATCH_HEALED, LOCKSTEP_HEALED},
                 {LS_MATCH_LAG, LOCKSTEP_LAG},
                 {LS_MATCH_ENDED, LOCKSTEP_ENDED},
                 {LS_MATCH_PAUSED, LOCKSTEP_PAUSED},
                 {LS_MATCH_UNPAUSED, LOCKSTEP_UNPAUSED},
                 {LS_MATCH_CHAT, LOCKSTEP_CHAT}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].from == event->kind) {
            return (int)kinds[i].to;
        }
    }
    return -1;
}

/* The caller learns of it at once. */
static void on_event(void *user, ls_room *room, const ls_match_event *event)
{
    host_part *host = user;
    int kind = kind_of(event);
    uint32_t now = ls_match_tick(ls_room_match(room));
    host->desyncs += event->kind == LS_MATCH_DESYNC ? 1 : 0;
    if (kind < 0) {
        lockstep_event_queue_flush(&host->handle->events, now);
        return;
    }
    bool is_of_all = kind == LOCKSTEP_REFUSED_PEER || kind == LOCKSTEP_STARTED ||
                     kind == LOCKSTEP_WAITING || kind == LOCKSTEP_ENDED ||
                     kind == LOCKSTEP_PAUSED || kind == LOCKSTEP_UNPAUSED;
    const lockstep_event ours = {.kind = kind,
                                 .status = event->status,
                                 .slot = is_of_all ? LOCKSTEP_NO_SLOT : event->slot,
                                 .tick = event->tick > 0 ? event->tick : now};
    const char *text = kind == LOCKSTEP_CHAT ? event->text.bytes : NULL;
    lockstep_event_queue_add(&host->handle->events, ours, text);
    ls_event_loop_stop(host->handle->loop);
}

static void on_bundle(void *user, const ls_desync_file *file)
{
    host_part *host = user;
    if (file->status == LS_OK) {
        const lockstep_event event = {
            .kind = LOCKSTEP_BUNDLE, .slot = file->slot, .tick = ls_match_tick(match_of(host))};
        lockstep_event_queue_add(&host->handle->events, event, file->path);
    }
}

static void watch_admission(void *user, uint64_t now_ns)
{
    host_part *host = user;
    ls_admission_watch(&host->admission, ls_host_transport(ls_rooms_host(host->rooms)),
                       &host->console.log, now_ns);
    lockstep_event_queue_flush(&host->handle->events, ls_match_tick(match_of(host)));
}

/* Bundles that are being written come before the end. */
static void end_if_done(host_part *host)
{
    if (host->handle->events.is_over || !ls_room_is_done(host->room)) {
        return;
    }
    ls_rooms_finish_bundles(host->rooms);
    lockstep_event_queue_flush(&host->handle->events, ls_match_tick(match_of(host)));
    const lockstep_event over = {.kind = LOCKSTEP_OVER,
                                 .status = host->is_saved ? LOCKSTEP_SAVED : LOCKSTEP_OK,
                                 .slot = LOCKSTEP_NO_SLOT,
                                 .tick = ls_match_tick(match_of(host))};
    lockstep_event_queue_add(&host->handle->events, over,
                             host->is_saved ? "the match was saved" : "the match is over");
}

int lockstep_host_frame(lockstep_self *handle, uint32_t wait_ms)
{
    host_part *host = handle->part;
    if (!handle->events.is_over && !handle->has_thread) {
        ls_event_loop_run_until(handle->loop, now_of(handle) + wait_ms * LS_NS_PER_MS);
    }
    end_if_done(host);
    return handle->events.is_over ? 0 : 1;
}

/* ---- building it ---- */

static ls_status load(host_part *host, ls_text *why)
{
    const lockstep_settings *settings = &host->handle->settings;
    ls_status status = ls_hosting_check(&settings->hosting, why);
    LS_THEN(status, ls_rerun_local_create(ls_allocator_heap(), &host->reruns));
    if (status != LS_OK) {
        return status;
    }
    const ls_room_request request = {.sim = settings->hosting.sim,
                                     .simulation =
                                         host->handle->has_game ? &host->handle->own : NULL,
                                     .rerun_host = ls_rerun_local_host(host->reruns),
                                     .resume_path = settings->hosting.resume_path,
                                     .match = settings->match,
                                     .given = settings->match_given,
                                     .spectators = SPECTATORS,
                                     .params = settings->params.assignments,
                                     .param_count = settings->params.count};
    if (!request.sim && !request.simulation && !request.resume_path) {
        return ls_fail(LS_BAD_ARGUMENT, why, "which simulation: set \"sim\", or give a game");
    }
    status = ls_room_game_create(&request, &host->game, why);
    return status == LS_OK ? ls_room_game_load(host->game, why) : status;
}

static ls_status listen_there(host_part *host, ls_text *why)
{
    const ls_hosting *hosting = &host->handle->settings.hosting;
    const ls_match_config *match = ls_room_game_match(host->game);
    ls_status status =
        ls_admission_open(&hosting->admission, hosting->bind_host, &host->admission, why);
    host->has_admission = true;
    if (status != LS_OK) {
        return status;
    }
    bool has_bundles = strcmp(hosting->bundle_dir, "none") != 0;
    const ls_rooms_config rooms = {
        .console = &host->console,
        .host = {.bind_host = hosting->bind_host,
                 .port = (uint16_t)hosting->port,
                 .sealed = host->admission.sealed,
                 .table = {.matches_max = 1,
                           .players_max = match->sim.players + match->spectators_max}},
        .bundle_dir = has_bundles ? hosting->bundle_dir : NULL,
        .bundle_mib_max = hosting->bundle_limit,
        .on_event = on_event,
        .on_bundle = on_bundle,
        .user = host};
    status = ls_rooms_create(&rooms, &host->rooms, why);
    if (status == LS_OK) {
        host->handle->loop = ls_host_loop(ls_rooms_host(host->rooms));
        ls_room_game_attach(host->game, host->handle->loop);
    }
    return status;
}

static ls_status open_room(host_part *host, ls_text *why)
{
    const ls_hosting *hosting = &host->handle->settings.hosting;
    ls_resume *resume = ls_room_game_resume(host->game);
    ls_room_opening opening = {.match = *ls_room_game_match(host->game),
                               .journal_dir = hosting->journal_dir,
                               .resume = resume,
                               .resume_path = hosting->resume_path};
    ls_resume_report report;
    ls_status status = resume ? LS_OK : ls_rooms_give_identity(&opening.match, why);
    LS_THEN(status, ls_rooms_open(host->rooms, &opening, &host->room, &report, why));
    const ls_loop_handler watch = {watch_admission, host};
    LS_THEN(status, ls_event_loop_add_timer(host->handle->loop, WATCH_MS, watch, &host->watch));
    if (status == LS_OK) {
        const ls_invite to = {.port = ls_host_port(ls_rooms_host(host->rooms))};
        ls_admission_invite(&host->admission, &to, host->invite, sizeof host->invite);
    }
    return status;
}

ls_status lockstep_host_open(lockstep_self *handle, ls_text *why)
{
    host_part *host = ls_allocate(ls_allocator_heap(), sizeof *host);
    handle->part = host;
    if (!host) {
        return LS_NO_MEMORY;
    }
    host->handle = handle;
    ls_console_init(&host->console, "lockstep", LS_LOG_INFO);
    host->console.log = lockstep_event_queue_log(&handle->events);
    ls_status status = load(host, why);
    LS_THEN(status, listen_there(host, why));
    return status == LS_OK ? open_room(host, why) : status;
}

void lockstep_host_close(lockstep_self *handle)
{
    host_part *host = handle->part;
    if (!host) {
        return;
    }
    if (host->game && host->rooms) {
        ls_room_game_detach(host->game);
        ls_loop_source_remove(host->watch);
    }
    ls_rooms_destroy(host->rooms);
    handle->loop = NULL;
    ls_room_game_destroy(host->game);
    if (host->has_admission) {
        ls_admission_wipe(&host->admission);
    }
    ls_rerun_local_destroy(host->reruns);
    ls_release(ls_allocator_heap(), host);
    handle->part = NULL;
}

/* ---- what callers ask for ---- */

ls_status lockstep_host_end(lockstep_self *handle, bool saves, ls_text *why)
{
    host_part *host = handle->part;
    const ls_hosting *hosting = &handle->settings.hosting;
    if (saves && !hosting->journal_dir && !hosting->resume_path) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "a match is saved in its journal: set \"journal\" to a directory");
    }
    if (saves) {
        host->is_saved = true;
        ls_match_suspend(match_of(host), "the host saves the match", now_of(handle));
        ls_host_touch(ls_rooms_host(host->rooms), 0);
    } else {
        ls_host_end_matches(ls_rooms_host(host->rooms));
    }
    return LS_OK;
}

static ls_status touch(host_part *host, ls_status status)
{
    ls_host_touch(ls_rooms_host(host->rooms), 0);
    return status;
}

ls_status lockstep_host_say(lockstep_self *handle, const char *text)
{
    host_part *host = handle->part;
    return touch(host, ls_match_say(match_of(host), LS_PLAYERS_MAX, text, now_of(handle)));
}

ls_status lockstep_host_kick(lockstep_self *handle, uint32_t slot, const char *why)
{
    host_part *host = handle->part;
    if (slot >= ls_match_players(match_of(host))) {
        return LS_NOT_FOUND;
    }
    return touch(host, ls_match_kick(match_of(host), slot, why, now_of(handle)));
}

ls_status lockstep_host_pause(lockstep_self *handle, bool is_paused, const char *why)
{
    host_part *host = handle->part;
    uint64_t now_ns = now_of(handle);
    return touch(host, is_paused ? ls_match_pause(match_of(host), why, now_ns)
                                 : ls_match_unpause(match_of(host), why, now_ns));
}

void lockstep_host_info(lockstep_self *handle, lockstep_info *info)
{
    host_part *host = handle->part;
    const ls_match *match = match_of(host);
    const ls_match_config *config = ls_match_config_of(match);
    info->is_over = handle->events.is_over;
    info->status = handle->events.is_over && host->is_saved ? LOCKSTEP_SAVED : LOCKSTEP_OK;
    info->is_running = ls_match_state_of(match) == LS_MATCH_RUNNING;
    info->players = config->sim.players;
    info->players_here = ls_match_players_here(match);
    info->tick = ls_match_tick(match);
    info->tick_rate_hz = config->sim.tick_rate_hz;
    info->input_delay_ticks = config->input_delay_ticks;
    info->desyncs = host->desyncs;
    info->port = ls_host_port(ls_rooms_host(host->rooms));
    info->sim = config->simulation->name;
    info->input_bytes = config->simulation->input_bytes_max;
    info->invite = host->invite;
}

uint64_t lockstep_host_hash(lockstep_self *handle)
{
    return ls_match_hash(match_of(handle->part));
}

ls_status lockstep_host_player(lockstep_self *handle, uint32_t slot, lockstep_player *player)
{
    host_part *host = handle->part;
    if (slot >= ls_match_players(match_of(host))) {
        return LS_NOT_FOUND;
    }
    const ls_match_slot here = ls_match_slot_of(match_of(host), slot);
    ls_name_copy(host->name, sizeof host->name, here.name);
    player->is_here = here.peer != 0;
    player->is_desynced = here.is_desynced;
    player->agreed_tick = here.agreed_tick;
    player->ticks_behind = here.ticks_behind;
    player->rtt_ms = (double)here.rtt_ns / 1e6;
    player->inputs_late = here.inputs_late;
    player->name = host->name;
    return LS_OK;
}
