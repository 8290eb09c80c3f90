#include "lockstep/server/control/agones_plan.h"

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
    /* Annotations cannot be removed over the SDK, and Kubernetes takes 256 KiB of them: with so
     * many names of rooms a server is shut down instead of being Ready once more. */
    NAMES_MAX = 1000,
};

#define NEWEST LS_AGONES_ROOMS_MAX /* the number of its annotation, behind those of rooms */

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

/* With the prefix "agones.dev/sdk-" a key of the longest name has the 63 characters that Kubernetes
 * takes, and any name ends in a letter. */
static void fill_annotation(const ls_agones_plan *plan, ls_agones_request *out)
{
    bool is_newest = out->annotation == NEWEST;
    const ls_agones_room *room = is_newest ? NULL : &plan->rooms[out->annotation];
    char key[LS_ROOM_NAME_BYTES_MAX + 16] = "lockstep-invite";
    if (room) {
        snprintf(key, sizeof key, "room.%s.invite", room->name);
    }
    ls_json *json = ls_json_create();
    ls_json_text(json, "key", key);
    ls_json_text(json, "value", room ? room->annotation.value : plan->newest.value);
    (void)print(json, out);
}

/* ---- annotations ---- */

static ls_agones_annotation *annotation_at(ls_agones_plan *plan, uint32_t index)
{
    return index == NEWEST ? &plan->newest : &plan->rooms[index].annotation;
}

static void change(ls_agones_annotation *annotation, const char *value)
{
    if (strcmp(annotation->value, value) != 0) {
        snprintf(annotation->value, sizeof annotation->value, "%s", value);
        annotation->is_due = true;
        annotation->changes++;
    }
}

/* Of a room, and of the newest allocation if the room is its. */
static void annotate(ls_agones_plan *plan, uint32_t row, const char *value)
{
    if (row != NEWEST && plan->rooms[row].name[0] != '\0') {
        change(&plan->rooms[row].annotation, value);
    }
    if (row == plan->newest_room) {
        change(&plan->newest, value);
    }
}

/* The first that is due: of rooms before that of the newest allocation. */
static bool find_due(ls_agones_plan *plan, uint32_t *index)
{
    for (uint32_t i = 0; i <= NEWEST; i++) {
        if (annotation_at(plan, i)->is_due) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* ---- what is due ---- */

static bool stands(const ls_agones_room *room)
{
    return room->is_asked || room->is_open;
}

static bool has_rooms(const ls_agones_plan *plan)
{
    bool has = false;
    for (uint32_t i = 0; i < LS_AGONES_ROOMS_MAX; i++) {
        has = has || stands(&plan->rooms[i]);
    }
    return has;
}

/* The room of an allocation has its invite now, or it is over. */
static void follow_room(ls_agones_plan *plan, uint32_t row, const ls_service_view *view)
{
    ls_agones_room *room = &plan->rooms[row];
    const ls_registered_room *there = ls_room_register_find(view->rooms, room->name);
    char invite[sizeof room->annotation.value] = "";
    if (there) {
        view->invite(view->user, &there->report, invite, sizeof invite);
    }
    room->is_open = there != NULL;
    if (!there || room->annotation.value[0] == '\0') {
        annotate(plan, row, invite);
    }
}

/* Rooms of the configuration wait for players all the time; others are made for somebody. */
static bool is_idle(const ls_room_report *room)
{
    bool is_idle = room->group[0] != '\0' && room->state == LS_ROOM_WAITING;
    for (uint32_t slot = 0; slot < room->player_count; slot++) {
        is_idle = is_idle && !room->players[slot].is_here;
    }
    return is_idle;
}

static bool plays(const ls_service_view *view)
{
    bool plays = false;
    for (uint32_t i = 0; i < ls_room_register_count(view->rooms); i++) {
        plays = plays || !is_idle(&ls_room_register_at(view->rooms, i)->report);
    }
    return plays;
}

/* An allocation without a room is one whose room somebody opens over the API. */
static bool is_awaited(const ls_agones_plan *plan, uint64_t now_ns)
{
    uint64_t limit_ns = plan->join_timeout_s * LS_NS_PER_SECOND;
    return plan->asked_ns > 0 && (limit_ns == 0 || now_ns - plan->asked_ns < limit_ns);
}

static bool may_be_ready(ls_agones_plan *plan, const ls_service_view *view, uint64_t now_ns)
{
    if (has_rooms(plan) || plays(view)) {
        plan->asked_ns = 0; /* it has come */
        return false;
    }
    return !is_awaited(plan, now_ns) && view->is_ready(view->user, NULL);
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
    if (find_due(plan, &out->annotation)) { /* before it may be allocated for another room */
        return LS_AGONES_ANNOTATE;
    }
    if (!plan->is_ready_told && may_be_ready(plan, view, now_ns)) {
        return plan->names_told >= NAMES_MAX ? LS_AGONES_SHUTDOWN : LS_AGONES_READY;
    }
    if (!plan->has_begun) {
        return LS_AGONES_NOTHING;
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
    for (uint32_t i = 0; i < LS_AGONES_ROOMS_MAX; i++) {
        if (plan->rooms[i].is_open) {
            follow_room(plan, i, view);
        }
    }
    out->body[0] = '\0';
    out->step = choose(plan, view, now_ns, out);
    out->method = forms[out->step].method;
    out->path = forms[out->step].path;
    out->allocations = plan->allocations;
    switch (out->step) {
    case LS_AGONES_ROOMS:
        out->rooms = ls_room_register_count(view->rooms);
        fill_rooms(out->rooms, out);
        break;
    case LS_AGONES_PLAYERS:
        break;
    case LS_AGONES_ANNOTATE:
        out->change = annotation_at(plan, out->annotation)->changes;
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
    return status;
}

/* Tokens of the rooms that stand would be refused from then on. */
static ls_status check_token_key(ls_agones_plan *plan, const char *digits, ls_text *why)
{
    uint64_t hash = ls_hash_bytes(digits, strlen(digits), 0);
    if (has_rooms(plan) && hash != plan->token_key) {
        return ls_fail(LS_REFUSED, why,
                       "a room plays here by another token key: allocate a server that is Ready");
    }
    plan->token_key = hash;
    return LS_OK;
}

static ls_status read_token_key(ls_agones_plan *plan, const char *digits, ls_agones_opening *out,
                                ls_text *why)
{
    out->has_token_key = digits != NULL;
    if (!digits) {
        return LS_OK;
    }
    if (!ls_key_file_read_hex(digits, out->token_key, sizeof out->token_key)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s is a key of %zu hexadecimal digits",
                       LS_AGONES_KEY_ANNOTATION, 2 * sizeof out->token_key);
    }
    return check_token_key(plan, digits, why);
}

/* A row of its own for the room, or that of the last room of its name. */
static ls_status take_row(ls_agones_plan *plan, const char *name, uint32_t *row, ls_text *why)
{
    *row = NEWEST;
    for (uint32_t i = 0; i < LS_AGONES_ROOMS_MAX; i++) {
        const ls_agones_room *room = &plan->rooms[i];
        bool is_same = name[0] != '\0' && strcmp(room->name, name) == 0;
        bool is_free = !stands(room) && !room->annotation.is_due;
        if (is_same && stands(room)) {
            *row = NEWEST;
            return ls_fail(LS_ALREADY_STARTED, why, "there is a room '%s' already", name);
        }
        *row = is_same || (is_free && *row == NEWEST) ? i : *row;
    }
    if (*row == NEWEST) {
        return ls_fail(LS_FULL, why, "%u rooms of allocations stand here", LS_AGONES_ROOMS_MAX);
    }
    ls_agones_room *room = &plan->rooms[*row];
    if (strcmp(room->name, name) == 0) {
        change(&room->annotation, "");
    }
    room->annotation.value[0] = '\0';
    ls_name_copy(room->name, sizeof room->name, name);
    return LS_OK;
}

static void annotate_failure(ls_agones_plan *plan, uint32_t row, const char *sentence)
{
    char value[sizeof plan->newest.value];
    snprintf(value, sizeof value, "error: %s", sentence);
    annotate(plan, row, value);
}

/* A new allocation that asks for a room. */
static ls_status take_allocation(ls_agones_plan *plan, const char *room, const char *key,
                                 ls_agones_opening *opening, ls_text *why)
{
    uint32_t row = NEWEST;
    ls_status status = read_opening(room, opening, why);
    LS_THEN(status, take_row(plan, opening->name, &row, why));
    LS_THEN(status, read_token_key(plan, key, opening, why));
    plan->newest_room = row;
    change(&plan->newest, ""); /* not that of the allocation before */
    opening->row = row;
    opening->has_room = status == LS_OK;
    if (status == LS_OK) {
        plan->rooms[row].is_asked = true;
    } else {
        annotate_failure(plan, row, why->bytes);
    }
    return status;
}

/* Agones notes when an allocation was: two in a row may ask for the same. The same is seen again
 * and again, and what a look sees may be older than what the stream has told. */
static ls_status read_game_server(ls_agones_plan *plan, const ls_json *server, uint64_t now_ns,
                                  ls_agones_opening *opening, ls_text *why)
{
    const ls_json *meta = ls_json_read_object(server, "object_meta");
    const ls_json *status = ls_json_read_object(server, "status");
    const ls_json *annotations = meta ? ls_json_read_object(meta, "annotations") : NULL;
    const char *state = status ? ls_json_read_text(status, "state") : NULL;
    const char *room =
        annotations ? ls_json_read_text(annotations, LS_AGONES_ROOM_ANNOTATION) : NULL;
    bool is_allocated = state && strcmp(state, "Allocated") == 0;
    const char *when = annotations ? ls_json_read_text(annotations, ALLOCATED_ANNOTATION) : NULL;
    uint64_t asked = room ? ls_hash_bytes(room, strlen(room), 0) : 0;
    asked = when ? ls_hash_bytes(when, strlen(when), asked) : asked;
    bool is_new = is_allocated && (asked != plan->asked || (!when && !plan->is_allocated));
    plan->is_allocated = is_allocated;
    if (!is_new) {
        return LS_OK;
    }
    plan->asked = asked;
    plan->allocations++;
    plan->is_ready_told = false;
    plan->asked_ns = room ? 0 : now_ns;
    const char *key = annotations ? ls_json_read_text(annotations, LS_AGONES_KEY_ANNOTATION) : NULL;
    return room ? take_allocation(plan, room, key, opening, why) : LS_OK;
}

void ls_agones_plan_opened(ls_agones_plan *plan, uint32_t row, const ls_service_result *result)
{
    ls_agones_room *room = &plan->rooms[row];
    room->is_asked = false;
    room->is_open = result->status == LS_OK;
    if (room->is_open) {
        ls_name_copy(room->name, sizeof room->name, result->text.bytes);
    } else {
        annotate_failure(plan, row, result->text.bytes);
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

static void note_annotated(ls_agones_plan *plan, const ls_agones_request *request)
{
    ls_agones_annotation *annotation = annotation_at(plan, request->annotation);
    annotation->is_due = request->change != annotation->changes;
    plan->names_told += request->annotation != NEWEST && annotation->value[0] != '\0' ? 1 : 0;
}

/* The game server, or a member that is it. */
static ls_status read_text(ls_agones_plan *plan, const char *text, size_t size, const char *member,
                           uint64_t now_ns, ls_agones_opening *opening, ls_text *why)
{
    ls_json *json = ls_json_parse(text, size);
    const ls_json *server = json && member ? ls_json_read_object(json, member) : json;
    ls_status status = server ? read_game_server(plan, server, now_ns, opening, why) : LS_OK;
    ls_json_destroy(json);
    return status;
}

ls_status ls_agones_plan_watch(ls_agones_plan *plan, const char *line, size_t size, uint64_t now_ns,
                               ls_agones_opening *opening, ls_text *why)
{
    *opening = (ls_agones_opening){.has_room = false};
    plan->look_ns = now_ns + LOOK_S * LS_NS_PER_SECOND;
    return read_text(plan, line, size, "result", now_ns, opening, why);
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
        plan->is_ready_told = request->allocations == plan->allocations; /* or one came meanwhile */
        plan->has_begun = true;
        break;
    case LS_AGONES_HEALTH:
        plan->health_ns = now_ns + HEALTH_S * LS_NS_PER_SECOND;
        break;
    case LS_AGONES_LOOK:
        status = read_text(plan, body ? body : "", size, NULL, now_ns, opening, why);
        plan->look_ns = now_ns + LOOK_S * LS_NS_PER_SECOND;
        break;
    case LS_AGONES_ROOMS:
    case LS_AGONES_PLAYERS:
        receive_reply(plan, request, http_status, body, now_ns);
        break;
    case LS_AGONES_ANNOTATE:
        note_annotated(plan, request);
        break;
    case LS_AGONES_SHUTDOWN:
        plan->is_shutdown_told = true;
        break;
    case LS_AGONES_NOTHING:
        break;
    }
    return status;
}
