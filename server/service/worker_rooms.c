#include "lockstep/server/service/worker_rooms.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/protocol/udp/transport_udp.h"
#include "lockstep/server/journal/event_rows.h"
#include "lockstep/server/rooms/crash_log.h"
#include "lockstep/server/service/journal_disk.h"
#include "lockstep/server/service/room_glances.h"
#include "lockstep/server/service/room_loading.h"
#include "lockstep/server/service/room_picture.h"
#include "lockstep/server/service/room_rotation.h"
#include "lockstep/server/service/room_saving.h"
#include "lockstep/server/service/room_stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    CHANGED_MAX = 16, /* that are reported at a time */
    TURN_ROOMS = 15,  /* busy ones that are reported in a turn: of more each waits for longer */
    QUIET_TURNS = 10, /* of which an empty room takes one to report: it says the same as before */
    NEXT_WAIT_S = 60, /* the next match of a rotation ends when nobody is there for so long */
};

/* The owner of a room: all that the worker knows of it, from its opening until it is over. */
typedef struct worker_room {
    ls_worker_rooms *all;
    ls_room *room; /* NULL: it is being opened */
    ls_room_game *game;
    ls_room_stats stats;
    ls_room_settings *settings;          /* its texts are borrowed by the game */
    char path[LS_WORKER_PATH_BYTES_MAX]; /* of the plug-in, likewise */
    char journal[LS_WORKER_PATH_BYTES_MAX];
    bool is_private;       /* only the invited get in */
    bool has_changed;      /* its seats or its state have changed */
    bool is_begun;         /* it had a newcomer */
    bool is_played;        /* somebody played there, however shortly */
    uint64_t first_origin; /* of the newcomer that it was counted for; 0: none, or it was played */
    uint32_t join_timeout_s;
    uint64_t empty_ns;      /* since when nobody is in its lobby; 0: somebody is, or it plays */
    ls_room_settings *plan; /* all matches of its rotation; see room_rotation.h */
    ls_room_votes votes;
    ls_slot_set told;    /* slots that have still to be told of the votes */
    bool is_ended;       /* by an operator, or since nobody is there: no match follows */
    uint32_t next;       /* the turn that follows, and 1; 0: none */
    ls_held_seats seats; /* of those who were there when the match ended */
    ls_room_saving saving;
    uint64_t save_id;      /* of the command that asked for it */
    ls_room_report report; /* the newest one */
} worker_room;

/* A room whose next match has not been opened yet, by its name. */
typedef struct next_match {
    struct next_match *next;
    char room[LS_ROOM_NAME_BYTES_MAX];
    ls_held_seats seats;
} next_match;

struct ls_worker_rooms {
    ls_worker_rooms_config config;
    ls_rooms *rooms;
    ls_room_glances *glances; /* by the numbers of the rooms */
    uint32_t count;
    uint32_t busy; /* of them, by the newest look */
    ls_ban_list bans;
    next_match *coming;        /* a list */
    ls_worker_message message; /* working memory */
};

ls_host *ls_worker_rooms_host(const ls_worker_rooms *all)
{
    return ls_rooms_host(all->rooms);
}

static ls_match *match_of(const worker_room *room)
{
    return ls_room_match(room->room);
}

static uint64_t now_of(const ls_worker_rooms *all)
{
    return ls_event_loop_now_ns(ls_host_loop(ls_worker_rooms_host(all)));
}

/* Of this number; NULL: there is none. The numbers are below ls_rooms_count. */
static worker_room *at(const ls_worker_rooms *all, uint32_t number)
{
    const ls_room *room = ls_rooms_room(all->rooms, number);
    return room ? ls_room_owner(room) : NULL;
}

static worker_room *find(const ls_worker_rooms *all, const char *name)
{
    for (uint32_t i = 0; i < ls_rooms_count(all->rooms); i++) {
        worker_room *room = at(all, i);
        if (room && strcmp(room->report.name, name) == 0) {
            return room;
        }
    }
    return NULL;
}

static void touch(const worker_room *room)
{
    ls_host_touch(ls_worker_rooms_host(room->all), ls_room_number(room->room));
}

/* ---- events ---- */

static void report_event(ls_worker_rooms *all, const worker_room *room, const char *kind,
                         const ls_match_event *event)
{
    ls_worker_message *message = &all->message;
    memset(message, 0, sizeof *message);
    message->kind = LS_WORKER_EVENT;
    message->event.unix_ms = ls_clock_unix_ms();
    message->event.slot = -1;
    ls_name_copy(message->event.kind, sizeof message->event.kind, kind);
    bool is_of_room = !event || !event->is_for_another;
    ls_name_copy(message->event.room, sizeof message->event.room,
                 is_of_room ? room->report.name : "");
    if (event) {
        bool is_of_slot = ls_event_row_of(event)->scope == LS_EVENT_OF_SLOT &&
                          event->slot < ls_match_players(match_of(room));
        message->event.slot = is_of_slot ? (int32_t)event->slot : -1;
        message->event.text = event->text;
        if (event->kind == LS_MATCH_DESYNC) {
            ls_text_set(&message->event.text, "from tick %" PRIu32 " on", event->tick);
        }
    }
    all->config.notify(all->config.user, message);
}

/* ---- rotation ---- */

/* The players are told which match follows, and their seats there are held for them. */
static void announce_next(worker_room *room)
{
    ls_match *match = match_of(room);
    room->seats = ls_held_seats_of(match);
    if (room->is_ended || ls_slot_set_is_empty(room->seats.slots)) {
        return; /* an empty room ends */
    }
    uint32_t turn = ls_room_votes_next(&room->votes, room->plan);
    room->next = turn + 1;
    ls_text what = {{0}};
    ls_text_set(&what, "%s: %s", room->report.name, ls_room_rotation_words(room->plan, turn));
    ls_match_say_next(match, what.bytes, now_of(room->all));
}

static void tell_votes(worker_room *room)
{
    ls_text text;
    ls_slot_set told = room->told;
    if (ls_slot_set_is_empty(told)) {
        return;
    }
    room->told = (ls_slot_set){{0}};
    ls_room_votes_write(&room->votes, room->plan, &text);
    LS_EACH_SLOT (slot, told) {
        (void)ls_match_say(match_of(room), slot, text.bytes, now_of(room->all));
    }
    touch(room);
}

/* The votes are told later, a few times a second at most: each player may vote as often as the chat
 * lets it speak. */
static void receive_rotation_event(worker_room *room, const ls_match_event *event)
{
    if (ls_room_rotation_count(room->plan) == 0) {
        return;
    }
    bool is_voted = ls_room_rotation_is_voted(room->plan);
    if (event->kind == LS_MATCH_ENDED) {
        announce_next(room);
    } else if (event->kind == LS_MATCH_STARTED && is_voted) {
        room->told = ls_slot_set_first(ls_match_players(match_of(room)));
    } else if (event->kind == LS_MATCH_PLAYER_JOINED && is_voted) {
        ls_slot_set_add(&room->told, event->slot);
    } else if (event->kind == LS_MATCH_PLAYER_LEFT) {
        room->votes.choices[event->slot] = 0;
    } else if (event->kind == LS_MATCH_CHAT &&
               ls_room_votes_receive(&room->votes, room->plan, event->slot, event->text.bytes)) {
        room->told = ls_slot_set_first(ls_match_players(match_of(room)));
    }
}

/* Until the room's next match is opened, or is not. */
static void keep_seats(ls_worker_rooms *all, const worker_room *room)
{
    next_match *coming = ls_allocate(ls_allocator_heap(), sizeof *coming);
    if (coming) {
        coming->next = all->coming;
        coming->seats = room->seats;
        ls_name_copy(coming->room, sizeof coming->room, room->report.name);
        all->coming = coming;
    }
}

/* NULL: the room has played no match before; else to be released. */
static next_match *take_seats(ls_worker_rooms *all, const char *name)
{
    next_match **at = &all->coming;
    while (*at && strcmp((*at)->room, name) != 0) {
        at = &(*at)->next;
    }
    next_match *found = *at;
    if (found) {
        *at = found->next;
    }
    return found;
}

/* ---- events of a match ---- */

static void on_event(void *user, ls_room *of, const ls_match_event *event)
{
    worker_room *room = ls_room_owner(of);
    const char *word = ls_event_row_of(event)->word;
    ls_room_stats_receive_event(&room->stats, ls_room_match(of), event);
    receive_rotation_event(room, event);
    room->has_changed = true;
    if (word) {
        report_event(user, room, word, event);
    }
}

static void on_advanced(void *user, ls_room *of, uint64_t due_ns, uint64_t now_ns)
{
    worker_room *room = ls_room_owner(of);
    (void)user;
    ls_room_stats_advanced(&room->stats, ls_room_match(of), due_ns, now_ns);
}

/* A player has said, rightly or not, what a state is that it was not sent. */
static bool is_played_now(const ls_match *match)
{
    bool is_played = false;
    for (uint32_t slot = 0; slot < ls_match_players(match); slot++) {
        const ls_match_slot seat = ls_match_slot_of(match, slot);
        is_played = is_played || seat.agreed_tick > seat.joined_tick || seat.is_desynced ||
                    seat.has_finished;
    }
    return is_played;
}

static void make_report(worker_room *room)
{
    ls_worker_rooms *all = room->all;
    ls_room_stats_report(&room->stats, room->room, ls_host_transport(ls_worker_rooms_host(all)),
                         &room->report);
    room->is_played = room->is_played || is_played_now(match_of(room));
    if (room->first_origin != 0 && room->is_played) {
        ls_join_limits_give_back(all->config.limits, room->first_origin);
        room->first_origin = 0;
    }
}

static void send_newest(worker_room *room, ls_worker_message_kind kind)
{
    ls_worker_rooms *all = room->all;
    ls_worker_message *message = &all->message;
    memset(message, 0, sizeof *message);
    message->kind = kind;
    message->id = kind == LS_WORKER_GONE ? room->next : 0;
    message->is_unplayed = !room->is_played;
    message->report = room->report; /* with its players, which stay the room's */
    all->config.notify(all->config.user, message);
}

static void send_report(worker_room *room, ls_worker_message_kind kind)
{
    make_report(room);
    send_newest(room, kind);
}

/* ---- opening ---- */

/* A peer as bans may name it. */
static ls_ban_subject subject_of(const ls_worker_rooms *all, ls_peer_id peer, const char *name)
{
    const ls_transport *transport = ls_host_transport(ls_worker_rooms_host(all));
    const ls_sealed_pass *pass = ls_transport_udp_pass(transport, peer);
    return (ls_ban_subject){.origin = ls_transport_udp_origin(transport, peer),
                            .name = name,
                            .has_account = pass != NULL,
                            .account = pass ? pass->client_id : 0};
}

/* NULL: no ban names the peer. */
static const ls_ban *find_ban(const ls_worker_rooms *all, ls_peer_id peer, const char *name)
{
    const ls_ban_subject who = subject_of(all, peer, name);
    return ls_ban_list_find(&all->bans, &who, ls_clock_unix_ms() / 1000);
}

static void write_ban(const ls_ban *ban, ls_text *out)
{
    uint64_t now_s = ls_clock_unix_ms() / 1000;
    uint64_t left_s = ban->until_unix_s > now_s ? ban->until_unix_s - now_s : 0;
    ls_text_set(out, "you are banned from this server for another %" PRIu64 " s%s%s", left_s,
                ban->why[0] ? ": " : "", ban->why);
}

/* Holders of tokens are told apart by these, and players who come back had a place before. A room
 * that is made on demand makes the service open no other one. */
static bool is_within_limits(worker_room *room, const ls_match_newcomer *newcomer)
{
    ls_worker_rooms *all = room->all;
    const ls_transport *transport = ls_host_transport(ls_worker_rooms_host(all));
    uint64_t origin = ls_transport_udp_origin(transport, newcomer->peer);
    if (newcomer->is_returning || origin == 0 || ls_transport_udp_pass(transport, newcomer->peer)) {
        return true;
    }
    bool is_first = room->report.group[0] != '\0' && !newcomer->is_spectator && !room->is_begun;
    if (!ls_join_limits_take(all->config.limits, origin, is_first, now_of(all))) {
        return false;
    }
    room->first_origin = is_first ? origin : room->first_origin;
    room->is_begun = room->is_begun || !newcomer->is_spectator;
    return true;
}

static bool may_join(void *user, const ls_match_newcomer *newcomer, ls_text *why)
{
    worker_room *room = user;
    const ls_worker_rooms *all = room->all;
    if (newcomer->token[0] != '\0' && strcmp(newcomer->token, room->report.name) != 0) {
        ls_text_set(why,
                    "there is no room '%.48s' here: it may be over, or it is private, and "
                    "takes a connect token that names it",
                    newcomer->token);
        return false;
    }
    const ls_ban *ban = find_ban(all, newcomer->peer, newcomer->name);
    if (ban) {
        write_ban(ban, why);
    } else if (!is_within_limits(room, newcomer)) {
        ls_text_set(why, "too many players came from your address: try again in a minute");
        return false;
    }
    return !ban;
}

static void keep_journal_path(worker_room *room)
{
    const ls_room_journal *journal = ls_room_journal_of(room->room);
    ls_summary_journal figures;
    room->journal[0] = '\0';
    if (journal) {
        ls_room_journal_summarize(journal, &figures);
        ls_name_copy(room->journal, sizeof room->journal, figures.file);
    }
}

/* The log names the room, should its simulation crash. */
static void note_for_crash(const worker_room *room, uint32_t number, uint64_t match_id)
{
    const ls_crash_log_match about = {.title = room->report.name,
                                      .match_id = match_id,
                                      .simulation =
                                          room->game ? ls_room_game_simulation(room->game) : NULL};
    ls_crash_log_note(number, &about);
}

static ls_status open_room(worker_room *room, const ls_held_seats *held, ls_text *why)
{
    ls_worker_rooms *all = room->all;
    ls_resume *resume = ls_room_game_resume(room->game);
    ls_room_opening opening = {.match = *ls_room_game_match(room->game),
                               .title = room->report.name,
                               .label = room->report.name,
                               .name = room->report.name,
                               .is_for_invited = room->is_private,
                               .held = held,
                               .journal_dir = all->config.settings->journal_dir,
                               .is_public =
                                   all->config.settings->has_broadcast && !room->is_private,
                               .resume = resume,
                               .resume_path = room->journal,
                               .owner = room};
    opening.match.may_join = may_join;
    opening.match.may_join_user = room;
    opening.match.has_others = true;
    ls_status status = resume ? LS_OK : ls_rooms_give_identity(&opening.match, why);
    ls_resume_report report;
    if (status == LS_OK) {
        note_for_crash(room, LS_CRASH_LOG_OPENING, opening.match.match_id);
        ls_room_game_attach(room->game, ls_host_loop(ls_worker_rooms_host(all)));
        status = ls_rooms_open(all->rooms, &opening, &room->room, &report, why);
    }
    return status;
}

static void destroy_room(worker_room *room)
{
    ls_room_game_destroy(room->game);
    ls_room_settings_release(room->settings);
    ls_room_settings_release(room->plan);
    ls_room_report_deinit(&room->report);
    ls_release(ls_allocator_heap(), room);
}

static ls_status keep_settings(worker_room *room, const ls_room_settings *given, ls_text *why)
{
    ls_room_settings match;
    ls_status status = ls_room_rotation_settle(given, &match, why);
    LS_THEN(status, ls_room_settings_join_timeout(&match, &room->join_timeout_s, why));
    if (status != LS_OK) {
        return status;
    }
    const char *is_private = ls_room_settings_find(&match, "private");
    room->is_private = is_private && strcmp(is_private, "on") == 0;
    room->plan = ls_room_settings_keep(given);
    room->settings = ls_room_settings_keep(&match);
    return room->plan && room->settings ? LS_OK : LS_NO_MEMORY;
}

/* A room that is new is refused where one of its later matches could not be played. One that goes
 * on is not: there is a match to play. */
static ls_status load_game(worker_room *room, const ls_room_settings *given, bool is_new,
                           ls_text *why)
{
    const ls_worker_settings *settings = room->all->config.settings;
    const ls_room_loading loading = {.settings = room->settings,
                                     .plugin_dir = settings->plugin_dir,
                                     .files = &settings->files,
                                     .journal = room->journal[0] ? room->journal : NULL,
                                     .path = room->path,
                                     .path_capacity = sizeof room->path};
    bool has_later = is_new && !loading.journal && ls_room_rotation_count(given) > 1;
    ls_status status = has_later ? ls_room_loading_check(&loading, given, true, why) : LS_OK;
    return status == LS_OK ? ls_room_load(&loading, &room->game, why) : status;
}

static ls_status open_command(ls_worker_rooms *all, const ls_worker_message *message,
                              ls_worker_message *result)
{
    ls_text *why = &result->result.text;
    worker_room *room = ls_allocate(ls_allocator_heap(), sizeof *room);
    if (!room) {
        return LS_NO_MEMORY;
    }
    room->all = all;
    room->is_played = !message->is_unplayed;
    room->report.worker = all->config.settings->worker;
    room->report.opened_unix_ms = ls_clock_unix_ms();
    memcpy(room->report.name, message->command.room, sizeof room->report.name);
    memcpy(room->report.group, message->group, sizeof room->report.group);
    memcpy(room->journal, message->journal, sizeof room->journal);
    ls_work_mark_name(all->config.mark, LS_WORK_MARK_OPENING, room->report.name);
    ls_work_mark_begin(all->config.mark, LS_WORK_MARK_OPENING);
    note_for_crash(room, LS_CRASH_LOG_OPENING, 0);
    next_match *before = take_seats(all, room->report.name);
    ls_status status = keep_settings(room, &message->command.settings, why);
    LS_THEN(status, load_game(room, &message->command.settings, !before, why));
    LS_THEN(status, open_room(room, before ? &before->seats : NULL, why));
    if (before && room->join_timeout_s == 0) {
        room->join_timeout_s = NEXT_WAIT_S;
    }
    ls_release(ls_allocator_heap(), before);
    ls_work_mark_clear(all->config.mark);
    if (status != LS_OK) {
        if (room->game) {
            ls_room_game_veil(room->game, why);
        }
        destroy_room(room);
        return status;
    }
    uint32_t number = ls_room_number(room->room);
    keep_journal_path(room);
    ls_room_game_warn(room->game, &all->config.console->log);
    room->has_changed = true;
    ls_work_mark_name(all->config.mark, number, room->report.name);
    note_for_crash(room, number, ls_match_config_of(match_of(room))->match_id);
    all->count++;
    ls_match *match = match_of(room);
    ls_room_stats_begin(&room->stats, match);
    if (message->is_paused) { /* one that is over by now has no use for it */
        (void)ls_match_pause(match, message->command.text.bytes, now_of(all));
    }
    result->match_id = ls_match_config_of(match)->match_id;
    memcpy(result->journal, room->journal, sizeof result->journal);
    report_event(all, room, "room-opened", NULL);
    send_report(room, LS_WORKER_REPORT); /* before it is said that the room is open */
    return LS_OK;
}

/* ---- what an operator asks for ---- */

static ls_status kick(worker_room *room, const ls_worker_message *message, ls_service_result *out)
{
    const ls_service_command *command = &message->command;
    const char *text = command->text.bytes[0] ? command->text.bytes : "an operator sent you away";
    if (command->slot >= ls_match_players(match_of(room))) {
        return ls_fail(LS_NOT_FOUND, &out->text, "room '%s' has no slot %" PRIu32, command->room,
                       command->slot);
    }
    ls_status status = ls_match_kick(match_of(room), command->slot, text, now_of(room->all));
    touch(room);
    return status == LS_OK
               ? LS_OK
               : ls_fail(LS_NOT_FOUND, &out->text, "nobody is in slot %" PRIu32 " of room '%s'",
                         command->slot, command->room);
}

/* The result says by what the service is to ban the player; the ban itself comes from there. */
static ls_status ban(worker_room *room, const ls_worker_message *message, ls_service_result *out)
{
    const ls_service_command *command = &message->command;
    char address[LS_TRANSPORT_UDP_ADDRESS_BYTES] = "";
    ls_match *match = match_of(room);
    if (command->slot >= ls_match_players(match) ||
        ls_match_slot_of(match, command->slot).peer == 0) {
        return ls_fail(LS_NOT_FOUND, &out->text, "nobody is in slot %" PRIu32 " of room '%s'",
                       command->slot, command->room);
    }
    const ls_match_slot slot = ls_match_slot_of(match, command->slot);
    const ls_ban_subject who = subject_of(room->all, slot.peer, slot.name);
    if (command->ban.kind == LS_BAN_ACCOUNT && !who.has_account) {
        return ls_fail(LS_UNSUPPORTED, &out->text,
                       "the player came without a connect token, and so without an account");
    }
    (void)ls_transport_udp_address(ls_host_transport(ls_worker_rooms_host(room->all)), slot.peer,
                                   address);
    ls_status status = kick(room, message, out);
    if (command->ban.kind == LS_BAN_ACCOUNT) {
        ls_text_set(&out->text, "%" PRIu64, who.account);
    } else {
        ls_text_set(&out->text, "%s", command->ban.kind == LS_BAN_NAME ? slot.name : address);
    }
    return status;
}

static void kick_banned(worker_room *room)
{
    ls_match *match = match_of(room);
    for (uint32_t i = 0; i < ls_match_players(match); i++) {
        const ls_match_slot slot = ls_match_slot_of(match, i);
        const ls_ban *ban = slot.peer != 0 ? find_ban(room->all, slot.peer, slot.name) : NULL;
        ls_text text = {{0}};
        if (ban) {
            write_ban(ban, &text);
            (void)ls_match_kick(match, i, text.bytes, now_of(room->all));
            touch(room);
        }
    }
}

static ls_status end_room(worker_room *room, const ls_worker_message *message,
                          ls_service_result *out)
{
    (void)message;
    (void)out;
    room->is_ended = true;
    ls_match_stop(match_of(room), now_of(room->all));
    touch(room);
    return LS_OK;
}

static ls_status pause_room(worker_room *room, const ls_worker_message *message,
                            ls_service_result *out)
{
    const ls_service_command *command = &message->command;
    bool is_pause = command->kind == LS_SERVICE_PAUSE_ROOM;
    ls_status (*call)(ls_match *, const char *, uint64_t) =
        is_pause ? ls_match_pause : ls_match_unpause;
    ls_status status = call(match_of(room), command->text.bytes, now_of(room->all));
    touch(room);
    room->has_changed = true;
    return status == LS_OK ? LS_OK
                           : ls_fail(LS_REFUSED, &out->text, "room '%s' %s", command->room,
                                     is_pause ? "does not play at the moment" : "is not paused");
}

static ls_status say(worker_room *room, const ls_worker_message *message, ls_service_result *out)
{
    const char *text = message->command.text.bytes;
    ls_status status = ls_match_say(match_of(room), LS_PLAYERS_MAX, text, now_of(room->all));
    touch(room);
    return status == LS_OK
               ? LS_OK
               : ls_fail(LS_ALREADY_OVER, &out->text, "room '%s' is over", message->command.room);
}

static ls_status save(worker_room *room, const ls_worker_message *message, ls_service_result *out)
{
    ls_status status = ls_room_saving_begin(&room->saving, room->room, message->command.text.bytes,
                                            now_of(room->all), &out->text);
    if (status == LS_OK) {
        room->save_id = message->id;
        touch(room);
    }
    return status;
}

static ls_status draw(worker_room *room, const ls_worker_message *message, ls_service_result *out)
{
    (void)message;
    ls_sim_instance *instance = ls_match_instance(match_of(room));
    return instance ? ls_room_picture_make(instance, &out->body, &out->text) : LS_NO_MEMORY;
}

typedef ls_status (*room_command)(worker_room *room, const ls_worker_message *message,
                                  ls_service_result *out);

static const room_command room_commands[LS_SERVICE_DRAIN + 1] = {
    [LS_SERVICE_END_ROOM] = end_room,
    [LS_SERVICE_SAVE_ROOM] = save,
    [LS_SERVICE_PAUSE_ROOM] = pause_room,
    [LS_SERVICE_UNPAUSE_ROOM] = pause_room,
    [LS_SERVICE_DRAW_ROOM] = draw,
    [LS_SERVICE_KICK] = kick,
    [LS_SERVICE_BAN] = ban,
    [LS_SERVICE_MESSAGE] = say,
};

/* A command that names no room. */
static void run_for_all(ls_worker_rooms *all, const ls_worker_message *message,
                        ls_service_result *out)
{
    const ls_service_command *command = &message->command;
    if (command->kind == LS_SERVICE_ADD_BAN) {
        ls_ban ban = command->ban;
        if (ls_ban_set(&ban, ban.kind, command->ban.what, NULL) == LS_OK) { /* with its look */
            (void)ls_ban_list_add(&all->bans, &ban);
        }
    } else if (command->kind == LS_SERVICE_LIFT_BAN) {
        (void)ls_ban_list_lift(&all->bans, command->ban.number);
    }
    for (uint32_t i = 0; i < ls_rooms_count(all->rooms); i++) {
        worker_room *room = at(all, i);
        if (room && command->kind == LS_SERVICE_MESSAGE) {
            (void)say(room, message, out);
        } else if (room && command->kind == LS_SERVICE_ADD_BAN && !command->spares_players) {
            kick_banned(room);
        }
    }
    *out = (ls_service_result){.status = LS_OK};
}

bool ls_worker_rooms_command(ls_worker_rooms *all, const ls_worker_message *message,
                             ls_worker_message *result)
{
    const ls_service_command *command = &message->command;
    ls_service_result *out = &result->result;
    memset(result, 0, sizeof *result);
    result->kind = LS_WORKER_RESULT;
    result->id = message->id;
    memcpy(result->room, command->room, sizeof result->room);
    worker_room *room = find(all, command->room);
    room_command run = room_commands[command->kind];
    if (command->kind == LS_SERVICE_OPEN_ROOM) {
        out->status = open_command(all, message, result);
    } else if (command->room[0] == '\0') {
        run_for_all(all, message, out);
    } else if (!room || !run) {
        out->status = ls_fail(LS_NOT_FOUND, &out->text, "there is no room '%s'", command->room);
    } else {
        ls_work_mark_begin(all->config.mark, ls_room_number(room->room));
        out->status = run(room, message, out);
        ls_work_mark_clear(all->config.mark);
    }
    if (out->status != LS_OK && out->text.bytes[0] == '\0') {
        ls_text_set(&out->text, "%s", ls_status_text(out->status));
    }
    return command->kind != LS_SERVICE_SAVE_ROOM || out->status != LS_OK;
}

/* ---- saved matches ---- */

static void report_saved(ls_worker_rooms *all, const worker_room *room, ls_status status,
                         const char *text)
{
    char lacks[128];
    ls_worker_message *message = &all->message;
    memset(message, 0, sizeof *message);
    message->kind = LS_WORKER_RESULT;
    message->id = room->save_id;
    memcpy(message->room, room->report.name, sizeof message->room);
    message->result.status = status;
    ls_text_set(&message->result.text, "%s", text);
    if (status == LS_OK && room->saving.ticks_missing > 0) {
        snprintf(lacks, sizeof lacks,
                 "%" PRIu64 " closed ticks are missing in it: they could not be written",
                 room->saving.ticks_missing);
        message->result.body = lacks;
    }
    all->config.notify(all->config.user, message);
    message->result.body = NULL;
}

/* The room is closed, and its journal with it. */
static void finish_saving(ls_worker_rooms *all, worker_room *room)
{
    char moved[LS_WORKER_PATH_BYTES_MAX];
    if (room->saving.state == LS_SAVING_WRITES) {
        ls_room_saving_end(&room->saving);
        report_saved(all, room, room->saving.status, room->saving.why);
    }
    if (room->saving.state == LS_SAVING_LEFT) {
        if (!ls_room_saving_move(room->journal, all->config.settings->journal_dir, moved)) {
            ls_log_line(&all->config.console->log, LS_LOG_WARNING,
                        "the journal %s stays where it is: %s", room->journal, strerror(errno));
        }
        ls_log_line(&all->config.console->log, LS_LOG_INFO, "room %s is saved: %s",
                    room->report.name, moved);
        report_saved(all, room, LS_OK, moved);
    }
}

static void look_at_saved(ls_worker_rooms *all, worker_room *room)
{
    if (room->saving.state != LS_SAVING_WRITES) {
        return;
    }
    ls_saving_state state = ls_room_saving_look(&room->saving, room->room, now_of(all));
    if (state != LS_SAVING_WRITES) {
        touch(room);
    }
    if (state == LS_SAVING_FAILED) {
        report_saved(all, room, room->saving.status, room->saving.why);
    }
}

/* ---- rooms that nobody joins ---- */

static void look_for_players(ls_worker_rooms *all, worker_room *room)
{
    ls_match *match = match_of(room);
    uint64_t now_ns = now_of(all);
    bool is_empty = room->join_timeout_s > 0 && ls_match_state_of(match) == LS_MATCH_LOBBY &&
                    ls_match_players_here(match) == 0;
    uint64_t since_ns = room->empty_ns > 0 ? room->empty_ns : now_ns;
    room->empty_ns = is_empty ? since_ns : 0;
    if (is_empty && now_ns - since_ns >= room->join_timeout_s * LS_NS_PER_SECOND) {
        ls_log_line(&all->config.console->log, LS_LOG_INFO,
                    "room %s is ended: nobody has joined it for %" PRIu32 " s (join-timeout)",
                    room->report.name, room->join_timeout_s);
        (void)end_room(room, NULL, NULL);
    }
}

static bool is_quiet(const worker_room *room)
{
    const ls_match *match = match_of(room);
    return ls_match_state_of(match) == LS_MATCH_LOBBY && ls_match_players_here(match) == 0 &&
           ls_match_spectating_of(match).now == 0 && room->saving.state != LS_SAVING_WRITES;
}

static ls_room_glance glance_at(const worker_room *room)
{
    if (!room) {
        return (ls_room_glance){.is_there = false};
    }
    const ls_match *match = match_of(room);
    return (ls_room_glance){.is_there = true,
                            .is_lobby = ls_match_state_of(match) == LS_MATCH_LOBBY,
                            .is_quiet =
                                is_quiet(room) && !room->has_changed && room->join_timeout_s == 0,
                            .seats = ls_match_players(match),
                            .open = room->is_private ? 0 : ls_match_seats_open(match),
                            .players = ls_match_players_here(match)};
}

/* A service has many rooms, and most of them wait for players. */
static void glance_at_called(ls_worker_rooms *all)
{
    for (uint32_t i = 0; i < ls_rooms_count(all->rooms); i++) {
        if (ls_host_was_called(ls_worker_rooms_host(all), i)) {
            const ls_room_glance glance = glance_at(at(all, i));
            ls_room_glances_set(all->glances, i, &glance);
        }
    }
}

/* NULL: there is none of this number, or nothing happens there. */
static worker_room *busy_room(const ls_worker_rooms *all, uint32_t number)
{
    const ls_room_glance *glance = ls_room_glances_at(all->glances, number);
    return glance->is_there && !glance->is_quiet ? at(all, number) : NULL;
}

bool ls_worker_rooms_look(ls_worker_rooms *all)
{
    bool are_quiet = true;
    all->busy = 0;
    glance_at_called(all);
    for (uint32_t i = 0; i < ls_rooms_count(all->rooms); i++) {
        worker_room *room = busy_room(all, i);
        if (room) {
            all->busy++;
            look_at_saved(all, room);
            look_for_players(all, room);
            tell_votes(room);
            are_quiet = are_quiet && is_quiet(room);
        }
    }
    return are_quiet;
}

/* ---- reports ---- */

void ls_worker_rooms_report(ls_worker_rooms *all, uint64_t turn, uint32_t turns_min)
{
    uint32_t turns = LS_MAX(turns_min, all->busy / TURN_ROOMS);
    for (uint32_t i = (uint32_t)(turn % turns); i < ls_rooms_count(all->rooms); i += turns) {
        worker_room *room = at(all, i);
        bool is_turn = (turn / turns + i / turns) % QUIET_TURNS == 0;
        if (room && (is_turn || busy_room(all, i))) {
            send_report(room, LS_WORKER_REPORT);
        }
    }
}

bool ls_worker_rooms_report_changed(ls_worker_rooms *all)
{
    uint32_t changed = 0;
    for (uint32_t i = 0; i < ls_rooms_count(all->rooms) && changed < CHANGED_MAX; i++) {
        worker_room *room = busy_room(all, i);
        if (room && room->has_changed) {
            room->has_changed = false;
            send_report(room, LS_WORKER_REPORT);
            const ls_room_glance glance = glance_at(room);
            ls_room_glances_set(all->glances, i, &glance);
            changed++;
        }
    }
    return changed > 0;
}

void ls_worker_rooms_drain(ls_worker_rooms *all)
{
    for (uint32_t i = 0; i < ls_rooms_count(all->rooms); i++) {
        worker_room *room = at(all, i);
        if (room && ls_match_state_of(match_of(room)) == LS_MATCH_LOBBY) {
            (void)end_room(room, NULL, NULL);
        } else if (room) {
            room->is_ended = true;
            ls_match_set_full_text(match_of(room),
                                   "the server is being stopped, and takes no new players");
        }
    }
}

/* Else whoever comes and says nothing fills the disk. A file without a header, since the disk was
 * full, would be no journal. */
static void remove_if_unplayed(const worker_room *room)
{
    bool is_unplayed =
        !room->is_played && room->saving.state == LS_SAVING_NONE && room->journal[0] != '\0';
    if (is_unplayed || ls_journal_header_is_missing(room->journal)) {
        (void)remove(room->journal);
    }
}

static void on_done(void *user, ls_room *of)
{
    ls_worker_rooms *all = user;
    worker_room *room = ls_room_owner(of);
    const ls_room_journal *journal = ls_room_journal_of(of);
    room->saving.ticks_missing = journal ? ls_room_journal_ticks_missing(journal) : 0;
    make_report(room);
    all->count--;
    ls_crash_log_note(ls_room_number(of), NULL);
    ls_rooms_close(all->rooms, of);
    room->room = NULL;
    remove_if_unplayed(room);
    if (room->next > 0) {
        keep_seats(all, room);
    }
    send_newest(room, LS_WORKER_GONE);
    finish_saving(all, room);
    destroy_room(room);
}

ls_worker_seats ls_worker_rooms_seats(ls_worker_rooms *all, uint32_t coming)
{
    glance_at_called(all);
    return ls_room_glances_seats(all->glances, ls_rooms_count(all->rooms), coming);
}

bool ls_worker_rooms_can_watch(const ls_worker_rooms *all)
{
    for (uint32_t i = 0; i < ls_rooms_count(all->rooms); i++) {
        const worker_room *room = at(all, i);
        if (room && !room->is_private && ls_match_state_of(match_of(room)) < LS_MATCH_ENDING &&
            ls_match_config_of(match_of(room))->spectators_max > 0) {
            return true;
        }
    }
    return false;
}

uint32_t ls_worker_rooms_count(const ls_worker_rooms *all)
{
    return all->count;
}

void ls_worker_rooms_set_resting(ls_worker_rooms *all, bool are_resting)
{
    ls_rooms_set_resting(all->rooms, are_resting);
}

uint64_t ls_worker_rooms_unwritten(ls_worker_rooms *all, uint64_t now_ns)
{
    uint64_t ticks = 0;
    for (uint32_t i = 0; i < ls_rooms_count(all->rooms); i++) {
        ls_room *room = ls_rooms_room(all->rooms, i);
        const ls_room_journal *journal = room ? ls_room_journal_of(room) : NULL;
        if (journal) {
            ls_room_pull(room, now_ns);
            ticks += ls_room_journal_backlog(journal);
        }
    }
    return ticks;
}

/* ---- life ---- */

/* A newcomer who would be the only one in a lobby. */
static bool would_wait_alone(const ls_worker_rooms *all, const ls_match_asker *asker)
{
    const ls_match *match = match_of(at(all, asker->match));
    bool is_newcomer =
        asker->match_id == 0 && asker->name[0] == '\0' && !asker->is_spectator &&
        !ls_transport_udp_pass(ls_host_transport(ls_worker_rooms_host(all)), asker->peer);
    return is_newcomer && ls_match_state_of(match) == LS_MATCH_LOBBY &&
           ls_match_seats_open(match) + 1 == ls_match_players(match);
}

static const char *put_off(void *user, const ls_match_asker *asker)
{
    const ls_worker_rooms *all = user;
    const ls_room_directory *directory = all->config.directory;
    if (ls_room_directory_is_expected(directory, asker->name, asker->match_id)) {
        return "its match does not go on yet: ask again";
    }
    /* It was sent here while this worker had the intake, and has come too late. */
    bool is_late = ls_room_directory_is_other_intake(directory, all->config.settings->worker);
    return is_late && would_wait_alone(all, asker) ? "newcomers meet elsewhere: ask again" : NULL;
}

ls_status ls_worker_rooms_create(const ls_worker_rooms_config *config, ls_worker_rooms **out,
                                 ls_text *why)
{
    const ls_worker_settings *settings = config->settings;
    ls_worker_rooms *all = ls_allocate(ls_allocator_heap(), sizeof *all);
    if (!all) {
        return LS_NO_MEMORY;
    }
    all->config = *config;
    const ls_rooms_config rooms = {.console = config->console,
                                   .host = config->host,
                                   .bundle_dir = settings->bundle_dir,
                                   .bundle_mib_max = settings->bundle_mib_max,
                                   .is_lasting = true,
                                   .on_event = on_event,
                                   .on_advanced = on_advanced,
                                   .put_off = put_off,
                                   .on_done = on_done,
                                   .user = all};
    ls_status status = ls_room_glances_create(config->host.table.matches_max, &all->glances);
    LS_THEN(status, ls_rooms_create(&rooms, &all->rooms, why));
    ls_cipher_wipe(&all->config.host.sealed, sizeof all->config.host.sealed);
    if (status != LS_OK) {
        ls_room_glances_destroy(all->glances);
        ls_release(ls_allocator_heap(), all);
        return status;
    }
    *out = all;
    return LS_OK;
}

void ls_worker_rooms_destroy(ls_worker_rooms *all)
{
    if (!all) {
        return;
    }
    for (uint32_t i = 0; i < ls_rooms_count(all->rooms); i++) {
        worker_room *room = at(all, i);
        if (room) {
            ls_rooms_close(all->rooms, room->room);
            destroy_room(room);
        }
    }
    while (all->coming) {
        next_match *coming = all->coming;
        all->coming = coming->next;
        ls_release(ls_allocator_heap(), coming);
    }
    ls_rooms_destroy(all->rooms);
    ls_room_glances_destroy(all->glances);
    ls_release(ls_allocator_heap(), all);
}
