#include "lockstep/server/service/http_api.h"

#include "lockstep/common/base/limits.h"
#include "lockstep/server/service/http_commands.h"
#include "lockstep/server/service/room_name.h"

#include <stdlib.h>
#include <string.h>

extern const char ls_http_openapi_text[]; /* openapi.json */

typedef struct call {
    const ls_service_view *view;
    const ls_http_request *request;
    ls_http_exchange *exchange;
    char room[LS_ROOM_NAME_BYTES_MAX]; /* of the path */
    uint32_t slot;
} call;

/* ---- who may ask ---- */

/* Takes as long whatever the token is. */
static bool is_token(const char *given, const char *token)
{
    size_t size = strlen(token);
    size_t given_size = strlen(given);
    unsigned difference = size != given_size;
    for (size_t i = 0; i < given_size; i++) {
        difference |= (unsigned char)given[i] ^ (unsigned char)token[i % size];
    }
    return difference == 0;
}

static bool may_ask(const ls_http_api *api, const ls_http_request *request,
                    ls_http_exchange *exchange)
{
    static const char scheme[] = "Bearer ";
    const char *given = request->authorization;
    if (!api->token || !api->token[0]) {
        ls_http_answer_error(exchange, 403,
                             "the service was started without a token for its API: give it a file "
                             "with one");
        return false;
    }
    if (!given || strncmp(given, scheme, sizeof scheme - 1) != 0 ||
        !is_token(given + sizeof scheme - 1, api->token)) {
        exchange->reply.asks_for_token = true;
        ls_http_answer_error(exchange, 401, "the token is missing or another one");
        return false;
    }
    return true;
}

/* ---- what is read ---- */

static uint32_t players_here(const ls_room_report *room)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < LS_MIN(room->player_count, LS_PLAYERS_MAX); i++) {
        count += room->players[i].is_here;
    }
    return count;
}

static double mean_of(const ls_room_histogram *histogram)
{
    return histogram->count > 0 ? histogram->sum_ms / (double)histogram->count : 0;
}

static void add_invite(const ls_service_view *view, const ls_room_report *room, ls_json *json)
{
    char invite[1024] = "";
    view->invite(view->user, room, invite, sizeof invite);
    ls_json_text(json, "invite", invite);
}

/* A room in the list of all: what a table shows. */
static void write_line(const ls_service_view *view, const ls_room_report *room, ls_json *json)
{
    uint64_t desyncs = 0;
    for (uint32_t i = 0; i < LS_DESYNC_CLASS_COUNT; i++) {
        desyncs += room->counters.desyncs[i];
    }
    ls_room_report_write_line(room, json);
    ls_json_number(json, "players", players_here(room));
    ls_json_number(json, "desyncs", (double)desyncs);
    ls_json_number(json, "lateness_mean_ms", mean_of(&room->counters.lateness));
    ls_json_number(json, "confirm_mean_ms", mean_of(&room->counters.confirm));
    add_invite(view, room, json);
}

static void get_rooms(const call *of)
{
    const ls_service_view *view = of->view;
    ls_json *json = ls_json_create();
    ls_json *rooms = ls_json_array(json, "rooms");
    for (uint32_t i = 0; i < view->room_count(view->user); i++) {
        write_line(view, view->room(view->user, i), ls_json_append(rooms));
    }
    ls_http_answer_json_take(of->exchange, 200, json);
}

static void get_room(const call *of)
{
    const ls_service_view *view = of->view;
    uint32_t low = 0;
    uint32_t high = view->room_count(view->user);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const ls_room_report *room = view->room(view->user, middle);
        int order = strcmp(of->room, room->name);
        if (order == 0) {
            ls_json *json = ls_json_create();
            ls_room_report_write(room, json);
            add_invite(view, room, json);
            ls_http_answer_json_take(of->exchange, 200, json);
            return;
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    ls_http_answer_error(of->exchange, 404, "there is no room '%s'", of->room);
}

#define OF_WORKER(member) LS_JSON_FIELD(ls_worker_report, member)

static const ls_json_field worker_fields[] = {
    OF_WORKER(worker),
    OF_WORKER(pid),
    OF_WORKER(rooms),
    OF_WORKER(players),
    OF_WORKER(starts),
    OF_WORKER(load),
    OF_WORKER(cpu_ms),
    OF_WORKER(memory_bytes),
    OF_WORKER(datagrams_dropped),
    OF_WORKER(clients_denied),
    OF_WORKER(tokens_refused),
};

static void get_workers(const call *of)
{
    const ls_service_view *view = of->view;
    ls_json *json = ls_json_create();
    ls_json *workers = ls_json_array(json, "workers");
    for (uint32_t i = 0; i < view->worker_count(view->user); i++) {
        ls_json *worker = ls_json_append(workers);
        LS_JSON_ADD(worker, worker_fields, view->worker(view->user, i));
    }
    ls_http_answer_json_take(of->exchange, 200, json);
}

static void get_service(const call *of)
{
    const ls_service_view *view = of->view;
    ls_text why = {{0}};
    bool is_ready = view->is_ready(view->user, &why);
    double players = 0;
    double spectators = 0;
    for (uint32_t i = 0; i < view->room_count(view->user); i++) {
        players += players_here(view->room(view->user, i));
        spectators += view->room(view->user, i)->spectators;
    }
    ls_json *json = ls_json_create();
    ls_json_text(json, "version", LS_VERSION);
    ls_json_bool(json, "ready", is_ready);
    ls_json_text(json, "why_not", is_ready ? NULL : why.bytes);
    ls_json_bool(json, "draining", view->is_draining(view->user));
    ls_json_number(json, "rooms", view->room_count(view->user));
    ls_json_number(json, "workers", view->worker_count(view->user));
    ls_json_number(json, "players", players);
    ls_json_number(json, "spectators", spectators);
    ls_json_number(json, "rooms_opened", (double)view->rooms_opened(view->user));
    ls_json_number(json, "rooms_ended", (double)view->rooms_ended(view->user));
    ls_http_answer_json_take(of->exchange, 200, json);
}

/* From behind the last one that the client has; otherwise all that are kept. A number that has not
 * come yet is of an earlier run of the service, whose numbers began at 1 as well. */
static void get_events(const call *of)
{
    const char *last = of->request->last_event_id;
    char *end = NULL;
    uint64_t number = last ? strtoull(last, &end, 10) : 0;
    bool is_number = last && end != last && *end == '\0' && number < UINT64_MAX &&
                     of->view->event(of->view->user, number) != NULL;
    of->exchange->reply.status = 200;
    of->exchange->reply.type = "text/event-stream";
    of->exchange->reply.is_event_stream = true;
    of->exchange->reply.first_event = is_number ? number + 1 : 1;
    ls_http_answer_done(of->exchange);
}

/* ---- paths ---- */

typedef struct row {
    const char *method;
    const char *path;               /* "*": a room's name; "#": a slot */
    void (*answer)(const call *of); /* NULL: a command */
    ls_service_command_kind command;
} row;

static const row rows[] = {
    {"GET", "service", get_service, 0},
    {"GET", "rooms", get_rooms, 0},
    {"POST", "rooms", NULL, LS_SERVICE_OPEN_ROOM},
    {"GET", "rooms/*", get_room, 0},
    {"GET", "rooms/*/picture", NULL, LS_SERVICE_DRAW_ROOM},
    {"DELETE", "rooms/*", NULL, LS_SERVICE_END_ROOM},
    {"POST", "rooms/*/pause", NULL, LS_SERVICE_PAUSE_ROOM},
    {"POST", "rooms/*/unpause", NULL, LS_SERVICE_UNPAUSE_ROOM},
    {"POST", "rooms/*/save", NULL, LS_SERVICE_SAVE_ROOM},
    {"POST", "rooms/*/message", NULL, LS_SERVICE_MESSAGE},
    {"POST", "rooms/*/players/#/kick", NULL, LS_SERVICE_KICK},
    {"POST", "rooms/*/players/#/ban", NULL, LS_SERVICE_BAN},
    {"GET", "workers", get_workers, 0},
    {"POST", "message", NULL, LS_SERVICE_MESSAGE},
    {"POST", "drain", NULL, LS_SERVICE_DRAIN},
    {"GET", "events", get_events, 0},
};

static bool is_slot(const char *text, size_t size, uint32_t *out)
{
    uint32_t slot = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || slot >= LS_PLAYERS_MAX) {
            return false;
        }
        slot = slot * 10 + (uint32_t)(text[i] - '0');
    }
    *out = slot;
    return size > 0 && slot < LS_PLAYERS_MAX;
}

static bool is_room(const char *text, size_t size, char out[LS_ROOM_NAME_BYTES_MAX])
{
    if (size >= LS_ROOM_NAME_BYTES_MAX) {
        return false;
    }
    memcpy(out, text, size);
    out[size] = '\0';
    return ls_room_name_is_valid(out);
}

/* Whether the path is of the row's form; fills in what stands in it. */
static bool fits(const char *form, const char *path, call *of)
{
    for (;;) {
        size_t form_size = strcspn(form, "/");
        size_t size = strcspn(path, "/");
        bool is_right = form[0] == '*'   ? is_room(path, size, of->room)
                        : form[0] == '#' ? is_slot(path, size, &of->slot)
                                         : size == form_size && memcmp(form, path, size) == 0;
        if (!is_right || (form[form_size] == '\0') != (path[size] == '\0')) {
            return false;
        }
        if (path[size] == '\0') {
            return true;
        }
        form += form_size + 1;
        path += size + 1;
    }
}

static bool is_method(const row *of, const char *method)
{
    return strcmp(of->method, method) == 0 ||
           (strcmp(of->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

static void answer_row(const row *of, const call *made)
{
    if (of->answer) {
        of->answer(made);
        return;
    }
    const ls_http_command command = {
        .kind = of->command,
        .room = made->room[0] ? made->room : NULL,
        .slot = made->slot,
    };
    ls_http_commands_run(made->view, &command, made->request, made->exchange);
}

static void add_method(ls_http_reply *reply, const char *method)
{
    size_t size = strlen(reply->allow);
    snprintf(reply->allow + size, sizeof reply->allow - size, "%s%s", size > 0 ? ", " : "", method);
}

static void answer_path(call *made, const char *path)
{
    ls_http_reply *reply = &made->exchange->reply;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        made->room[0] = '\0';
        if (!fits(rows[i].path, path, made)) {
            continue;
        }
        if (is_method(&rows[i], made->request->method)) {
            reply->allow[0] = '\0';
            answer_row(&rows[i], made);
            return;
        }
        add_method(reply, rows[i].method);
    }
    if (reply->allow[0]) {
        ls_http_answer_error(made->exchange, 405, "this path takes %s", reply->allow);
    } else {
        ls_http_answer_error(made->exchange, 404, "there is nothing at this path");
    }
}

void ls_http_api_answer(const ls_http_api *api, const ls_http_request *request,
                        ls_http_exchange *exchange)
{
    const char *path = request->path + strlen(LS_HTTP_API_PREFIX);
    if (strcmp(path, "openapi.json") == 0 && strcmp(request->method, "GET") == 0) {
        ls_http_answer_text(exchange, 200, LS_HTTP_JSON_TYPE, ls_http_openapi_text);
        return;
    }
    if (may_ask(api, request, exchange)) {
        call made = {.view = api->view, .request = request, .exchange = exchange};
        answer_path(&made, path);
    }
}
