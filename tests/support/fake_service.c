#include "lockstep/tests/support/fake_service.h"

#include "lockstep/server/service/room_register.h"
#include "lockstep/server/service/service_view.h"

#include <stdlib.h>
#include <string.h>

enum {
    WAITING_MAX = 16
};

typedef struct waiting {
    void (*done)(void *user, const ls_service_result *result);
    void *user;
} waiting;

struct fake_service {
    ls_service_view view;
    ls_room_register *rooms;
    ls_event_ring events;
    ls_ban_list bans;
    ls_worker_report workers[FAKE_WORKERS];
    ls_upload_report uploads;
    ls_storage_report storage;
    bool is_ready;
    uint32_t command_count;
    ls_service_command last_command;
    uint32_t waiting_count;
    waiting waiting[WAITING_MAX];
};

/* ---- the view ---- */

static const ls_worker_report *worker(void *user, uint32_t index)
{
    return &((fake_service *)user)->workers[index];
}

static bool is_ready(void *user, ls_text *why_not)
{
    const fake_service *fake = user;
    if (!fake->is_ready) {
        ls_text_set(why_not, "no worker is there");
    } else if (fake->view.is_draining) {
        ls_text_set(why_not, "the service is being drained");
    }
    return fake->is_ready && !fake->view.is_draining;
}

static void page_link(void *user, const char *of, char *out, size_t capacity)
{
    (void)user;
    snprintf(out, capacity, "http://127.0.0.1:7380/play#%s", of);
}

static void invite(void *user, const ls_room_report *of, char *out, size_t capacity)
{
    (void)user;
    snprintf(out, capacity, "127.0.0.1:7300/%s", of->name);
}

/* ---- commands ---- */

static ls_service_result result_of(ls_status status, const char *text)
{
    ls_service_result result = {.status = status};
    ls_text_set(&result.text, "%s", text);
    return result;
}

static ls_service_result open_room(fake_service *fake, const ls_service_command *command)
{
    char name[LS_ROOM_NAME_BYTES_MAX];
    const char *players = ls_room_settings_find(&command->settings, "players");
    if (players && strcmp(players, "0") == 0) {
        return result_of(LS_BAD_ARGUMENT, "--players takes 1 to 32, not '0'");
    }
    snprintf(name, sizeof name, "room-%u", fake->command_count);
    const char *wanted = command->room[0] ? command->room : name;
    if (fake_service_room(fake, wanted)) {
        return result_of(LS_ALREADY_STARTED, "there is a room of this name");
    }
    if (ls_room_register_count(fake->rooms) == FAKE_ROOMS_MAX) {
        return result_of(LS_FULL, "there are as many rooms as there may be");
    }
    fake_service_add_room(fake, wanted);
    fake_service_add_event(fake, "room-opened", wanted, "room opened");
    return result_of(LS_OK, wanted);
}

static ls_service_result act_on_player(ls_room_report *of, const ls_service_command *command)
{
    if (command->slot >= of->player_count || !of->players[command->slot].is_here) {
        return result_of(LS_NOT_FOUND, "nobody sits there");
    }
    of->players[command->slot].is_here = false;
    return result_of(LS_OK, "sent away");
}

static ls_service_result act_on_room(fake_service *fake, const ls_service_command *command)
{
    ls_room_report *of = fake_service_room(fake, command->room);
    if (!of) {
        return result_of(LS_NOT_FOUND, "there is no such room");
    }
    static char picture[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n"
                            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 40 30\">"
                            "<circle r=\"9\"/></svg>";
    static char lacks[] = "8 closed ticks are missing in it";
    ls_service_result saved = result_of(LS_OK, "journals/arena.journal");
    ls_service_result drawn = {.status = LS_OK, .body = picture};
    switch (command->kind) {
    case LS_SERVICE_DRAW_ROOM:
        return strcmp(command->room, "arena-1") == 0
                   ? drawn
                   : result_of(LS_NOT_FOUND, "the simulation draws nothing");
    case LS_SERVICE_END_ROOM:
        fake_service_end_room(fake, command->room);
        return result_of(LS_OK, "ended");
    case LS_SERVICE_SAVE_ROOM:
        saved.body = strcmp(command->room, "holed") == 0 ? lacks : NULL;
        fake_service_end_room(fake, command->room);
        return saved;
    case LS_SERVICE_PAUSE_ROOM:
        of->state = LS_ROOM_PAUSED;
        return result_of(LS_OK, "paused");
    case LS_SERVICE_UNPAUSE_ROOM:
        of->state = LS_ROOM_RUNNING;
        return result_of(LS_OK, "running");
    default:
        return act_on_player(of, command);
    }
}

static ls_service_result add_ban(fake_service *fake, const ls_service_command *command)
{
    ls_ban ban = command->ban;
    ls_service_result result = {.status = LS_OK};
    ban.until_unix_s = UINT32_MAX;
    ls_text_set(&result.text, "%u", (unsigned)ls_ban_list_add(&fake->bans, &ban)->number);
    return result;
}

static ls_service_result act(fake_service *fake, const ls_service_command *command)
{
    switch (command->kind) {
    case LS_SERVICE_OPEN_ROOM:
        return open_room(fake, command);
    case LS_SERVICE_ADD_BAN:
        return add_ban(fake, command);
    case LS_SERVICE_LIFT_BAN:
        return ls_ban_list_lift(&fake->bans, command->ban.number)
                   ? result_of(LS_OK, "")
                   : result_of(LS_NOT_FOUND, "there is no such ban");
    case LS_SERVICE_MESSAGE:
        fake_service_add_event(fake, "message", command->room, command->text.bytes);
        return result_of(LS_OK, "sent");
    case LS_SERVICE_DRAIN:
        fake->view.is_draining = true;
        return result_of(LS_OK, "no new rooms");
    default:
        return act_on_room(fake, command);
    }
}

static void receive_command(void *user, const ls_service_command *command,
                            void (*done)(void *done_user, const ls_service_result *result),
                            void *done_user)
{
    fake_service *fake = user;
    fake->command_count++;
    fake->last_command = *command;
    if (strcmp(command->room, "slow") == 0 && fake->waiting_count < WAITING_MAX) {
        fake->waiting[fake->waiting_count++] = (waiting){done, done_user};
        return;
    }
    ls_service_result result = act(fake, command);
    done(done_user, &result);
}

void fake_service_answer(fake_service *fake)
{
    const ls_service_result result = result_of(LS_OK, "at last");
    while (fake->waiting_count > 0) {
        waiting next = fake->waiting[--fake->waiting_count];
        next.done(next.user, &result);
    }
}

/* ---- what tests do ---- */

const ls_service_view *fake_service_view(fake_service *fake)
{
    return &fake->view;
}

ls_room_report *fake_service_room(fake_service *fake, const char *name)
{
    ls_registered_room *room = ls_room_register_find(fake->rooms, name);
    return room ? &room->report : NULL;
}

ls_room_report *fake_service_add_room(fake_service *fake, const char *name)
{
    ls_registered_room *room = ls_room_register_add(fake->rooms, name);
    ls_room_report *made = &room->report;
    ls_name_copy(made->simulation, sizeof made->simulation, "arena");
    made->seats = 2;
    made->seats_open = 2;
    made->tick_rate_hz = 60;
    made->opened_unix_ms = 1700000000000;
    made->match_id = 0x1234;
    room->is_open = true;
    ls_room_register_note_opened(fake->rooms);
    return made;
}

void fake_service_end_room(fake_service *fake, const char *name)
{
    fake_service_add_event(fake, "room-ended", name, "room ended");
    ls_room_register_remove(fake->rooms, name);
}

void fake_service_add_event(fake_service *fake, const char *kind, const char *room_name,
                            const char *text)
{
    ls_service_event event = {.unix_ms = 1700000000001 + fake->events.newest, .slot = -1};
    ls_name_copy(event.kind, sizeof event.kind, kind);
    ls_name_copy(event.room, sizeof event.room, room_name);
    ls_text_set(&event.text, "%s", text);
    ls_event_ring_add(&fake->events, &event);
}

void fake_service_set_ready(fake_service *fake, bool ready)
{
    fake->is_ready = ready;
}

uint32_t fake_service_command_count(const fake_service *fake)
{
    return fake->command_count;
}

const ls_service_command *fake_service_last_command(const fake_service *fake)
{
    return &fake->last_command;
}

static void add_players(ls_room_report *of)
{
    static const char *const names[] = {"ann", FAKE_HOSTILE_NAME};
    of->state = LS_ROOM_RUNNING;
    of->tick = 1000;
    of->seats_open = 0;
    of->player_count = 2;
    of->players = ls_allocate_array(ls_allocator_heap(), 2, sizeof *of->players);
    for (uint32_t i = 0; i < 2; i++) {
        ls_room_player *to = &of->players[i];
        to->slot = i;
        to->is_here = true;
        to->rtt_ms = 20;
        ls_name_copy(to->name, sizeof to->name, names[i]);
        ls_name_copy(to->address, sizeof to->address, "127.0.0.1:50000");
    }
    of->counters.ticks = 1000;
    of->counters.inputs_on_time = 1990;
    of->counters.inputs_late = 10;
    of->counters.bytes_up = 123456;
    of->counters.players_joined = 2;
    of->counters.desyncs[LS_DESYNC_CLASS_ONE_OFF] = 1;
    of->counters.lateness =
        (ls_room_histogram){.count = 1000, .sum_ms = 300, .bins = {900, 90, 10}};
    of->counters.confirm = (ls_room_histogram){.count = 50, .sum_ms = 1500, .bins = {[7] = 50}};
}

fake_service *fake_service_create(void)
{
    fake_service *fake = calloc(1, sizeof *fake);
    ls_text why;
    if (ls_room_register_create(NULL, &fake->rooms, &why) != LS_OK) {
        abort();
    }
    fake->view = (ls_service_view){.rooms = fake->rooms,
                                   .events = &fake->events,
                                   .bans = &fake->bans,
                                   .room_metrics = "all",
                                   .uploads = &fake->uploads,
                                   .storage = &fake->storage,
                                   .worker_count = FAKE_WORKERS,
                                   .user = fake,
                                   .worker = worker,
                                   .is_ready = is_ready,
                                   .invite = invite,
                                   .link = page_link,
                                   .command = receive_command};
    fake->storage = (ls_storage_report){.free_bytes = 5000, .bytes = 20000};
    fake->uploads = (ls_upload_report){
        .uploaded = 7, .failures = 2, .waiting = 1, .oldest_unix_ms = 1700000000000};
    fake->is_ready = true;
    for (uint32_t i = 0; i < FAKE_WORKERS; i++) {
        fake->workers[i] = (ls_worker_report){.worker = i,
                                              .pid = 100 + i,
                                              .rooms = 1,
                                              .players = 2,
                                              .starts = 1,
                                              .load = 0.25,
                                              .cpu_ms = 1500,
                                              .memory_bytes = 50000000};
    }
    add_players(fake_service_add_room(fake, "arena-1"));
    add_players(fake_service_add_room(fake, "arena-2"));
    fake_service_add_event(fake, "room-opened", "arena-1", "room opened");
    fake_service_add_event(fake, "player-joined", "arena-1", FAKE_HOSTILE_NAME " joined");
    return fake;
}

void fake_service_destroy(fake_service *fake)
{
    ls_room_register_destroy(fake->rooms);
    free(fake);
}
