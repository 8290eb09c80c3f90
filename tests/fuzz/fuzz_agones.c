/* Fuzzes what the sidecar of Agones says: replies, lines of its stream, in any order, with any
 * content, while rooms are opened, fail and end. Each request has the form of its step; a room that
 * is to be opened has a row of its own and a name that rooms may have; what is refused is refused
 * with a reason, and annotated.
 *
 *   u8 kind     of each event; see act()
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/server/control/agones_plan.h"
#include "lockstep/server/service/room_register.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <stdio.h>
#include <string.h>

enum {
    EVENTS_MAX = 200,
    BODY_BYTES_MAX = 4096,
};

typedef struct run {
    ls_agones_plan plan;
    ls_agones_request request;
    bool is_asking; /* the request waits for its reply */
    bool is_ready;
    bool is_opening[LS_AGONES_ROOMS_MAX];
    char names[LS_AGONES_ROOMS_MAX][LS_ROOM_NAME_BYTES_MAX]; /* of rows that are opened */
    ls_room_register *rooms;
    ls_service_view view;
    uint64_t now_ns;
    uint32_t named;
} run;

static bool is_ready(void *user, ls_text *why_not)
{
    const run *self = user;
    (void)why_not;
    return self->is_ready;
}

static void invite(void *user, const ls_room_report *room, char *out, size_t capacity)
{
    (void)user;
    snprintf(out, capacity, "lockstep://here/%s", room->name);
}

/* ---- what the sidecar says ---- */

/* The next bytes, up to 255, as a text. */
static void take_text(fuzz_input *input, char out[256])
{
    size_t size = 0;
    const uint8_t *bytes = fuzz_take_bytes(input, fuzz_take_u8(input), &size);
    memcpy(out, bytes, size);
    out[size] = '\0';
}

static void add_annotation(ls_json *annotations, const char *key, fuzz_input *input, bool is_there)
{
    char text[256];
    if (is_there) {
        take_text(input, text);
        ls_json_text(annotations, key, text);
    }
}

/* A game server with annotations of any content, or any bytes. */
static size_t make_body(fuzz_input *input, bool is_of_stream, char out[BODY_BYTES_MAX])
{
    static const char *const states[] = {"Allocated", "Ready", "Shutdown", ""};
    uint8_t shape = fuzz_take_u8(input);
    size_t size = 0;
    if (shape & 0x80u) {
        const uint8_t *bytes = fuzz_take_bytes(input, fuzz_take_u8(input), &size);
        memcpy(out, bytes, size);
        out[size] = '\0';
        return size;
    }
    ls_json *json = ls_json_create();
    ls_json *server = is_of_stream ? ls_json_object(json, "result") : json;
    ls_json *annotations = ls_json_object(ls_json_object(server, "object_meta"), "annotations");
    add_annotation(annotations, LS_AGONES_ROOM_ANNOTATION, input, shape & 1u);
    add_annotation(annotations, LS_AGONES_KEY_ANNOTATION, input, shape & 2u);
    add_annotation(annotations, "agones.dev/last-allocated", input, shape & 4u);
    ls_json_text(ls_json_object(server, "status"), "state", states[shape >> 3 & 3u]);
    char *line = ls_json_print_line(json);
    LS_ASSERT(line);
    int bytes = snprintf(out, BODY_BYTES_MAX, "%s", line);
    ls_json_release_line(line);
    ls_json_destroy(json);
    return LS_MIN((size_t)bytes, BODY_BYTES_MAX - 1u);
}

/* ---- what must hold ---- */

static void check_request(const ls_agones_request *request)
{
    static const char *const methods[] = {"",      "POST",  "POST", "GET",
                                          "PATCH", "PATCH", "PUT",  "POST"};
    LS_ASSERT(request->step <= LS_AGONES_SHUTDOWN);
    LS_ASSERT(strcmp(request->method, methods[request->step]) == 0);
    LS_ASSERT(request->step == LS_AGONES_NOTHING || request->path[0] == '/');
    LS_ASSERT(memchr(request->body, '\0', sizeof request->body));
    if (request->body[0] == '\0') {
        return;
    }
    ls_json *json = ls_json_parse(request->body, strlen(request->body));
    LS_ASSERT(json && ls_json_is_object(json));
    if (request->step == LS_AGONES_ANNOTATE) {
        const char *key = ls_json_read_text(json, "key");
        LS_ASSERT(key && strlen(key) <= 63 - strlen("agones.dev/sdk-"));
        LS_ASSERT(ls_json_read_text(json, "value"));
    }
    ls_json_destroy(json);
}

static void check_opening(run *self, ls_status status, const ls_agones_opening *opening,
                          const ls_text *why)
{
    LS_ASSERT(status == LS_OK || why->bytes[0] != '\0');
    LS_ASSERT(status == LS_OK || !opening->has_room);
    LS_ASSERT(status == LS_OK || self->plan.newest.value[0] != '\0');
    if (!opening->has_room) {
        return;
    }
    LS_ASSERT(opening->row < LS_AGONES_ROOMS_MAX && !self->is_opening[opening->row]);
    LS_ASSERT(opening->name[0] == '\0' || ls_room_name_is_valid(opening->name));
    LS_ASSERT(opening->settings.count <= LS_ROOM_SETTINGS_MAX);
    for (uint32_t i = 0; i < opening->settings.count; i++) {
        const ls_room_setting *setting = &opening->settings.rows[i];
        LS_ASSERT(memchr(setting->flag, '\0', sizeof setting->flag));
        LS_ASSERT(memchr(setting->value, '\0', sizeof setting->value));
    }
    self->is_opening[opening->row] = true;
    ls_name_copy(self->names[opening->row], LS_ROOM_NAME_BYTES_MAX, opening->name);
}

/* ---- events ---- */

static void reply(run *self, fuzz_input *input)
{
    static const uint16_t statuses[] = {200, 200, 200, 404, 500, 0, 302, 65535};
    char body[BODY_BYTES_MAX];
    ls_agones_opening opening;
    ls_text why = {{0}};
    unsigned http_status = statuses[fuzz_take_u8(input) % 8u];
    if (!self->is_asking) {
        return;
    }
    self->is_asking = false;
    size_t size = make_body(input, false, body);
    ls_status status = ls_agones_plan_reply(&self->plan, &self->request, http_status, body, size,
                                            self->now_ns, &opening, &why);
    check_opening(self, status, &opening, &why);
}

static void watch(run *self, fuzz_input *input)
{
    char line[BODY_BYTES_MAX];
    ls_agones_opening opening;
    ls_text why = {{0}};
    size_t size = make_body(input, true, line);
    ls_status status = ls_agones_plan_watch(&self->plan, line, size, self->now_ns, &opening, &why);
    check_opening(self, status, &opening, &why);
}

/* The service opens the room of a row, or says why not. */
static void finish_opening(run *self, fuzz_input *input)
{
    uint8_t choice = fuzz_take_u8(input);
    uint32_t row = choice % LS_AGONES_ROOMS_MAX;
    ls_service_result result = {.status = choice & 0x40u ? LS_FULL : LS_OK};
    char *name = self->names[row];
    for (uint32_t i = 0; !self->is_opening[row] && i < LS_AGONES_ROOMS_MAX; i++) {
        row = (row + 1) % LS_AGONES_ROOMS_MAX;
        name = self->names[row];
    }
    if (!self->is_opening[row]) {
        return;
    }
    if (name[0] == '\0') {
        snprintf(name, LS_ROOM_NAME_BYTES_MAX, "room-%u", ++self->named);
    }
    if (result.status == LS_OK && !ls_room_register_find(self->rooms, name)) {
        LS_ASSERT(ls_room_register_add(self->rooms, name));
    }
    ls_text_set(&result.text, "%s", result.status == LS_OK ? name : "there are 256 rooms");
    self->is_opening[row] = false;
    ls_agones_plan_opened(&self->plan, row, &result);
}

static void end_room(run *self, uint8_t index)
{
    char name[LS_ROOM_NAME_BYTES_MAX];
    uint32_t count = ls_room_register_count(self->rooms);
    if (count > 0) {
        ls_name_copy(name, sizeof name,
                     ls_room_register_at(self->rooms, index % count)->report.name);
        ls_room_register_remove(self->rooms, name);
    }
}

static void ask_next(run *self)
{
    if (!self->is_asking) {
        ls_agones_plan_next(&self->plan, &self->view, self->now_ns, &self->request);
        check_request(&self->request);
        self->is_asking = self->request.step != LS_AGONES_NOTHING;
    }
}

static void act(run *self, fuzz_input *input)
{
    uint8_t kind = fuzz_take_u8(input);
    switch (kind % 8u) {
    case 0:
        reply(self, input);
        break;
    case 1:
        watch(self, input);
        break;
    case 2:
        finish_opening(self, input);
        break;
    case 3:
        self->now_ns += fuzz_take_u16(input) * LS_NS_PER_MS;
        break;
    case 4:
        end_room(self, fuzz_take_u8(input));
        break;
    case 5:
        self->is_ready = !self->is_ready;
        break;
    case 6:
        self->view.is_draining = kind >= 0xf0u;
        break;
    default:
        break;
    }
    ask_next(self);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static run self;
    fuzz_input input = {bytes, size};
    memset(&self, 0, sizeof self);
    self.plan.join_timeout_s = fuzz_take_u8(&input);
    self.now_ns = LS_NS_PER_SECOND;
    self.is_ready = true;
    LS_ASSERT(ls_room_register_create(NULL, &self.rooms, NULL) == LS_OK);
    self.view = (ls_service_view){
        .rooms = self.rooms, .user = &self, .is_ready = is_ready, .invite = invite};
    for (uint32_t i = 0; i < EVENTS_MAX && input.size > 0; i++) {
        act(&self, &input);
    }
    ls_room_register_destroy(self.rooms);
    return 0;
}
