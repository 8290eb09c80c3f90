#include "lockstep/server/service/http_commands.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/program/json_read.h"

#include <string.h>
#include <strings.h>

enum {
    BAN_SECONDS_MAX = 10 * 365 * 86400
};

/* Of a picture that is opened as a page: it has no scripts, and its bitmaps are within it. */
static const char picture_policy[] = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/* A command that the service works on. */
typedef struct pending {
    ls_http_exchange *exchange;
    ls_service_command_kind kind;
    bool has_journal; /* a room is opened to go on from one */
} pending;

/* ---- results ---- */

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
    } else {
        ls_json_text(json, "result", result->text.bytes[0] ? result->text.bytes : "done");
    }
    ls_http_answer_json_take(exchange, status, json);
}

static void on_done(void *user, const ls_service_result *result)
{
    pending *done = user;
    if (!done->exchange->is_answered) {
        answer_result(done, result);
    }
    ls_http_exchange_release(done->exchange);
    ls_release(ls_allocator_heap(), done);
}

/* ---- bodies ---- */

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
    return status == LS_OK ? ls_room_settings_take_name(&out->settings, out->room, why) : status;
}

static ls_status read_ban(const ls_json *body, ls_service_command *out, ls_text *why)
{
    if (!ls_json_read_u32(body, "seconds", &out->seconds) || out->seconds == 0 ||
        out->seconds > BAN_SECONDS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the body has 'seconds', from 1 to %u",
                       (unsigned)BAN_SECONDS_MAX);
    }
    return read_text(body, "why", false, &out->text, why);
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
    case LS_SERVICE_MESSAGE:
        return read_text(body, "text", true, &out->text, why);
    default:
        return LS_OK;
    }
}

static ls_status parse_body(const ls_http_request *request, ls_service_command *out, ls_text *why)
{
    ls_json *body = NULL;
    if (request->body_bytes > 0) {
        body = ls_json_parse(request->body, request->body_bytes);
        if (!ls_json_is_object(body)) {
            ls_json_destroy(body);
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "the body is no JSON object, or a text in it has a NUL");
        }
    }
    ls_status status = read_body(body, out, why);
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

void ls_http_command_answer(ls_http_call *of)
{
    const ls_http_request *request = of->request;
    ls_text why = {{0}};
    if (request->body_bytes > 0 && !is_json_type(request->content_type)) {
        ls_http_answer_error(of->exchange, 415, "the type of a body is " LS_HTTP_JSON_TYPE);
        return;
    }
    if (parse_body(request, &of->command, &why) != LS_OK) {
        ls_http_answer_error(of->exchange, 400, "%s", why.bytes);
        return;
    }
    pending *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        ls_http_answer_error(of->exchange, 500, "%s", ls_status_text(LS_NO_MEMORY));
        return;
    }
    ls_http_exchange_hold(of->exchange);
    made->exchange = of->exchange;
    made->kind = of->command.kind;
    made->has_journal = ls_room_settings_find(&of->command.settings, "resume") != NULL;
    of->view->command(of->view->user, &of->command, on_done, made);
}
