#include "lockstep/server/service/room_keeper.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/server/service/journal_disk.h"
#include "lockstep/server/service/room_directory.h"
#include "lockstep/server/service/room_placement.h"
#include "lockstep/server/service/room_rotation.h"
#include "lockstep/server/service/room_settings.h"
#include "lockstep/server/service/service_view.h"
#include "lockstep/server/service/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    WORKERS_START_S = 5, /* then rooms are spread over those that have started */
    TRIES_S_MAX = 10,    /* between two tries to go on with a room: a second more after each */
    CRASHES_MAX = 2,     /* of its worker; then a room is given up */
    CRASHES_S = 60,      /* for so long a crash counts */
    JOURNALS_LOOKED_AT = 16,
};

#define PENDING_COMMANDS_MAX 256u
#define TOO_MANY_COMMANDS "too many commands wait for their results"

/* The one who is told the result, once. */
typedef struct service_asker {
    void (*done)(void *user, const ls_service_result *result); /* NULL: the service did itself */
    void *user;
} service_asker;

/* A worker has it, and its result is awaited. */
typedef struct pending_command {
    uint64_t id; /* 0: the place is free */
    uint32_t worker;
    ls_service_command_kind kind;
    uint32_t seconds;
    uint32_t ban_kind;
    char room[LS_ROOM_NAME_BYTES_MAX];
    ls_text text;
    service_asker asker;
} pending_command;

/* Zero: there is none. */
typedef struct pending_commands {
    uint64_t ids;
    pending_command rows[PENDING_COMMANDS_MAX];
} pending_commands;

struct ls_room_keeper {
    ls_room_keeper_config config;
    ls_service_view view;
    ls_worker_pool *pool;
    int shared_descriptor;
    ls_worker_shared *shared;
    ls_room_register *rooms;
    ls_loop_source *saving; /* of what has changed in them */
    ls_room_placement placement;
    ls_event_ring events;
    uint32_t looked;         /* at journals so far */
    uint32_t looked_unasked; /* rooms that were looked at for one to open */
    bool are_some_unasked;   /* rooms wait until there is a place for their command */
    bool may_spread;         /* every worker has started once, or had the time for it */
    uint64_t began_ns;
    ls_intake intake;
    pending_commands pending;
    ls_worker_message message; /* working memory */
};

/* ---- telling ---- */

static void add_event(ls_room_keeper *keeper, const char *kind, const char *room, const char *text)
{
    ls_service_event event = {.slot = -1};
    ls_name_copy(event.kind, sizeof event.kind, kind);
    ls_name_copy(event.room, sizeof event.room, room);
    ls_text_set(&event.text, "%s", text);
    ls_event_ring_add(&keeper->events, &event);
}

static void on_saving(void *user, uint64_t now_ns)
{
    ls_room_keeper *keeper = user;
    ls_text why = {{0}};
    (void)now_ns;
    if (ls_room_register_save(keeper->rooms, &why) != LS_OK) {
        ls_log_line(keeper->config.log, LS_LOG_ERROR,
                    "%s: after a crash the rooms would not be known", why.bytes);
    }
}

/* After a change of the room of this name; NULL: of the bans. It is written at the end of this turn
 * of the loop, with all others: each time the disk is waited for, and so is everybody. */
static void save_register(ls_room_keeper *keeper, const char *name)
{
    ls_room_register_note(keeper->rooms, name);
    ls_loop_alarm_set(keeper->saving, 0);
}

static void notify_directory(ls_room_keeper *keeper, const ls_registered_room *room, bool is_there)
{
    ls_worker_message message = {.kind = LS_WORKER_DIRECTORY, .worker = room->report.worker};
    ls_name_copy(message.room, sizeof message.room, room->report.name);
    message.match_id = is_there ? room->report.match_id : 0;
    message.is_open = room->is_open;
    ls_worker_pool_send_all(keeper->pool, &message);
}

/* ---- bans ---- */

static ls_worker_message message_of_ban(const ls_ban *ban, bool spares_players)
{
    return (ls_worker_message){
        .kind = LS_WORKER_COMMAND,
        .command = {.kind = LS_SERVICE_ADD_BAN, .ban = *ban, .spares_players = spares_players}};
}

/* All workers keep to it. Returns its number. */
static uint64_t add_ban(ls_room_keeper *keeper, ls_ban *ban, uint32_t seconds, bool spares_players)
{
    ls_text text = {{0}};
    ban->until_unix_s = ls_clock_unix_ms() / 1000 + seconds;
    const ls_ban *kept = ls_ban_list_add(ls_room_register_bans(keeper->rooms), ban);
    const ls_worker_message message = message_of_ban(kept, spares_players);
    ls_worker_pool_send_all(keeper->pool, &message);
    save_register(keeper, NULL);
    ls_text_set(&text, "%s %s is banned for %" PRIu32 " s%s%s", ls_ban_kind_word(ban->kind),
                ban->what, seconds, ban->why[0] ? ": " : "", ban->why);
    add_event(keeper, "ban", "", text.bytes);
    return kept->number;
}

/* A worker was started. */
static void send_bans(ls_room_keeper *keeper, uint32_t worker)
{
    const ls_ban_list *bans = ls_room_register_bans(keeper->rooms);
    for (uint32_t i = 0; i < LS_BANS_MAX; i++) {
        const ls_ban *ban = &bans->rows[i];
        if (ban->number != 0 && ban->until_unix_s > ls_clock_unix_ms() / 1000) {
            const ls_worker_message message = message_of_ban(ban, true);
            (void)ls_worker_pool_send(keeper->pool, worker, &message);
        }
    }
}

/* ---- commands on their way ---- */

/* Of id 0: a free place. NULL: there is none. */
static pending_command *find_pending(pending_commands *pending, uint64_t id)
{
    for (uint32_t i = 0; i < PENDING_COMMANDS_MAX; i++) {
        if (pending->rows[i].id == id) {
            return &pending->rows[i];
        }
    }
    return NULL;
}

/* With an id of its own. NULL: too many wait. */
static pending_command *add_pending(pending_commands *pending, const ls_service_command *command,
                                    uint32_t worker, const service_asker *asker)
{
    pending_command *row = find_pending(pending, 0);
    if (row) {
        *row = (pending_command){.id = ++pending->ids,
                                 .worker = worker,
                                 .kind = command->kind,
                                 .seconds = command->seconds,
                                 .ban_kind = command->ban.kind,
                                 .text = command->text,
                                 .asker = *asker};
        ls_name_copy(row->room, sizeof row->room, command->room);
    }
    return row;
}

/* Writes what has changed down first: a change that an operator knows of outlives a crash. */
static void answer(ls_room_keeper *keeper, const service_asker *asker,
                   const ls_service_result *result)
{
    if (asker->done) {
        on_saving(keeper, 0);
        asker->done(asker->user, result);
    }
}

/* Tells the result, and forgets the command. */
static void finish_command(ls_room_keeper *keeper, pending_command *command,
                           const ls_service_result *result)
{
    const service_asker asker = command->asker;
    *command = (pending_command){.id = 0};
    answer(keeper, &asker, result);
}

static void lose_pending(ls_room_keeper *keeper, uint32_t worker, const ls_service_result *result)
{
    pending_command *rows = keeper->pending.rows;
    for (uint32_t i = 0; i < PENDING_COMMANDS_MAX; i++) {
        if (rows[i].id != 0 && rows[i].worker == worker) {
            finish_command(keeper, &rows[i], result);
        }
    }
}

/* Tells a result where nothing has to be awaited. */
static void tell_asker(ls_room_keeper *keeper, const service_asker *asker, ls_status status,
                       const char *text)
{
    ls_service_result result = {.status = status};
    ls_text_set(&result.text, "%s", text);
    answer(keeper, asker, &result);
}

/* Sends keeper->message, a COMMAND. */
static void send_command(ls_room_keeper *keeper, uint32_t worker, const service_asker *asker)
{
    ls_worker_message *message = &keeper->message;
    pending_command *pending = add_pending(&keeper->pending, &message->command, worker, asker);
    if (!pending) {
        tell_asker(keeper, asker, LS_FULL, TOO_MANY_COMMANDS);
        return;
    }
    message->kind = LS_WORKER_COMMAND;
    message->id = pending->id;
    if (!ls_worker_pool_send(keeper->pool, worker, message)) {
        const ls_service_result result = {.status = LS_DISCONNECTED,
                                          .text = {"the worker of the room is not there"}};
        finish_command(keeper, pending, &result);
    }
}

/* ---- opening ---- */

static void ask_to_open(ls_room_keeper *keeper, ls_registered_room *room,
                        const service_asker *asker)
{
    ls_worker_message *message = &keeper->message;
    memset(message, 0, sizeof *message);
    message->command.kind = LS_SERVICE_OPEN_ROOM;
    ls_room_settings_copy(&message->command.settings, room->settings);
    ls_name_copy(message->command.room, sizeof message->command.room, room->report.name);
    ls_name_copy(message->group, sizeof message->group, room->report.group);
    ls_name_copy(message->journal, sizeof message->journal, room->journal);
    message->is_paused = room->is_paused;
    message->is_unplayed = room->is_unplayed || room->journal[0] == '\0';
    message->command.text = room->pause_why;
    room->is_asked = true;
    send_command(keeper, room->report.worker, asker);
}

static bool is_full(pending_commands *pending)
{
    return !find_pending(pending, 0);
}

/* There may be more rooms than commands at a time: the others wait for open_next_unasked. */
static void open_unasked(void *user, ls_registered_room *room)
{
    const service_asker nobody = {.done = NULL};
    ls_room_keeper *keeper = user;
    if (is_full(&keeper->pending)) {
        keeper->are_some_unasked = true;
    } else {
        ask_to_open(keeper, room, &nobody);
    }
}

static bool is_unasked(const ls_room_keeper *keeper, const ls_registered_room *room)
{
    return !room->is_open && !room->is_asked && room->failures == 0 &&
           ls_worker_pool_is_ready(keeper->pool, room->report.worker);
}

/* A command has got its result. */
static void open_next_unasked(ls_room_keeper *keeper)
{
    uint32_t count = ls_room_register_count(keeper->rooms);
    for (uint32_t i = 0; i < count && keeper->are_some_unasked; i++) {
        ls_registered_room *room =
            ls_room_register_at(keeper->rooms, keeper->looked_unasked % count);
        if (is_full(&keeper->pending)) {
            return;
        }
        keeper->looked_unasked++;
        if (is_unasked(keeper, room)) {
            open_unasked(keeper, room);
            i = 0;
        }
    }
    keeper->are_some_unasked = false;
}

static uint32_t ready_workers(const ls_room_keeper *keeper)
{
    uint32_t ready = 0;
    for (uint32_t i = 0; i < keeper->config.workers; i++) {
        ready += ls_worker_pool_is_ready(keeper->pool, i) ? 1 : 0;
    }
    return ready;
}

/* Rooms that are opened when the first worker is there would all be on that one. */
static bool may_open(ls_room_keeper *keeper)
{
    uint32_t ready = ready_workers(keeper);
    uint64_t age_ns = ls_event_loop_now_ns(keeper->config.loop) - keeper->began_ns;
    keeper->may_spread = keeper->may_spread || ready == keeper->config.workers ||
                         age_ns >= WORKERS_START_S * LS_NS_PER_SECOND;
    return !keeper->view.is_draining && keeper->may_spread && ready > 0;
}

/* Its worker gets another try for a room with which it could not go on. */
static void try_again(ls_room_keeper *keeper)
{
    uint64_t now_ns = ls_event_loop_now_ns(keeper->config.loop);
    for (uint32_t i = 0; i < ls_room_register_count(keeper->rooms); i++) {
        ls_registered_room *room = ls_room_register_at(keeper->rooms, i);
        bool is_due = room->failures > 0 && !room->is_asked && now_ns >= room->again_ns;
        if (is_due && ls_worker_pool_is_ready(keeper->pool, room->report.worker)) {
            open_unasked(keeper, room);
        }
    }
}

/* A few at a time, since each asks the system. */
static void look_for_journals(ls_room_keeper *keeper)
{
    uint32_t count = ls_room_register_count(keeper->rooms);
    for (uint32_t i = 0; i < LS_MIN(count, (uint32_t)JOURNALS_LOOKED_AT); i++) {
        ls_registered_room *room = ls_room_register_at(keeper->rooms, keeper->looked++ % count);
        room->is_unrecorded = room->is_open && !ls_file_look(room->journal, NULL);
    }
}

void ls_room_keeper_tend(ls_room_keeper *keeper)
{
    open_next_unasked(keeper);
    if (keeper->config.storage) {
        look_for_journals(keeper);
    }
    if (!keeper->view.is_draining) {
        try_again(keeper);
    }
    if (may_open(keeper)) {
        ls_room_placement_tend(&keeper->placement);
    }
}

/* ---- another configuration ---- */

static bool is_same_group(const ls_service_config *a, const ls_service_config *b, const char *name)
{
    const ls_service_group *one = ls_service_config_group(a, name);
    const ls_service_group *other = ls_service_config_group(b, name);
    return one && other && memcmp(&a->match, &b->match, sizeof a->match) == 0 &&
           memcmp(&one->settings, &other->settings, sizeof one->settings) == 0;
}

static bool is_empty(const ls_registered_room *room)
{
    bool is_empty = room->is_open && room->report.state == LS_ROOM_WAITING;
    for (uint32_t i = 0; i < room->report.player_count; i++) {
        is_empty = is_empty && !room->report.players[i].is_here;
    }
    return is_empty;
}

void ls_room_keeper_reconfigure(ls_room_keeper *keeper, const ls_service_config *fresh)
{
    const ls_service_config *running = keeper->config.service;
    const service_asker nobody = {.done = NULL};
    for (uint32_t i = 0; i < ls_room_register_count(keeper->rooms); i++) {
        const ls_registered_room *room = ls_room_register_at(keeper->rooms, i);
        if (room->report.group[0] != '\0' && is_empty(room) &&
            !is_same_group(running, fresh, room->report.group)) {
            memset(&keeper->message, 0, sizeof keeper->message);
            keeper->message.command.kind = LS_SERVICE_END_ROOM;
            ls_name_copy(keeper->message.command.room, sizeof keeper->message.command.room,
                         room->report.name);
            send_command(keeper, room->report.worker, &nobody);
        }
    }
    ls_room_placement_reconfigure(&keeper->placement, fresh);
    ls_join_limits_set(&keeper->shared->limits, fresh->address_joins, fresh->address_rooms);
}

void ls_room_keeper_set_outside(ls_room_keeper *keeper, const ls_endpoint *outside)
{
    ls_relay_flows_set_outside(&keeper->shared->published.flows, outside);
}

const ls_publisher_shared *ls_room_keeper_published(const ls_room_keeper *keeper)
{
    return &keeper->shared->published;
}

bool ls_room_keeper_has_journal(const ls_room_keeper *keeper, const char *path)
{
    bool is_found = false;
    for (uint32_t i = 0; i < ls_room_register_count(keeper->rooms); i++) {
        const ls_registered_room *room = ls_room_register_at(keeper->rooms, i);
        /* One that is opened for the first time has a journal that is not known yet. */
        bool is_unknown = !room->is_open && room->journal[0] == '\0';
        is_found = is_found || strcmp(room->journal, path) == 0 || is_unknown;
    }
    return is_found;
}

/* ---- what workers say ---- */

static void room_is_open(ls_room_keeper *keeper, ls_registered_room *room,
                         const ls_worker_message *message)
{
    bool is_new = room->journal[0] == '\0';
    ls_room_placement_note(&keeper->placement, room, true);
    room->is_open = true;
    room->is_kept = true;
    room->failures = 0;
    room->report.match_id = message->match_id;
    ls_name_copy(room->journal, sizeof room->journal, message->journal);
    if (is_new) {
        room->is_unplayed = true;
        ls_room_register_note_opened(keeper->rooms);
    }
    save_register(keeper, room->report.name);
    notify_directory(keeper, room, true);
}

static void forget_room(ls_room_keeper *keeper, const ls_registered_room *room)
{
    char name[LS_ROOM_NAME_BYTES_MAX];
    ls_name_copy(name, sizeof name, room->report.name);
    notify_directory(keeper, room, false);
    ls_room_register_remove(keeper->rooms, name);
    save_register(keeper, name);
}

static void fail_room(ls_room_keeper *keeper, const ls_registered_room *room, const char *text)
{
    ls_log_line(keeper->config.log, LS_LOG_ERROR, "room %s %s", room->report.name, text);
    add_event(keeper, "room-failed", room->report.name, text);
}

/* The room was never open. */
static void room_is_not_opened(ls_room_keeper *keeper, const ls_registered_room *room,
                               const char *why)
{
    ls_text text = {{0}};
    ls_room_placement_note(&keeper->placement, room, false);
    ls_text_set(&text, "is not opened: %s", why);
    fail_room(keeper, room, text.bytes);
    forget_room(keeper, room);
}

/* The hindrance may pass: a process that still writes the journal, a full disk, a folder or a
 * plug-in that is not there yet. */
static void room_waits(ls_room_keeper *keeper, ls_registered_room *room, const char *why)
{
    ls_text text = {{0}};
    room->is_asked = false;
    room->failures++;
    uint64_t pause_s = LS_MIN(room->failures, (uint32_t)TRIES_S_MAX);
    room->again_ns = ls_event_loop_now_ns(keeper->config.loop) + pause_s * LS_NS_PER_SECOND;
    if (room->failures == 1) {
        ls_text_set(&text, "does not go on: %s; this is tried again until the room is ended", why);
        fail_room(keeper, room, text.bytes);
    }
}

static void on_refusal(ls_room_keeper *keeper, ls_registered_room *room,
                       const ls_service_result *result)
{
    if (result->status == LS_ALREADY_OVER) {
        forget_room(keeper, room);
    } else if (room->is_kept && ls_journal_header_is_missing(room->journal)) {
        fail_room(keeper, room, "is given up: nothing of it could be written to its journal");
        (void)remove(room->journal);
        forget_room(keeper, room);
    } else if (room->is_kept) {
        room_waits(keeper, room, result->text.bytes);
    } else {
        room_is_not_opened(keeper, room, result->text.bytes);
    }
}

/* A room that is opened again is to be as its operator left it. */
static void note_pause(ls_room_keeper *keeper, ls_registered_room *room,
                       const pending_command *pending)
{
    room->is_paused = pending->kind == LS_SERVICE_PAUSE_ROOM;
    room->pause_why = room->is_paused ? pending->text : (ls_text){{0}};
    save_register(keeper, room->report.name);
}

static bool is_about_pause(const pending_command *pending)
{
    return pending->kind == LS_SERVICE_PAUSE_ROOM || pending->kind == LS_SERVICE_UNPAUSE_ROOM;
}

static void on_result(ls_room_keeper *keeper, const ls_worker_message *message)
{
    pending_command *pending = find_pending(&keeper->pending, message->id);
    if (!pending || message->id == 0) {
        return;
    }
    ls_registered_room *room = ls_room_register_find(keeper->rooms, pending->room);
    ls_service_result result = message->result;
    bool is_good = result.status == LS_OK;
    if (pending->kind == LS_SERVICE_OPEN_ROOM && room) {
        if (is_good) {
            room_is_open(keeper, room, message);
            ls_text_set(&result.text, "%s", pending->room);
        } else {
            on_refusal(keeper, room, &result);
        }
    } else if (is_about_pause(pending) && room && is_good) {
        note_pause(keeper, room, pending);
    } else if (pending->kind == LS_SERVICE_BAN && is_good) {
        ls_ban ban = {.number = 0};
        ls_name_copy(ban.why, sizeof ban.why, pending->text.bytes);
        if (ls_ban_set(&ban, pending->ban_kind, result.text.bytes, NULL) == LS_OK) {
            (void)add_ban(keeper, &ban, pending->seconds, true);
        }
    }
    finish_command(keeper, pending, &result);
    open_next_unasked(keeper);
}

/* The name, group and worker are ours. */
static void on_report(ls_room_keeper *keeper, const ls_worker_message *message)
{
    ls_registered_room *room = ls_room_register_find(keeper->rooms, message->report.name);
    if (!room) {
        return;
    }
    bool has_changed = room->report.seats_open != message->report.seats_open ||
                       room->report.state != message->report.state;
    ls_room_report_copy(&room->report, &message->report);
    if (room->is_open && room->is_unplayed && !message->is_unplayed) {
        room->is_unplayed = false;
        save_register(keeper, room->report.name);
    }
    if (has_changed) {
        ls_room_keeper_tend(keeper);
    }
}

static void set_turn(ls_registered_room *room, uint32_t turn)
{
    ls_room_settings settings;
    ls_room_settings_copy(&settings, room->settings);
    if (ls_room_rotation_set_turn(&settings, turn) == LS_OK) {
        (void)ls_room_register_set(room, &settings);
    }
}

/* The room plays the next match of its rotation, on its worker, where the seats are held. */
static void open_next(ls_room_keeper *keeper, ls_registered_room *room, uint32_t turn)
{
    ls_room_register_lose(keeper->rooms, room);
    room->report.state = LS_ROOM_WAITING;
    room->report.tick = 0;
    room->journal[0] = '\0';
    room->is_paused = false;
    set_turn(room, turn);
    add_event(keeper, "room-next", room->report.name, ls_room_rotation_words(room->settings, turn));
    notify_directory(keeper, room, true);
    open_unasked(keeper, room);
    save_register(keeper, room->report.name);
}

static void on_gone(ls_room_keeper *keeper, const ls_worker_message *message)
{
    on_report(keeper, message);
    ls_registered_room *room = ls_room_register_find(keeper->rooms, message->report.name);
    bool has_next = room && message->id > 0 && !keeper->view.is_draining &&
                    message->id <= ls_room_rotation_count(room->settings);
    if (has_next) {
        open_next(keeper, room, (uint32_t)message->id - 1);
    } else if (room) {
        add_event(keeper, "room-ended", message->report.name, "");
        forget_room(keeper, room);
    }
}

static void on_message(void *user, uint32_t worker, const ls_worker_message *message)
{
    ls_room_keeper *keeper = user;
    switch (message->kind) {
    case LS_WORKER_RESULT:
        on_result(keeper, message);
        break;
    case LS_WORKER_REPORT:
        on_report(keeper, message);
        break;
    case LS_WORKER_GONE:
        on_gone(keeper, message);
        break;
    case LS_WORKER_EVENT:
        ls_event_ring_add(&keeper->events, &message->event);
        break;
    case LS_WORKER_SEATS:
        ls_intake_note_seats(&keeper->intake, keeper->pool, worker, &message->seats);
        break;
    case LS_WORKER_INTAKE:
        ls_intake_receive(&keeper->intake, keeper->pool, worker, message->worker);
        break;
    default:
        break;
    }
}

/* ---- workers that come and go ---- */

static const ls_worker_message drain = {.kind = LS_WORKER_DRAIN};

static void on_ready(void *user, uint32_t worker)
{
    ls_room_keeper *keeper = user;
    if (keeper->view.is_draining) {
        (void)ls_worker_pool_send(keeper->pool, worker, &drain);
    }
    ls_intake_greet(&keeper->intake, keeper->pool, worker);
    send_bans(keeper, worker);
    for (uint32_t i = 0; i < ls_room_register_count(keeper->rooms); i++) {
        notify_directory(keeper, ls_room_register_at(keeper->rooms, i), true);
    }
    for (uint32_t i = 0; i < ls_room_register_count(keeper->rooms); i++) {
        ls_registered_room *room = ls_room_register_at(keeper->rooms, i);
        if (!room->is_open && room->report.worker == worker && !room->is_asked) {
            open_unasked(keeper, room);
        }
    }
    ls_room_keeper_tend(keeper);
}

/* Whether the room was given up, since its worker would crash on it again and again, and hurt the
 * other rooms. */
static bool note_crash(ls_room_keeper *keeper, ls_registered_room *room)
{
    uint64_t now_ns = ls_event_loop_now_ns(keeper->config.loop);
    bool counts = now_ns - room->crashed_ns <= CRASHES_S * LS_NS_PER_SECOND;
    room->crashes = counts ? room->crashes + 1 : 1;
    room->crashed_ns = now_ns;
    if (room->crashes < CRASHES_MAX) {
        return false;
    }
    ls_text text = {{0}};
    ls_text_set(&text, "is given up: its worker has ended %u times while it worked on it%s%s",
                room->crashes, room->journal[0] ? "; its journal is " : "", room->journal);
    fail_room(keeper, room, text.bytes);
    forget_room(keeper, room);
    return true;
}

/* Whether the room is still there. */
static bool lose_room(ls_room_keeper *keeper, ls_registered_room *room, bool was_worked_on)
{
    if (!room->is_kept) {
        room_is_not_opened(keeper, room, "its worker has ended meanwhile");
        return false;
    }
    if (was_worked_on && note_crash(keeper, room)) {
        return false;
    }
    ls_room_register_lose(keeper->rooms, room);
    room->report.state = LS_ROOM_RESUMING;
    return true;
}

static void on_lost(void *user, uint32_t worker, const char *worked_on)
{
    ls_room_keeper *keeper = user;
    const ls_service_result result = {.status = LS_DISCONNECTED,
                                      .text = {"the worker of the room has ended"}};
    lose_pending(keeper, worker, &result);
    for (uint32_t i = 0; i < ls_room_register_count(keeper->rooms);) {
        ls_registered_room *room = ls_room_register_at(keeper->rooms, i);
        bool was_worked_on = worked_on && strcmp(room->report.name, worked_on) == 0;
        bool is_there = room->report.worker != worker || lose_room(keeper, room, was_worked_on);
        i += is_there ? 1 : 0;
    }
    ls_join_limits_forget_worker(&keeper->shared->limits, worker);
    ls_intake_lose(&keeper->intake, keeper->pool, worker);
    add_event(keeper, "worker-lost", worked_on ? worked_on : "",
              "a worker has ended, and is started again");
}

/* ---- the view ---- */

static const ls_worker_report *view_worker(void *user, uint32_t index)
{
    const ls_room_keeper *keeper = user;
    return ls_worker_pool_report(keeper->pool, index);
}

static bool view_is_ready(void *user, ls_text *why_not)
{
    const ls_room_keeper *keeper = user;
    ls_text why = {{0}};
    const char *failed = ls_room_placement_failed(&keeper->placement);
    const ls_storage_report *storage = keeper->config.storage;
    if (keeper->view.is_draining) {
        ls_text_set(&why, "the service is being drained");
    } else if (ready_workers(keeper) == 0) {
        ls_text_set(&why, "no worker is ready");
    } else if (failed) {
        ls_text_set(&why, "no room of '%s' can be opened", failed);
    } else if (storage && storage->why_not.bytes[0] != '\0') {
        why = storage->why_not;
    }
    if (why_not) {
        *why_not = why;
    }
    return why.bytes[0] == '\0';
}

static void view_link(void *user, const char *invite, char *out, size_t capacity)
{
    const ls_room_keeper *keeper = user;
    keeper->config.link(keeper->config.user, invite, out, capacity);
}

static void view_invite(void *user, const ls_room_report *room, char *out, size_t capacity)
{
    const ls_room_keeper *keeper = user;
    keeper->config.invite(keeper->config.user, room, out, capacity);
}

/* ---- commands of an operator ---- */

static void open_for(ls_room_keeper *keeper, const ls_service_command *command,
                     const service_asker *asker)
{
    static uint32_t named = 0;
    char name[LS_ROOM_NAME_BYTES_MAX];
    ls_service_result result = {.status = LS_OK};
    const ls_room_placement *placement = &keeper->placement;
    ls_name_copy(name, sizeof name, command->room);
    if (name[0] == '\0') {
        ls_room_placement_name(placement, "room", &named, name);
    }
    ls_registered_room *room = NULL;
    if (keeper->view.is_draining) {
        result.status =
            ls_fail(LS_FULL, &result.text, "the service is being drained: it opens no more rooms");
    } else if (is_full(&keeper->pending)) {
        result.status = ls_fail(LS_FULL, &result.text, "%s", TOO_MANY_COMMANDS);
    } else if (ls_room_name_is_valid(name)) {
        room = ls_room_placement_add(placement, name, &result);
    } else {
        result.status = ls_fail(LS_BAD_ARGUMENT, &result.text,
                                "a room's name has 1 to %u letters, digits, '-' and '_'",
                                LS_ROOM_NAME_BYTES_MAX - 1);
    }
    if (room) {
        result.status = ls_room_placement_settle(placement, &command->settings, room, &result.text);
    }
    if (room && result.status == LS_OK) {
        ask_to_open(keeper, room, asker);
        return;
    }
    if (room) {
        ls_room_register_remove(keeper->rooms, name);
    }
    tell_asker(keeper, asker, result.status, result.text.bytes);
}

/* One that waits to go on is ended here; its journal stays. */
static void end_waiting(ls_room_keeper *keeper, const ls_registered_room *room,
                        const service_asker *asker)
{
    add_event(keeper, "room-ended", room->report.name, "");
    forget_room(keeper, room);
    tell_asker(keeper, asker, LS_OK, "");
}

static void drain_for(ls_room_keeper *keeper, const service_asker *asker)
{
    ls_log_line(keeper->config.log, LS_LOG_INFO,
                "draining: no more rooms are opened; the service ends when the last one is over");
    ls_room_keeper_drain(keeper);
    tell_asker(keeper, asker, LS_OK, "");
}

static void ban_for(ls_room_keeper *keeper, const ls_service_command *command,
                    const service_asker *asker)
{
    char number[24];
    ls_ban ban = command->ban;
    snprintf(number, sizeof number, "%" PRIu64, add_ban(keeper, &ban, command->seconds, false));
    tell_asker(keeper, asker, LS_OK, number);
}

static void lift_ban_for(ls_room_keeper *keeper, uint64_t number, const service_asker *asker)
{
    ls_text text = {{0}};
    ls_text_set(&text, "ban %" PRIu64 " is lifted", number);
    if (!ls_ban_list_lift(ls_room_register_bans(keeper->rooms), number)) {
        ls_text_set(&text, "there is no ban %" PRIu64, number);
        tell_asker(keeper, asker, LS_NOT_FOUND, text.bytes);
        return;
    }
    keeper->message.kind = LS_WORKER_COMMAND;
    ls_worker_pool_send_all(keeper->pool, &keeper->message);
    save_register(keeper, NULL);
    add_event(keeper, "unban", "", text.bytes);
    tell_asker(keeper, asker, LS_OK, "");
}

/* Its worker carries a command out, unless the service does. */
static void view_command(void *user, const ls_service_command *command,
                         void (*done)(void *done_user, const ls_service_result *result),
                         void *done_user)
{
    ls_room_keeper *keeper = user;
    const service_asker asker = {done, done_user};
    const ls_registered_room *room = ls_room_register_find(keeper->rooms, command->room);
    ls_text why = {{0}};
    memset(&keeper->message, 0, sizeof keeper->message);
    keeper->message.command = *command;
    if (command->kind == LS_SERVICE_OPEN_ROOM) {
        open_for(keeper, command, &asker);
    } else if (command->kind == LS_SERVICE_DRAIN) {
        drain_for(keeper, &asker);
    } else if (command->kind == LS_SERVICE_ADD_BAN) {
        ban_for(keeper, command, &asker);
    } else if (command->kind == LS_SERVICE_LIFT_BAN) {
        lift_ban_for(keeper, command->ban.number, &asker);
    } else if (command->kind == LS_SERVICE_MESSAGE && command->room[0] == '\0') {
        keeper->message.kind = LS_WORKER_COMMAND;
        ls_worker_pool_send_all(keeper->pool, &keeper->message);
        tell_asker(keeper, &asker, LS_OK, "");
    } else if (room && room->is_open) {
        send_command(keeper, room->report.worker, &asker);
    } else if (room && command->kind == LS_SERVICE_END_ROOM && room->failures > 0 &&
               !room->is_asked) {
        end_waiting(keeper, room, &asker);
    } else {
        ls_text_set(&why, room ? "room '%s' is not open at the moment" : "there is no room '%s'",
                    command->room);
        tell_asker(keeper, &asker, LS_NOT_FOUND, why.bytes);
    }
}

/* ---- the end ---- */

void ls_room_keeper_drain(ls_room_keeper *keeper)
{
    if (!keeper->view.is_draining) {
        add_event(keeper, "drain", "", "the service opens no more rooms");
    }
    keeper->view.is_draining = true;
    ls_worker_pool_send_all(keeper->pool, &drain);
    ls_intake_drain(&keeper->intake, keeper->pool); /* those who know that keep it */
}

void ls_room_keeper_leave(ls_room_keeper *keeper)
{
    keeper->view.is_draining = true;
    ls_worker_pool_leave(keeper->pool);
}

bool ls_room_keeper_is_empty(const ls_room_keeper *keeper)
{
    uint32_t rooms = 0;
    for (uint32_t i = 0; i < ls_room_register_count(keeper->rooms); i++) {
        rooms += ls_room_register_at(keeper->rooms, i)->failures == 0 ? 1 : 0;
    }
    return rooms == 0;
}

bool ls_room_keeper_has_left(const ls_room_keeper *keeper)
{
    return ls_worker_pool_running(keeper->pool) == 0;
}

const ls_service_view *ls_room_keeper_view(const ls_room_keeper *keeper)
{
    return &keeper->view;
}

/* ---- life ---- */

/* Rooms of before are where they were, as far as those workers are there. */
static void place_rooms(ls_room_keeper *keeper)
{
    for (uint32_t i = 0; i < ls_room_register_count(keeper->rooms); i++) {
        ls_room_register_at(keeper->rooms, i)->report.worker %= keeper->config.workers;
    }
}

static ls_status create_shared(ls_room_keeper *keeper)
{
    const ls_service_config *service = keeper->config.service;
    keeper->shared_descriptor = ls_shared_memory_make("lockstep-workers");
    keeper->shared = keeper->shared_descriptor >= 0
                         ? ls_shared_memory_map(keeper->shared_descriptor, sizeof *keeper->shared)
                         : NULL;
    if (!keeper->shared) {
        return LS_IO;
    }
    ls_cipher_random((uint8_t *)&keeper->shared->limits.seed, sizeof keeper->shared->limits.seed);
    keeper->shared->limits.connections = service->address_connections;
    ls_join_limits_set(&keeper->shared->limits, service->address_joins, service->address_rooms);
    return LS_OK;
}

static ls_status create_parts(ls_room_keeper *keeper, ls_text *why)
{
    const ls_room_keeper_config *config = &keeper->config;
    ls_status status = ls_room_register_create(config->register_path, &keeper->rooms, why);
    if (status != LS_OK) {
        return status;
    }
    place_rooms(keeper);
    status = create_shared(keeper);
    LS_THEN(status, ls_event_loop_add_alarm(config->loop, (ls_loop_handler){on_saving, keeper},
                                            &keeper->saving));
    if (status != LS_OK) {
        return status;
    }
    const ls_worker_pool_config pool = {.workers = config->workers,
                                        .sockets = config->sockets,
                                        .shared = keeper->shared_descriptor,
                                        .program = config->program,
                                        .settings = config->worker,
                                        .loop = config->loop,
                                        .log = config->log,
                                        .on_ready = on_ready,
                                        .on_lost = on_lost,
                                        .on_message = on_message,
                                        .user = keeper};
    status = ls_worker_pool_create(&pool, &keeper->pool, why);
    keeper->placement = (ls_room_placement){.service = config->service,
                                            .pool = keeper->pool,
                                            .workers = config->workers,
                                            .rooms = keeper->rooms,
                                            .loop = config->loop,
                                            .log = config->log,
                                            .open = open_unasked,
                                            .user = keeper};
    keeper->view = (ls_service_view){.rooms = keeper->rooms,
                                     .events = &keeper->events,
                                     .bans = ls_room_register_bans(keeper->rooms),
                                     .uploads = config->uploads,
                                     .door = config->door,
                                     .storage = config->storage,
                                     .room_metrics = config->service->metrics_rooms,
                                     .worker_count = config->workers,
                                     .user = keeper,
                                     .worker = view_worker,
                                     .is_ready = view_is_ready,
                                     .invite = view_invite,
                                     .link = view_link,
                                     .command = view_command};
    return status;
}

ls_status ls_room_keeper_create(const ls_room_keeper_config *config, ls_room_keeper **out,
                                ls_text *why)
{
    ls_room_keeper *keeper = ls_allocate(ls_allocator_heap(), sizeof *keeper);
    if (!keeper) {
        return LS_NO_MEMORY;
    }
    keeper->config = *config;
    keeper->shared_descriptor = -1;
    keeper->intake = (ls_intake){
        .workers = config->workers, .on_known = config->on_intake, .user = config->user};
    keeper->began_ns = ls_event_loop_now_ns(config->loop);
    ls_status status = create_parts(keeper, why);
    if (status != LS_OK) {
        ls_room_keeper_destroy(keeper);
        return status;
    }
    *out = keeper;
    return LS_OK;
}

void ls_room_keeper_destroy(ls_room_keeper *keeper)
{
    if (keeper) {
        ls_worker_pool_destroy(keeper->pool);
        if (keeper->saving) {
            on_saving(keeper, 0);
        }
        ls_loop_source_remove(keeper->saving);
        ls_room_register_destroy(keeper->rooms);
        ls_shared_memory_release(keeper->shared, sizeof *keeper->shared);
        ls_shared_memory_close(keeper->shared_descriptor);
        ls_release(ls_allocator_heap(), keeper);
    }
}
