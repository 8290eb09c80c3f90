#include "lockstep/server/control/http_routes.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/server/control/http_guard.h"
#include "lockstep/server/service/ban_list.h"
#include "lockstep/server/service/room_register.h"
#include "lockstep/server/service/room_settings.h"
#include "lockstep/server/service/service_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define API "/api/v1/"
#define METRICS_AHEAD_NS UINT64_C(2000000000)
#define METRICS_AGE_NS UINT64_C(2000000000)

/* dashboard.html, and what it loads; openapi.json */
extern const char ls_http_dashboard_page[], ls_http_dashboard_script[], ls_http_dashboard_style[];
extern const char ls_http_openapi_text[];

/* Nothing but our own files, and no script or style within the page. */
static const char dashboard_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* A request whose path is known. */
typedef struct http_call {
    ls_http_api *api;
    const ls_service_view *view;
    const ls_http_request *request;
    ls_http_exchange *exchange;
    const ls_operator *asker;   /* of the API */
    ls_service_command command; /* its kind, room and slot are those of the path */
} http_call;

/* ---- pages ---- */

static void answer_healthz(http_call *of)
{
    ls_http_answer_text(of->exchange, 200, LS_HTTP_PLAIN_TYPE, "ok\n");
}

static void answer_readyz(http_call *of)
{
    ls_text why = {{0}};
    if (of->view->is_ready(of->view->user, &why)) {
        ls_http_answer_text(of->exchange, 200, LS_HTTP_PLAIN_TYPE, "ready\n");
    } else {
        ls_text_add(&why, "%s\n", why.bytes[0] ? "" : "not ready");
        ls_http_answer_text(of->exchange, 503, LS_HTTP_PLAIN_TYPE, why.bytes);
    }
}

/* Writing the metrics of many rooms takes long, and everybody may ask for them: a tenth of the time
 * goes into it, and METRICS_AHEAD_NS before that. A client that asks more often gets what was
 * written last, which is not older than METRICS_AGE_NS, though the machine may have been halted. */
static void write_metrics(ls_http_api *api)
{
    ls_clock clock = ls_clock_system();
    uint64_t began_ns = ls_clock_now_ns(&clock);
    if (api->metrics.size > 0 && api->metrics_free_ns > began_ns + METRICS_AHEAD_NS) {
        return;
    }
    ls_http_text_deinit(&api->metrics);
    ls_http_metrics_write(api->view, &api->metrics);
    uint64_t took_ns = ls_clock_now_ns(&clock) - began_ns;
    api->metrics_free_ns = LS_MAX(api->metrics_free_ns, began_ns) + 10 * took_ns;
    api->metrics_free_ns =
        LS_MIN(api->metrics_free_ns, began_ns + METRICS_AHEAD_NS + METRICS_AGE_NS);
}

static void answer_metrics(http_call *of)
{
    ls_http_reply *reply = &of->exchange->reply;
    write_metrics(of->api);
    reply->status = 200;
    reply->type = LS_HTTP_METRICS_TYPE;
    ls_http_text_add_bytes(&reply->text, of->api->metrics.bytes, of->api->metrics.size);
    reply->text.is_cut |= of->api->metrics.is_cut;
    ls_http_answer_done(of->exchange);
}

/* ---- what the API tells ---- */

/* openapi.json describes these answers, and a test compares. */

static uint32_t players_here(const ls_room_report *room)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < room->player_count; i++) {
        count += room->players[i].is_here;
    }
    return count;
}

static double mean_of(const ls_room_histogram *histogram)
{
    return histogram->count > 0 ? histogram->sum_ms / (double)histogram->count : 0;
}

/* For those who may do more than see: it may have the secret that lets players in. */
static void add_invite(const http_call *of, const ls_room_report *room, ls_json *json)
{
    char invite[1024] = "";
    char link[1024] = "";
    if (of->asker->role > LS_OPERATOR_VIEW) {
        of->view->invite(of->view->user, room, invite, sizeof invite);
        of->view->link(of->view->user, invite, link, sizeof link);
    }
    ls_json_text(json, "invite", invite);
    ls_json_text(json, "link", link);
}

/* A room in the list of all: what a table shows. */
static void write_line(const http_call *of, const ls_room_report *room, ls_json *json)
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
    add_invite(of, room, json);
}

static void answer_rooms(const http_call *of)
{
    const ls_service_view *view = of->view;
    ls_json *json = ls_json_create();
    ls_json *rooms = ls_json_array(json, "rooms");
    for (uint32_t i = 0; i < ls_room_register_count(view->rooms); i++) {
        write_line(of, &ls_room_register_at(view->rooms, i)->report, ls_json_append(rooms));
    }
    ls_http_answer_json_take(of->exchange, 200, json);
}

static void answer_room(const http_call *of)
{
    const ls_service_view *view = of->view;
    const ls_registered_room *room = ls_room_register_find(view->rooms, of->command.room);
    if (!room) {
        ls_http_answer_error(of->exchange, 404, "there is no room '%s'", of->command.room);
        return;
    }
    ls_json *json = ls_json_create();
    ls_room_report_write(&room->report, json);
    add_invite(of, &room->report, json);
    ls_http_answer_json_take(of->exchange, 200, json);
}

static void answer_bans(const http_call *of)
{
    ls_json *json = ls_json_create();
    ls_ban_list_write(of->view->bans, ls_clock_unix_ms() / 1000, ls_json_array(json, "bans"));
    ls_http_answer_json_take(of->exchange, 200, json);
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

static void answer_workers(const http_call *of)
{
    const ls_service_view *view = of->view;
    ls_json *json = ls_json_create();
    ls_json *workers = ls_json_array(json, "workers");
    for (uint32_t i = 0; i < view->worker_count; i++) {
        ls_json *worker = ls_json_append(workers);
        LS_JSON_ADD(worker, worker_fields, view->worker(view->user, i));
    }
    ls_http_answer_json_take(of->exchange, 200, json);
}

static void answer_service(const http_call *of)
{
    const ls_service_view *view = of->view;
    ls_text why = {{0}};
    bool is_ready = view->is_ready(view->user, &why);
    double players = 0;
    double spectators = 0;
    for (uint32_t i = 0; i < ls_room_register_count(view->rooms); i++) {
        players += players_here(&ls_room_register_at(view->rooms, i)->report);
        spectators += ls_room_register_at(view->rooms, i)->report.spectators;
    }
    ls_json *json = ls_json_create();
    ls_json_text(json, "version", LS_VERSION);
    ls_json_bool(json, "ready", is_ready);
    ls_json_text(json, "why_not", is_ready ? NULL : why.bytes);
    ls_json_bool(json, "draining", view->is_draining);
    ls_json_number(json, "rooms", ls_room_register_count(view->rooms));
    ls_json_number(json, "workers", view->worker_count);
    ls_json_number(json, "players", players);
    ls_json_number(json, "spectators", spectators);
    ls_json_number(json, "rooms_opened", (double)ls_room_register_opened(view->rooms));
    ls_json_number(json, "rooms_ended", (double)ls_room_register_ended(view->rooms));
    ls_http_answer_json_take(of->exchange, 200, json);
}

/* From behind the last one that the client has; otherwise all that are kept. A number that has not
 * come yet is of an earlier run of the service, whose numbers began at 1 as well. */
static void answer_events(const http_call *of)
{
    const char *last = of->request->last_event_id;
    char *end = NULL;
    uint64_t number = last ? strtoull(last, &end, 10) : 0;
    bool is_number = last && end != last && *end == '\0' && number < UINT64_MAX &&
                     ls_event_ring_at(of->view->events, number) != NULL;
    of->exchange->reply.status = 200;
    of->exchange->reply.type = "text/event-stream";
    of->exchange->reply.is_event_stream = true;
    of->exchange->reply.first_event = is_number ? number + 1 : 1;
    ls_http_answer_done(of->exchange);
}

/* ---- events ---- */

enum {
    EVENTS_BYTES = 16384 /* that are written at a time */
};

static const ls_json_field event_fields[] = {
    LS_JSON_FIELD(ls_service_event, number), LS_JSON_FIELD(ls_service_event, unix_ms),
    LS_JSON_FIELD(ls_service_event, kind),   LS_JSON_FIELD(ls_service_event, room),
    LS_JSON_FIELD(ls_service_event, text),
};

static void write_event(const ls_service_event *event, ls_http_text *text)
{
    ls_json *json = ls_json_create();
    LS_JSON_ADD(json, event_fields, event);
    ls_json_known(json, "slot", event->slot >= 0, event->slot);
    char *line = ls_json_print_line(json);
    ls_json_destroy(json);
    if (line) {
        ls_http_text_add(text, "id: %" PRIu64 "\ndata: %s\n\n", event->number, line);
    }
    ls_release(ls_allocator_heap(), line);
}

void ls_http_routes_add_events(const ls_service_view *view, uint64_t *next, ls_http_text *text)
{
    while (text->size < EVENTS_BYTES) {
        const ls_service_event *event = ls_event_ring_at(view->events, *next);
        if (!event) {
            return;
        }
        write_event(event, text);
        *next = event->number + 1;
    }
}

/* ---- results of commands ---- */

enum {
    BAN_SECONDS_MAX = 10 * 365 * 86400
};

/* Of a picture that is opened as a page: it has no scripts, and its bitmaps are within it. */
static const char picture_policy[] = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/* ---- what operators have asked ---- */

static ls_audit_entry audit_entry_of(const http_call *of)
{
    const ls_http_request *request = of->request;
    ls_audit_entry entry = {.number = 0};
    snprintf(entry.name, sizeof entry.name, "%s", of->asker->name);
    snprintf(entry.role, sizeof entry.role, "%s", ls_operator_role_word(of->asker->role));
    snprintf(entry.what, sizeof entry.what, "%s %s", request->method,
             request->path + sizeof API - 1);
    snprintf(entry.body, sizeof entry.body, "%.*s", (int)request->body_bytes,
             request->body ? request->body : "");
    return entry;
}

/* Also what was not done is something that an operator has tried. */
static void refuse_command(const http_call *of, unsigned status, const char *sentence)
{
    ls_audit_entry entry = audit_entry_of(of);
    entry.status = status;
    ls_text_set(&entry.result, "%s", sentence);
    ls_audit_log_add(of->api->audit, &entry);
    ls_http_answer_error(of->exchange, status, "%s", sentence);
}

static void answer_audit(const http_call *of)
{
    ls_json *json = ls_json_create();
    ls_audit_log_write(of->api->audit, json);
    ls_http_answer_json_take(of->exchange, 200, json);
}

/* A command that the service works on. */
typedef struct pending {
    ls_audit_log *audit;
    ls_audit_entry entry;
    ls_http_exchange *exchange;
    ls_service_command_kind kind;
    bool has_journal; /* a room is opened to go on from one */
} pending;

static unsigned http_status_of(ls_status status)
{
    switch (status) {
    case LS_OK:
        return 200;
    case LS_NOT_FOUND:
        return 404;
    case LS_BAD_ARGUMENT:
    case LS_MALFORMED:
    case LS_UNSUPPORTED:
    case LS_PLUGIN:
    case LS_SCHEMA:
        return 400;
    case LS_ALREADY_STARTED:
    case LS_ALREADY_OVER:
    case LS_REFUSED:
        return 409;
    case LS_FULL:
    case LS_MATCH_FULL:
    case LS_DISCONNECTED:
        return 503;
    case LS_TIMED_OUT:
        return 504;
    default:
        return 500;
    }
}

/* A room that is opened is not there yet: what is not found, or cannot be read, is what its
 * settings name. */
static unsigned http_status_of_result(const pending *done, const ls_service_result *result)
{
    bool is_named =
        done->kind == LS_SERVICE_OPEN_ROOM &&
        (result->status == LS_NOT_FOUND ||
         (done->has_journal && (result->status == LS_IO || result->status == LS_DESYNCED)));
    return is_named ? 400 : http_status_of(result->status);
}

static void answer_result(const pending *done, const ls_service_result *result)
{
    ls_http_exchange *exchange = done->exchange;
    ls_service_command_kind kind = done->kind;
    unsigned status = http_status_of_result(done, result);
    if (status != 200) {
        ls_http_answer_error(exchange, status, "%s",
                             result->text.bytes[0] ? result->text.bytes
                                                   : ls_status_text(result->status));
        return;
    }
    if (kind == LS_SERVICE_DRAW_ROOM) {
        exchange->reply.policy = picture_policy;
        ls_http_answer_text(exchange, 200, "image/svg+xml", result->body ? result->body : "");
        return;
    }
    ls_json *json = ls_json_create();
    if (kind == LS_SERVICE_OPEN_ROOM) {
        snprintf(exchange->reply.location, sizeof exchange->reply.location, "/api/v1/rooms/%.*s",
                 (int)LS_ROOM_NAME_BYTES_MAX - 1, result->text.bytes);
        ls_json_text(json, "name", result->text.bytes);
        status = 201;
    } else if (kind == LS_SERVICE_ADD_BAN) {
        ls_json_number(json, "number", strtod(result->text.bytes, NULL));
        status = 201;
    } else {
        ls_json_text(json, "result", result->text.bytes[0] ? result->text.bytes : "done");
        if (kind == LS_SERVICE_SAVE_ROOM && result->body) {
            ls_json_text(json, "lacks", result->body);
        }
    }
    ls_http_answer_json_take(exchange, status, json);
}

static void on_done(void *user, const ls_service_result *result)
{
    pending *done = user;
    bool is_made = done->kind == LS_SERVICE_OPEN_ROOM && result->status == LS_OK;
    done->entry.status = is_made ? 201 : http_status_of_result(done, result);
    ls_text_set(&done->entry.result, "%s",
                result->text.bytes[0] ? result->text.bytes : ls_status_text(result->status));
    if (done->kind != LS_SERVICE_DRAW_ROOM) { /* it is looked at, as what is read is */
        ls_audit_log_add(done->audit, &done->entry);
    }
    if (!done->exchange->is_answered) {
        answer_result(done, result);
    }
    ls_http_exchange_release(done->exchange);
    ls_release(ls_allocator_heap(), done);
}

/* ---- bodies of commands ---- */

/* A text of the body; it may be missing where it is not needed. */
static ls_status read_text(const ls_json *body, const char *key, bool is_needed, ls_text *out,
                           ls_text *why)
{
    const char *text = ls_json_read_text(body, key);
    if (!text && (is_needed || ls_json_has(body, key))) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       is_needed ? "the body has a text '%s'" : "'%s' is a text", key);
    }
    text = text ? text : "";
    if (strlen(text) >= sizeof out->bytes) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' has at most %zu bytes", key,
                       sizeof out->bytes - 1);
    }
    ls_text_set(out, "%s", text);
    ls_text_make_printable(out->bytes, strlen(out->bytes));
    return LS_OK;
}

static ls_status read_opening(const ls_json *body, ls_service_command *out, ls_text *why)
{
    if (!body) {
        return LS_OK;
    }
    ls_status status = ls_room_settings_read(body, &out->settings, why);
    return status == LS_OK ? ls_room_settings_pop_name(&out->settings, out->room, why) : status;
}

static ls_status read_seconds(const ls_json *body, ls_service_command *out, ls_text *why)
{
    if (!ls_json_read_u32(body, "seconds", &out->seconds) || out->seconds == 0 ||
        out->seconds > BAN_SECONDS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the body has 'seconds', from 1 to %u",
                       (unsigned)BAN_SECONDS_MAX);
    }
    return LS_OK;
}

/* Of a player: its address, unless the body says otherwise. */
static ls_status read_ban(const ls_json *body, ls_service_command *out, ls_text *why)
{
    const char *by = ls_json_read_text(body, "by");
    ls_status status = read_seconds(body, out, why);
    if (status == LS_OK && ls_json_has(body, "by") &&
        (!by || !ls_ban_kind_read(by, &out->ban.kind))) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'by' is address, account or name");
    }
    return status == LS_OK ? read_text(body, "why", false, &out->text, why) : status;
}

/* Of somebody who need not be here. */
static ls_status read_new_ban(const ls_json *body, ls_service_command *out, ls_text *why)
{
    ls_text text = {{0}};
    const char *kind = ls_json_read_text(body, "kind");
    if (!kind || !ls_ban_kind_read(kind, &out->ban.kind)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the body has 'kind': address, account or name");
    }
    ls_status status = read_seconds(body, out, why);
    LS_THEN(status, read_text(body, "what", true, &text, why));
    LS_THEN(status, ls_ban_set(&out->ban, out->ban.kind, text.bytes, why));
    LS_THEN(status, read_text(body, "why", false, &out->text, why));
    ls_name_copy(out->ban.why, sizeof out->ban.why, out->text.bytes);
    return status;
}

static ls_status read_body(const ls_json *body, ls_service_command *out, ls_text *why)
{
    switch (out->kind) {
    case LS_SERVICE_OPEN_ROOM:
        return read_opening(body, out, why);
    case LS_SERVICE_PAUSE_ROOM:
    case LS_SERVICE_UNPAUSE_ROOM:
    case LS_SERVICE_SAVE_ROOM:
    case LS_SERVICE_KICK:
        return read_text(body, "why", false, &out->text, why);
    case LS_SERVICE_BAN:
        return read_ban(body, out, why);
    case LS_SERVICE_ADD_BAN:
        return read_new_ban(body, out, why);
    case LS_SERVICE_MESSAGE:
        return read_text(body, "text", true, &out->text, why);
    default:
        return LS_OK;
    }
}

/* The keys of a command's body, with blanks between; NULL: a room's settings, which are looked at
 * elsewhere. */
static const char *keys_of(ls_service_command_kind kind)
{
    switch (kind) {
    case LS_SERVICE_OPEN_ROOM:
        return NULL;
    case LS_SERVICE_PAUSE_ROOM:
    case LS_SERVICE_UNPAUSE_ROOM:
    case LS_SERVICE_SAVE_ROOM:
    case LS_SERVICE_KICK:
        return " why ";
    case LS_SERVICE_BAN:
        return " seconds by why ";
    case LS_SERVICE_ADD_BAN:
        return " kind what seconds why ";
    case LS_SERVICE_MESSAGE:
        return " text ";
    default:
        return " ";
    }
}

/* Another key is a slip of the pen, or one that another reader takes for one of these. */
static ls_status check_keys(const ls_json *body, ls_service_command_kind kind, ls_text *why)
{
    const char *keys = keys_of(kind);
    for (const ls_json *member = ls_json_first(body); keys && member;
         member = ls_json_next(member)) {
        const char *key = ls_json_key(member);
        const char *found = key[0] && !strchr(key, ' ') ? strstr(keys, key) : NULL;
        while (found && (found[-1] != ' ' || found[strlen(key)] != ' ')) {
            found = strstr(found + 1, key);
        }
        if (!found) {
            return ls_fail(LS_BAD_ARGUMENT, why, "the body has no '%.32s' here", key);
        }
    }
    return LS_OK;
}

static ls_status parse_body(const ls_http_request *request, ls_service_command *out, ls_text *why)
{
    ls_json *body = NULL;
    if (request->body_bytes > 0) {
        size_t size = request->body_bytes;
        bool is_utf8 = ls_text_utf8_bytes(request->body, size) == size;
        body = is_utf8 ? ls_json_parse(request->body, size) : NULL;
        if (!ls_json_is_object(body)) {
            ls_json_destroy(body);
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "the body is no JSON object, a key stands twice in it, or a text has a "
                           "NUL");
        }
    }
    ls_status status = body ? check_keys(body, out->kind, why) : LS_OK;
    LS_THEN(status, read_body(body, out, why));
    ls_json_destroy(body);
    return status;
}

/* Without a type a body is taken for JSON. */
static bool is_json_type(const char *type)
{
    static const char json[] = LS_HTTP_JSON_TYPE;
    size_t size = sizeof json - 1;
    return !type || (strncasecmp(type, json, size) == 0 && strchr("; \t", type[size]));
}

/* ---- commands ---- */

static void answer_command(http_call *of)
{
    const ls_http_request *request = of->request;
    ls_text why = {{0}};
    if (request->body_bytes > 0 && !is_json_type(request->content_type)) {
        refuse_command(of, 415, "the type of a body is " LS_HTTP_JSON_TYPE);
        return;
    }
    if (parse_body(request, &of->command, &why) != LS_OK) {
        refuse_command(of, 400, why.bytes);
        return;
    }
    pending *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        ls_http_answer_error(of->exchange, 500, "%s", ls_status_text(LS_NO_MEMORY));
        return;
    }
    ls_http_exchange_hold(of->exchange);
    made->audit = of->api->audit;
    made->entry = audit_entry_of(of);
    made->exchange = of->exchange;
    made->kind = of->command.kind;
    made->has_journal = ls_room_settings_find(&of->command.settings, "resume") != NULL;
    of->view->command(of->view->user, &of->command, on_done, made);
}

/* ---- who may ask ---- */

static const ls_operator *operator_of(const ls_http_api *api, const char *given)
{
    static const char scheme[] = "Bearer ";
    bool is_scheme = api->operators && given && strncmp(given, scheme, sizeof scheme - 1) == 0;
    return is_scheme ? ls_operators_find(api->operators, given + sizeof scheme - 1) : NULL;
}

bool ls_http_routes_may_follow(const ls_http_api *api, const char *authorization)
{
    return operator_of(api, authorization) != NULL;
}

/* NULL: the request is of no operator, and the answer says so. */
static const ls_operator *find_asker(const ls_http_api *api, const ls_http_request *request,
                                     ls_http_exchange *exchange)
{
    if (!api->operators || api->operators->count == 0) {
        ls_http_answer_error(exchange, 403,
                             "the service was started without a token for its API: give it a file "
                             "with one");
        return NULL;
    }
    const ls_operator *asker = operator_of(api, request->authorization);
    if (!asker) {
        exchange->reply.asks_for_token = true;
        exchange->reply.is_token_wrong = request->authorization != NULL;
        ls_http_answer_error(exchange, 401, "the token is missing or another one");
    }
    return asker;
}

static ls_operator_role role_for(ls_service_command_kind kind)
{
    switch (kind) {
    case LS_SERVICE_DRAW_ROOM:
        return LS_OPERATOR_VIEW;
    case LS_SERVICE_PAUSE_ROOM:
    case LS_SERVICE_UNPAUSE_ROOM:
    case LS_SERVICE_KICK:
    case LS_SERVICE_BAN:
    case LS_SERVICE_ADD_BAN:
    case LS_SERVICE_LIFT_BAN:
    case LS_SERVICE_MESSAGE:
        return LS_OPERATOR_MODERATE;
    default:
        return LS_OPERATOR_ADMIN;
    }
}

/* ---- paths ---- */

typedef struct route {
    const char *method; /* with HEAD where it is GET */
    const char *path;   /* "*": a room's name; "#": a slot; "@": a ban's number */
    /* One of these four; else a command. */
    const char *file;            /* its text, and its type; for everybody */
    void (*page)(http_call *of); /* for everybody */
    void (*read)(const http_call *of);
    ls_service_command_kind command;
    const char *type;
} route;

#define FILE_AT(path, kind, text)                                                                  \
    {                                                                                              \
        "GET", path, text, NULL, NULL, 0, "text/" kind "; charset=utf-8"                           \
    }
#define PAGE(path, answer)                                                                         \
    {                                                                                              \
        "GET", path, NULL, answer, NULL, 0, NULL                                                   \
    }
#define READ(path, answer)                                                                         \
    {                                                                                              \
        "GET", API path, NULL, NULL, answer, 0, NULL                                               \
    }
#define COMMAND(method, path, kind)                                                                \
    {                                                                                              \
        method, API path, NULL, NULL, NULL, LS_SERVICE_##kind, NULL                                \
    }

static const route routes[] = {
    FILE_AT("/", "html", ls_http_dashboard_page),
    FILE_AT("/dashboard.js", "javascript", ls_http_dashboard_script),
    FILE_AT("/dashboard.css", "css", ls_http_dashboard_style),
    PAGE("/healthz", answer_healthz),
    PAGE("/readyz", answer_readyz),
    PAGE("/metrics", answer_metrics),
    READ("service", answer_service),
    READ("rooms", answer_rooms),
    COMMAND("POST", "rooms", OPEN_ROOM),
    READ("rooms/*", answer_room),
    COMMAND("GET", "rooms/*/picture", DRAW_ROOM),
    COMMAND("DELETE", "rooms/*", END_ROOM),
    COMMAND("POST", "rooms/*/pause", PAUSE_ROOM),
    COMMAND("POST", "rooms/*/unpause", UNPAUSE_ROOM),
    COMMAND("POST", "rooms/*/save", SAVE_ROOM),
    COMMAND("POST", "rooms/*/message", MESSAGE),
    COMMAND("POST", "rooms/*/players/#/kick", KICK),
    COMMAND("POST", "rooms/*/players/#/ban", BAN),
    READ("bans", answer_bans),
    COMMAND("POST", "bans", ADD_BAN),
    COMMAND("DELETE", "bans/@", LIFT_BAN),
    READ("workers", answer_workers),
    COMMAND("POST", "message", MESSAGE),
    COMMAND("POST", "drain", DRAIN),
    READ("events", answer_events),
    READ("audit", answer_audit),
};

static bool is_number(const char *text, size_t size, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || *out > UINT64_MAX / 10 - 1) {
            return false;
        }
        *out = *out * 10 + (uint64_t)(text[i] - '0');
    }
    return size > 0;
}

static bool is_slot(const char *text, size_t size, uint32_t *out)
{
    uint64_t number = 0;
    bool is_slot = is_number(text, size, &number) && number < LS_PLAYERS_MAX;
    *out = (uint32_t)number;
    return is_slot;
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
static bool fits(const char *form, const char *path, http_call *of)
{
    for (;;) {
        size_t form_size = strcspn(form, "/");
        size_t size = strcspn(path, "/");
        bool is_right = form[0] == '*'   ? is_room(path, size, of->command.room)
                        : form[0] == '#' ? is_slot(path, size, &of->command.slot)
                        : form[0] == '@' ? is_number(path, size, &of->command.ban.number)
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

static bool is_method(const route *of, const char *method)
{
    return strcmp(of->method, method) == 0 ||
           (strcmp(of->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

static bool is_allowed(const route *found, const http_call *of)
{
    ls_operator_role needed = found->read == answer_audit ? LS_OPERATOR_ADMIN
                              : found->read               ? LS_OPERATOR_VIEW
                                                          : role_for(found->command);
    if (of->asker->role >= needed) {
        return true;
    }
    ls_text why;
    ls_text_set(&why, "the role %s may not do this; %s may", ls_operator_role_word(of->asker->role),
                ls_operator_role_word(needed));
    refuse_command(of, 403, why.bytes);
    return false;
}

static void answer_route(const route *found, http_call *of)
{
    of->exchange->reply.allow[0] = '\0';
    of->command.kind = found->command;
    if (found->file) {
        of->exchange->reply.policy = dashboard_policy;
        ls_http_answer_text(of->exchange, 200, found->type, found->file);
    } else if (found->page) {
        found->page(of);
    } else if (!is_allowed(found, of)) {
        return;
    } else if (found->read) {
        found->read(of);
    } else {
        answer_command(of);
    }
}

static void add_method(ls_http_reply *reply, const route *other)
{
    size_t size = strlen(reply->allow);
    snprintf(reply->allow + size, sizeof reply->allow - size, "%s%s%s", size > 0 ? ", " : "",
             other->method, other->page || other->file ? ", HEAD" : "");
}

/* Probes and scrapers send what they like; nothing of it is secret. */
bool ls_http_routes_is_cheap(const char *path)
{
    return strcmp(path, "/healthz") == 0 || strcmp(path, "/readyz") == 0;
}

void ls_http_routes_answer(ls_http_api *api, const ls_http_request *request,
                           ls_http_exchange *exchange)
{
    http_call made = {.api = api, .view = api->view, .request = request, .exchange = exchange};
    bool is_api = strncmp(request->path, API, sizeof API - 1) == 0;
    if (request->host && !ls_http_host_is_known(request->host, api->hosts) &&
        !ls_http_routes_is_cheap(request->path) && strcmp(request->path, "/metrics") != 0) {
        ls_http_answer_error(exchange, 421,
                             "no address, localhost or name in http.hosts is in the Host header");
        return;
    }
    if (strcmp(request->path, API "openapi.json") == 0 && strcmp(request->method, "GET") == 0) {
        ls_http_answer_text(exchange, 200, LS_HTTP_JSON_TYPE, ls_http_openapi_text);
        return;
    }
    made.asker = is_api ? find_asker(api, request, exchange) : NULL;
    if (is_api && !made.asker) {
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        made.command.room[0] = '\0';
        if (fits(routes[i].path, request->path, &made)) {
            if (is_method(&routes[i], request->method)) {
                answer_route(&routes[i], &made);
                return;
            }
            add_method(&exchange->reply, &routes[i]);
        }
    }
    if (exchange->reply.allow[0] != '\0') {
        ls_http_answer_error(exchange, 405, "%s takes %s alone", request->path,
                             exchange->reply.allow);
    } else {
        ls_http_answer_error(exchange, 404, "there is nothing at this path");
    }
}
