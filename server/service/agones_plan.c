#include "lockstep/server/service/agones_plan.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/program/key_file.h"
#include "lockstep/server/service/room_register.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ALLOCATED_ANNOTATION "agones.dev/last-allocated"

enum {
    HEALTH_S = 2,    /* Agones asks for one every 5 s, unless the fleet says otherwise */
    LOOK_S = 10,     /* without a line of the stream */
    REFUSED_S = 10,  /* until a count or list is told again */
    LIST_MAX = 1000, /* values that Agones takes */
};

#define PAUSE_MIN_NS (LS_NS_PER_SECOND / 4)
#define PAUSE_MAX_NS (5 * LS_NS_PER_SECOND)

/* ---- bodies ---- */

/* False: it is too long. */
static bool print(ls_json *json, ls_agones_request *out)
{
    char *line = ls_json_print_line(json);
    size_t size = line ? strlen(line) : sizeof out->body;
    bool fits = size < sizeof out->body;
    if (fits) {
        memcpy(out->body, line, size + 1);
    }
    ls_json_release_line(line);
    ls_json_destroy(json);
    return fits;
}

static void fill_rooms(uint32_t rooms, ls_agones_request *out)
{
    ls_json *json = ls_json_create();
    ls_json_decimal(json, "count", rooms); /* an int64, which is a text in JSON */
    (void)print(json, out);
}

/* ROOM/SLOT/NAME: no two are the same. */
static uint64_t fill_players(const ls_service_view *view, ls_agones_request *out)
{
    ls_json *json = ls_json_create();
    ls_json *values = ls_json_array(json, "values");
    uint32_t count = 0;
    for (uint32_t i = 0; i < ls_room_register_count(view->rooms); i++) {
        const ls_room_report *room = &ls_room_register_at(view->rooms, i)->report;
        for (uint32_t slot = 0; slot < room->player_count && count < LIST_MAX; slot++) {
            char text[LS_ROOM_NAME_BYTES_MAX + LS_PLAYER_NAME_BYTES_MAX + 16];
            if (room->players[slot].is_here) {
                snprintf(text, sizeof text, "%s/%" PRIu32 "/%s", room->name, slot,
                         room->players[slot].name);
                ls_json_append_text(values, text);
                count++;
            }
        }
    }
    if (!print(json, out)) {
        out->body[0] = '\0'; /* very long names: the list is left as it is */
        return 0;
    }
    uint64_t hash = ls_hash_bytes(out->body, strlen(out->body), 0);
    return hash == 0 ? 1 : hash;
}

static void fill_annotation(const ls_agones_plan *plan, ls_agones_request *out)
{
    ls_json *json = ls_json_create();
    ls_json_text(json, "key", "lockstep-invite");
    ls_json_text(json, "value", plan->annotation);
    (void)print(json, out);
}

/* ---- what is due ---- */

/* The annotation has changed, and is to be told. */
static void set_annotation_due(ls_agones_plan *plan)
{
    plan->is_annotation_due = true;
    plan->annotations++;
}

static const ls_room_report *find(const ls_service_view *view, const char *name)
{
    for (uint32_t i = 0; i < ls_room_register_count(view->rooms); i++) {
        const ls_room_report *room = &ls_room_register_at(view->rooms, i)->report;
        if (strcmp(room->name, name) == 0) {
            return room;
        }
    }
    return NULL;
}

/* The room of the allocation is open now, or it is over: then the server may be allocated again. */
static void follow_room(ls_agones_plan *plan, const ls_service_view *view)
{
    if (plan->room[0] == '\0' || plan->is_room_asked) {
        return;
    }
    const ls_room_report *room = find(view, plan->room);
    if (!room) {
        plan->room[0] = '\0';
        plan->annotation[0] = '\0';
        set_annotation_due(plan);
        plan->is_ready_told = false;
    } else if (plan->annotation[0] == '\0') {
        view->invite(view->user, room, plan->annotation, sizeof plan->annotation);
        if (plan->annotation[0] != '\0') {
            set_annotation_due(plan);
        }
    }
}

static bool is_drained(const ls_service_view *view)
{
    return view->is_draining && ls_room_register_count(view->rooms) == 0;
}

static ls_agones_step choose(ls_agones_plan *plan, const ls_service_view *view, uint64_t now_ns,
                             ls_agones_request *out)
{
    if (now_ns < plan->again_ns || plan->is_shutdown_told) {
        return LS_AGONES_NOTHING;
    }
    if (is_drained(view)) {
        return LS_AGONES_SHUTDOWN;
    }
    if (now_ns >= plan->health_ns) {
        return LS_AGONES_HEALTH;
    }
    if (!plan->is_ready_told) {
        return view->is_ready(view->user, NULL) ? LS_AGONES_READY : LS_AGONES_NOTHING;
    }
    if (plan->is_annotation_due) {
        return LS_AGONES_ANNOTATE;
    }
    if (now_ns >= plan->look_ns) {
        return LS_AGONES_LOOK;
    }
    if (!plan->has_no_counter && now_ns >= plan->counter_ns &&
        ls_room_register_count(view->rooms) != plan->rooms_told) {
        return LS_AGONES_ROOMS;
    }
    bool is_list_told = plan->has_no_list || now_ns < plan->list_ns;
    out->players = is_list_told ? plan->players_told : fill_players(view, out);
    return out->players != plan->players_told && out->body[0] != '\0' ? LS_AGONES_PLAYERS
                                                                      : LS_AGONES_NOTHING;
}

void ls_agones_plan_next(ls_agones_plan *plan, const ls_service_view *view, uint64_t now_ns,
                         ls_agones_request *out)
{
    static const struct {
        const char *method, *path;
    } forms[] = {
        [LS_AGONES_NOTHING] = {"", ""},
        [LS_AGONES_READY] = {"POST", "/ready"},
        [LS_AGONES_HEALTH] = {"POST", "/health"},
        [LS_AGONES_LOOK] = {"GET", "/gameserver"},
        [LS_AGONES_ROOMS] = {"PATCH", "/v1beta1/counters/rooms"},
        [LS_AGONES_PLAYERS] = {"PATCH", "/v1beta1/lists/players"},
        [LS_AGONES_ANNOTATE] = {"PUT", "/metadata/annotation"},
        [LS_AGONES_SHUTDOWN] = {"POST", "/shutdown"},
    };
    follow_room(plan, view);
    out->body[0] = '\0';
    out->step = choose(plan, view, now_ns, out);
    out->method = forms[out->step].method;
    out->path = forms[out->step].path;
    switch (out->step) {
    case LS_AGONES_ROOMS:
        out->rooms = ls_room_register_count(view->rooms);
        fill_rooms(out->rooms, out);
        break;
    case LS_AGONES_PLAYERS:
        break;
    case LS_AGONES_ANNOTATE:
        out->annotation = plan->annotations;
        fill_annotation(plan, out);
        break;
    case LS_AGONES_LOOK:
        break;
    default:
        snprintf(out->body, sizeof out->body, "{}");
        break;
    }
}

/* ---- replies ---- */

static ls_status read_opening(const char *annotation, ls_agones_opening *out, ls_text *why)
{
    ls_json *json = ls_json_parse(annotation, strlen(annotation));
    ls_status status = ls_room_settings_read(json, &out->settings, why);
    LS_THEN(status, ls_room_settings_pop_name(&out->settings, out->name, why));
    ls_json_destroy(json);
    out->has_room = status == LS_OK;
    return status;
}

static ls_status read_token_key(const char *digits, ls_agones_opening *out, ls_text *why)
{
    out->has_token_key = digits != NULL;
    if (digits && !ls_key_file_read_hex(digits, out->token_key, sizeof out->token_key)) {
        out->has_room = false;
        return ls_fail(LS_BAD_ARGUMENT, why, "%s is a key of %zu hexadecimal digits",
                       LS_AGONES_KEY_ANNOTATION, 2 * sizeof out->token_key);
    }
    return LS_OK;
}

/* The one that looks sees the same allocation again and again. */
static ls_status read_game_server(ls_agones_plan *plan, const ls_json *server,
                                  ls_agones_opening *opening, ls_text *why)
{
    const ls_json *meta = ls_json_read_object(server, "object_meta");
    const ls_json *status = ls_json_read_object(server, "status");
    const ls_json *annotations = meta ? ls_json_read_object(meta, "annotations") : NULL;
    const char *state = status ? ls_json_read_text(status, "state") : NULL;
    const char *room =
        annotations ? ls_json_read_text(annotations, LS_AGONES_ROOM_ANNOTATION) : NULL;
    bool is_allocated = state && strcmp(state, "Allocated") == 0;
    /* Agones notes when it was: two allocations in a row may ask for the same. */
    const char *when = annotations ? ls_json_read_text(annotations, ALLOCATED_ANNOTATION) : NULL;
    uint64_t asked = room ? ls_hash_bytes(room, strlen(room), 0) : 0;
    asked = when ? ls_hash_bytes(when, strlen(when), asked) : asked;
    bool is_new = is_allocated && (!plan->is_allocated || asked != plan->asked);
    plan->is_allocated = is_allocated;
    if (!is_new || !room || plan->room[0] != '\0' || plan->is_room_asked) {
        return LS_OK;
    }
    plan->asked = asked;
    ls_status read = read_opening(room, opening, why);
    if (read == LS_OK) {
        read =
            read_token_key(ls_json_read_text(annotations, LS_AGONES_KEY_ANNOTATION), opening, why);
    }
    plan->is_room_asked = read == LS_OK;
    if (read != LS_OK) {
        snprintf(plan->annotation, sizeof plan->annotation, "error: %s", why->bytes);
        set_annotation_due(plan);
    }
    return read;
}

void ls_agones_plan_opened(ls_agones_plan *plan, const ls_service_result *result)
{
    plan->is_room_asked = false;
    plan->annotation[0] = '\0';
    if (result->status == LS_OK) {
        ls_name_copy(plan->room, sizeof plan->room, result->text.bytes);
    } else {
        snprintf(plan->annotation, sizeof plan->annotation, "error: %s", result->text.bytes);
        set_annotation_due(plan);
    }
}

static void back_off(ls_agones_plan *plan, uint64_t now_ns)
{
    plan->failures++;
    plan->pause_ns = plan->pause_ns == 0 ? PAUSE_MIN_NS : LS_MIN(2 * plan->pause_ns, PAUSE_MAX_NS);
    plan->again_ns = now_ns + plan->pause_ns;
}

/* A fleet may have neither counter nor list, which the sidecar says with status 404, or with 500
 * and these words; and it refuses more than their capacity. Nothing else waits for that. */
static void receive_reply(ls_agones_plan *plan, const ls_agones_request *request,
                          unsigned http_status, const char *body, uint64_t now_ns)
{
    bool is_told = http_status == 200;
    bool is_unknown =
        http_status == 404 ||
        (!is_told && body && (strstr(body, "not found") || strstr(body, "not enabled")));
    uint64_t again_ns = is_told ? 0 : now_ns + REFUSED_S * LS_NS_PER_SECOND;
    if (request->step == LS_AGONES_ROOMS) {
        plan->rooms_told = is_told ? request->rooms : plan->rooms_told;
        plan->has_no_counter = is_unknown;
        plan->counter_ns = again_ns;
    } else {
        plan->players_told = is_told ? request->players : plan->players_told;
        plan->has_no_list = is_unknown;
        plan->list_ns = again_ns;
    }
}

/* The game server, or a member that is it. */
static ls_status read_text(ls_agones_plan *plan, const char *text, size_t size, const char *member,
                           ls_agones_opening *opening, ls_text *why)
{
    ls_json *json = ls_json_parse(text, size);
    const ls_json *server = json && member ? ls_json_read_object(json, member) : json;
    ls_status status = server ? read_game_server(plan, server, opening, why) : LS_OK;
    ls_json_destroy(json);
    return status;
}

ls_status ls_agones_plan_watch(ls_agones_plan *plan, const char *line, size_t size, uint64_t now_ns,
                               ls_agones_opening *opening, ls_text *why)
{
    *opening = (ls_agones_opening){.has_room = false};
    plan->look_ns = now_ns + LOOK_S * LS_NS_PER_SECOND;
    return read_text(plan, line, size, "result", opening, why);
}

ls_status ls_agones_plan_reply(ls_agones_plan *plan, const ls_agones_request *request,
                               unsigned http_status, const char *body, size_t size, uint64_t now_ns,
                               ls_agones_opening *opening, ls_text *why)
{
    bool is_counted = request->step == LS_AGONES_ROOMS || request->step == LS_AGONES_PLAYERS;
    *opening = (ls_agones_opening){.has_room = false};
    if (http_status != 200 && !(is_counted && http_status >= 400)) {
        back_off(plan, now_ns);
        return LS_OK;
    }
    plan->failures = 0;
    plan->pause_ns = 0;
    ls_status status = LS_OK;
    switch (request->step) {
    case LS_AGONES_READY:
        plan->is_ready_told = true;
        break;
    case LS_AGONES_HEALTH:
        plan->health_ns = now_ns + HEALTH_S * LS_NS_PER_SECOND;
        break;
    case LS_AGONES_LOOK:
        status = read_text(plan, body ? body : "", size, NULL, opening, why);
        plan->look_ns = now_ns + LOOK_S * LS_NS_PER_SECOND;
        break;
    case LS_AGONES_ROOMS:
    case LS_AGONES_PLAYERS:
        receive_reply(plan, request, http_status, body, now_ns);
        break;
    case LS_AGONES_ANNOTATE:
        plan->is_annotation_due = request->annotation != plan->annotations;
        break;
    case LS_AGONES_SHUTDOWN:
        plan->is_shutdown_told = true;
        break;
    case LS_AGONES_NOTHING:
        break;
    }
    return status;
}
