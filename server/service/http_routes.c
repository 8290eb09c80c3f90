#include "lockstep/server/service/http_routes.h"

#include "lockstep/common/base/limits.h"
#include "lockstep/server/service/http_commands.h"
#include "lockstep/server/service/http_metrics.h"
#include "lockstep/server/service/room_name.h"

#include <string.h>

#define API "/api/v1/"

/* dashboard.html, and what it loads; openapi.json */
extern const char ls_http_dashboard_page[], ls_http_dashboard_script[], ls_http_dashboard_style[];
extern const char ls_http_openapi_text[];

/* Nothing but our own files, and no script or style within the page. */
static const char dashboard_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* ---- pages ---- */

static void answer_healthz(ls_http_call *of)
{
    ls_http_answer_text(of->exchange, 200, LS_HTTP_PLAIN_TYPE, "ok\n");
}

static void answer_readyz(ls_http_call *of)
{
    ls_text why = {{0}};
    if (of->view->is_ready(of->view->user, &why)) {
        ls_http_answer_text(of->exchange, 200, LS_HTTP_PLAIN_TYPE, "ready\n");
    } else {
        ls_text_add(&why, "%s\n", why.bytes[0] ? "" : "not ready");
        ls_http_answer_text(of->exchange, 503, LS_HTTP_PLAIN_TYPE, why.bytes);
    }
}

static void answer_metrics(ls_http_call *of)
{
    of->exchange->reply.status = 200;
    of->exchange->reply.type = LS_HTTP_METRICS_TYPE;
    ls_http_metrics_write(of->view, &of->exchange->reply.text);
    ls_http_answer_done(of->exchange);
}

static void answer_dashboard(ls_http_call *of)
{
    of->exchange->reply.policy = dashboard_policy;
    ls_http_answer_text(of->exchange, 200, "text/html; charset=utf-8", ls_http_dashboard_page);
}

static void answer_script(ls_http_call *of)
{
    ls_http_answer_text(of->exchange, 200, "text/javascript; charset=utf-8",
                        ls_http_dashboard_script);
}

static void answer_style(ls_http_call *of)
{
    ls_http_answer_text(of->exchange, 200, "text/css; charset=utf-8", ls_http_dashboard_style);
}

static void answer_openapi(ls_http_call *of)
{
    ls_http_answer_text(of->exchange, 200, LS_HTTP_JSON_TYPE, ls_http_openapi_text);
}

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

/* ---- paths ---- */

typedef struct route {
    const char *method; /* with HEAD where it is GET */
    const char *path;   /* "*": a room's name; "#": a slot */
    /* One of these three; else a command. */
    void (*page)(ls_http_call *of); /* for everybody */
    void (*read)(const ls_http_call *of);
    ls_service_command_kind command;
} route;

#define PAGE(path, answer)                                                                         \
    {                                                                                              \
        "GET", path, answer, NULL, 0                                                               \
    }
#define READ(path, answer)                                                                         \
    {                                                                                              \
        "GET", API path, NULL, answer, 0                                                           \
    }
#define COMMAND(method, path, kind)                                                                \
    {                                                                                              \
        method, API path, NULL, NULL, LS_SERVICE_##kind                                            \
    }

static const route routes[] = {
    PAGE("/", answer_dashboard),
    PAGE("/dashboard.js", answer_script),
    PAGE("/dashboard.css", answer_style),
    PAGE("/healthz", answer_healthz),
    PAGE("/readyz", answer_readyz),
    PAGE("/metrics", answer_metrics),
    READ("service", ls_http_get_service),
    READ("rooms", ls_http_get_rooms),
    COMMAND("POST", "rooms", OPEN_ROOM),
    READ("rooms/*", ls_http_get_room),
    COMMAND("GET", "rooms/*/picture", DRAW_ROOM),
    COMMAND("DELETE", "rooms/*", END_ROOM),
    COMMAND("POST", "rooms/*/pause", PAUSE_ROOM),
    COMMAND("POST", "rooms/*/unpause", UNPAUSE_ROOM),
    COMMAND("POST", "rooms/*/save", SAVE_ROOM),
    COMMAND("POST", "rooms/*/message", MESSAGE),
    COMMAND("POST", "rooms/*/players/#/kick", KICK),
    COMMAND("POST", "rooms/*/players/#/ban", BAN),
    READ("workers", ls_http_get_workers),
    COMMAND("POST", "message", MESSAGE),
    COMMAND("POST", "drain", DRAIN),
    READ("events", ls_http_get_events),
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
static bool fits(const char *form, const char *path, ls_http_call *of)
{
    for (;;) {
        size_t form_size = strcspn(form, "/");
        size_t size = strcspn(path, "/");
        bool is_right = form[0] == '*'   ? is_room(path, size, of->command.room)
                        : form[0] == '#' ? is_slot(path, size, &of->command.slot)
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

static void answer_route(const route *found, ls_http_call *of)
{
    of->exchange->reply.allow[0] = '\0';
    of->command.kind = found->command;
    if (found->page) {
        found->page(of);
    } else if (found->read) {
        found->read(of);
    } else {
        ls_http_command_answer(of);
    }
}

static void add_method(ls_http_reply *reply, const route *other)
{
    size_t size = strlen(reply->allow);
    snprintf(reply->allow + size, sizeof reply->allow - size, "%s%s%s", size > 0 ? ", " : "",
             other->method, other->page ? ", HEAD" : "");
}

void ls_http_routes_answer(const ls_http_api *api, const ls_http_request *request,
                           ls_http_exchange *exchange)
{
    ls_http_call made = {.view = api->view, .request = request, .exchange = exchange};
    bool is_api = strncmp(request->path, API, sizeof API - 1) == 0;
    if (strcmp(request->path, API "openapi.json") == 0 && strcmp(request->method, "GET") == 0) {
        answer_openapi(&made);
        return;
    }
    if (is_api && !may_ask(api, request, exchange)) {
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
