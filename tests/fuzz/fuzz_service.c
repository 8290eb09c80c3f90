/* Fuzzes what operators, pages, workers and a sidecar give a service. */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/json.h"
#include "lockstep/server/control/agones_plan.h"
#include "lockstep/server/control/http_guard.h"
#include "lockstep/server/control/http_routes.h"
#include "lockstep/server/control/operators.h"
#include "lockstep/server/service/ban_list.h"
#include "lockstep/server/service/room_register.h"
#include "lockstep/server/service/room_settings.h"
#include "lockstep/server/service/service_config.h"
#include "lockstep/server/service/worker_message.h"

#include "lockstep/tests/fuzz/fuzz_input.h"
#include "lockstep/tests/support/fake_service.h"

#include <stdio.h>
#include <string.h>

/* ==== ban_list ==== */

/* Fuzzes bans: what operators ban, and who comes, any texts, a line each, whose first byte says
 * what it is. A ban that was taken keeps those out whom it names, until it ends or is lifted. */

enum {
    LINE_BYTES_MAX = 256,
    NOW_S = 1000,
    UNTIL_S = 2000,
};

static ls_ban_list bans;

static void ask(const char *name)
{
    const ls_ban_subject who = {
        .origin = (uint64_t)name[0], .name = name, .has_account = name[0] == '7', .account = 7};
    const ls_ban *found = ls_ban_list_find(&bans, &who, NOW_S);
    LS_ASSERT(!found || (found->number != 0 && found->kind < LS_BAN_KIND_COUNT));
    LS_ASSERT(!ls_ban_list_find(&bans, &who, UNTIL_S));
}

/* By what it says of itself it names the one who says the same. */
static void ban(uint32_t kind, const char *what)
{
    ls_ban made = {.until_unix_s = UNTIL_S};
    ls_text why = {{0}};
    if (ls_ban_set(&made, kind, what, &why) != LS_OK) {
        LS_ASSERT(why.bytes[0] != '\0');
        return;
    }
    LS_ASSERT(made.kind == kind && memchr(made.what, '\0', sizeof made.what));
    ls_ban again = {.until_unix_s = UNTIL_S};
    LS_ASSERT(ls_ban_set(&again, kind, made.what, NULL) == LS_OK);
    LS_ASSERT(strcmp(again.what, made.what) == 0);
    const ls_ban *kept = ls_ban_list_add(&bans, &made);
    LS_ASSERT(kept && kept->number != 0 && strcmp(kept->what, made.what) == 0);
    if (kind == LS_BAN_NAME) {
        const ls_ban_subject who = {.name = made.what};
        LS_ASSERT(ls_ban_list_find(&bans, &who, NOW_S));
    } else if (kind == LS_BAN_ADDRESS) {
        const ls_ban_subject who = {.origin = again.origin, .name = ""};
        LS_ASSERT(made.origin != 0 && ls_ban_list_find(&bans, &who, NOW_S));
    }
    uint64_t number = kept->number;
    LS_ASSERT(ls_ban_list_lift(&bans, number) && !ls_ban_list_lift(&bans, number));
    (void)ls_ban_list_add(&bans, &made);
}

FUZZ_TARGET(ban_list)
{
    fuzz_input input = {bytes, size};
    memset(&bans, 0, sizeof bans);
    while (input.size > 0) {
        uint32_t what = fuzz_take_u8(&input) % (LS_BAN_KIND_COUNT + 2);
        char line[LINE_BYTES_MAX];
        fuzz_take_text(&input, '\n', line, sizeof line);
        if (what <= LS_BAN_KIND_COUNT) { /* one kind that there is not */
            ban(what, line);
        } else {
            ask(line);
        }
    }
    return 0;
}

/* ==== http_host ==== */

/* Fuzzes values of the Host header, "NAMES\nHOST" of any bytes: a host is known with any port and
 * in capitals, or not at all, and only an address, localhost or one of the names is. */

enum {
    FIELD_BYTES_MAX = 512,
};

static bool is_known(const char *host, const char *behind, const char *names)
{
    char text[FIELD_BYTES_MAX + 32];
    snprintf(text, sizeof text, "%s%s", host, behind);
    return ls_http_host_is_known(text, names);
}

static void raise_letters(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (char)(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
    }
}

FUZZ_TARGET(http_host)
{
    fuzz_input input = {bytes, size};
    char names[FIELD_BYTES_MAX];
    char host[FIELD_BYTES_MAX];
    fuzz_take_text(&input, '\n', names, sizeof names);
    fuzz_take_text(&input, '\n', host, sizeof host);
    bool known = ls_http_host_is_known(host, names);
    if (!strchr(host, ':') && known) {
        LS_ASSERT(is_known(host, ":9300", names));
        LS_ASSERT(!is_known(host, ".attacker.example", ""));
    }
    LS_ASSERT(!known || strchr(names, '/') || !is_known(host, "/", names));
    raise_letters(host);
    LS_ASSERT(ls_http_host_is_known(host, names) == known);
    LS_ASSERT(ls_http_host_is_known("localhost", names) && ls_http_host_is_known("[::1]:1", names));
    return 0;
}

/* ==== operators ==== */

/* Fuzzes the file of operators of a service: any text. Each operator in it has a name and a token
 * of its own, and is found by it alone. */

enum {
    TEXT_BYTES_MAX = 1 << 15,
};

static void check_row(const ls_operators *operators, uint32_t index)
{
    const ls_operator *row = &operators->rows[index];
    LS_ASSERT(row->role <= LS_OPERATOR_ADMIN && ls_operator_role_word(row->role));
    LS_ASSERT(memchr(row->name, '\0', sizeof row->name) && row->name[0] != '\0');
    LS_ASSERT(memchr(row->token, '\0', sizeof row->token));
    LS_ASSERT(strlen(row->token) >= LS_OPERATOR_TOKEN_BYTES_MIN);
    LS_ASSERT(ls_operators_find(operators, row->token) == row);
    for (uint32_t i = 0; i < index; i++) {
        LS_ASSERT(strcmp(operators->rows[i].name, row->name) != 0);
    }
}

FUZZ_TARGET(operators)
{
    static char text[TEXT_BYTES_MAX];
    static ls_operators operators;
    ls_text why = {{0}};
    if (size >= sizeof text) {
        return 0;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    memset(&operators, 0, sizeof operators);
    ls_status status = ls_operators_parse(&operators, text, "operators", &why);
    LS_ASSERT(status == LS_OK || why.bytes[0] != '\0');
    LS_ASSERT(operators.count <= LS_OPERATORS_MAX);
    for (uint32_t i = 0; i < operators.count; i++) {
        check_row(&operators, i);
    }
    LS_ASSERT(!ls_operators_find(&operators, ""));
    LS_ASSERT(size > 0 || operators.count == 0);
    return 0;
}

/* ==== service_config ==== */

/* Fuzzes the reading of the configuration of a service: any text. An accepted file is in its
 * ranges, a refused one is refused with a sentence. */

enum {
    CONFIG_BYTES_MAX = 1 << 16,
};

static void check_settings(const ls_room_settings *settings)
{
    LS_ASSERT(settings->count <= LS_ROOM_SETTINGS_MAX);
    for (uint32_t i = 0; i < settings->count; i++) {
        const ls_room_setting *row = &settings->rows[i];
        LS_ASSERT(memchr(row->flag, '\0', sizeof row->flag) && row->flag[0] != '\0');
        LS_ASSERT(memchr(row->value, '\0', sizeof row->value));
    }
}

static void check_config(const ls_service_config *config)
{
    LS_ASSERT(config->workers <= LS_SERVICE_WORKERS_MAX);
    LS_ASSERT(config->rooms_max >= 1 && config->rooms_max <= LS_SERVICE_ROOMS_MAX);
    LS_ASSERT(config->http_port <= UINT16_MAX && config->group_count <= LS_SERVICE_GROUPS_MAX);
    LS_ASSERT(memchr(config->journal_dir, '\0', sizeof config->journal_dir));
    check_settings(&config->server);
    check_settings(&config->match);
    for (uint32_t i = 0; i < config->group_count; i++) {
        LS_ASSERT(ls_room_name_is_valid(config->groups[i].name));
        check_settings(&config->groups[i].settings);
        for (uint32_t k = 0; k < i; k++) {
            LS_ASSERT(strcmp(config->groups[i].name, config->groups[k].name) != 0);
        }
    }
}

FUZZ_TARGET(service_config)
{
    static char text[CONFIG_BYTES_MAX];
    static ls_service_config config;
    static ls_service_faults faults;
    if (size >= sizeof text) {
        return 0;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    memset(&faults, 0, sizeof faults);
    ls_service_config_parse(text, size, &config, &faults);
    if (faults.count == 0) {
        check_config(&config);
    }
    for (uint32_t i = 0; i < LS_MIN(faults.count, LS_SERVICE_FAULTS_MAX); i++) {
        LS_ASSERT(faults.rows[i].text.bytes[0] != '\0');
    }
    return 0;
}

/* ==== http_api ==== */

/* Fuzzes requests to the HTTP interface of a service, behind the library that reads HTTP.
 *
 *   "METHOD PATH\nTOKEN\nLAST-EVENT-ID\nBODY"; an empty line is a header that is not there
 */

#define TOKEN "secret"

enum {
    API_FIELD_BYTES_MAX = 512
};

typedef struct fields {
    char method[API_FIELD_BYTES_MAX], path[API_FIELD_BYTES_MAX], token[API_FIELD_BYTES_MAX],
        last_event_id[API_FIELD_BYTES_MAX];
} fields;

static void check_reply(const ls_http_exchange *exchange)
{
    const ls_http_reply *reply = &exchange->reply;
    LS_ASSERT(reply->status >= 200 && reply->status < 600 && reply->type);
    LS_ASSERT(!reply->text.is_cut);
    LS_ASSERT((reply->status == 405) == (reply->allow[0] != '\0'));
    LS_ASSERT((reply->status == 201) == (reply->location[0] != '\0'));
    if (strcmp(reply->type, LS_HTTP_JSON_TYPE) == 0) {
        ls_json *json = ls_json_parse(reply->text.bytes, reply->text.size);
        LS_ASSERT(ls_json_is_object(json));
        LS_ASSERT(reply->status < 300 || ls_json_read_text(json, "error"));
        ls_json_destroy(json);
    }
}

static void check_command(const fake_service *fake, bool has_token)
{
    if (fake_service_command_count(fake) == 0) {
        return;
    }
    const ls_service_command *command = fake_service_last_command(fake);
    LS_ASSERT(has_token);
    LS_ASSERT(command->room[0] == '\0' || ls_room_name_is_valid(command->room));
    LS_ASSERT(command->slot < LS_PLAYERS_MAX && command->settings.count <= LS_ROOM_SETTINGS_MAX);
    for (const char *at = command->text.bytes; *at; at++) {
        LS_ASSERT((unsigned char)*at >= ' ' && *at != 0x7f);
    }
}

static void api_ask(fake_service *fake, const ls_http_request *request)
{
    static const ls_operators operators = {1, {{"token", LS_OPERATOR_ADMIN, TOKEN}}};
    static ls_audit_log audit;
    ls_http_api api = {.view = fake_service_view(fake), .operators = &operators, .audit = &audit};
    ls_http_exchange *exchange = ls_http_exchange_create();
    LS_ASSERT(exchange);
    ls_http_routes_answer(&api, request, exchange);
    fake_service_answer(fake);
    LS_ASSERT(exchange->is_answered && exchange->holders == 1);
    check_reply(exchange);
    ls_http_exchange_release(exchange);
    ls_http_text_deinit(&api.metrics);
}

FUZZ_TARGET(http_api)
{
    fuzz_input input = {bytes, size};
    fields read;
    fuzz_take_text(&input, ' ', read.method, sizeof read.method);
    fuzz_take_text(&input, '\n', read.path, sizeof read.path);
    fuzz_take_text(&input, '\n', read.token, sizeof read.token);
    fuzz_take_text(&input, '\n', read.last_event_id, sizeof read.last_event_id);
    const ls_http_request request = {
        .method = read.method,
        .path = read.path,
        .authorization = read.token[0] ? read.token : NULL,
        .last_event_id = read.last_event_id[0] ? read.last_event_id : NULL,
        .body = (const char *)input.bytes,
        .body_bytes = LS_MIN(input.size, LS_HTTP_BODY_BYTES_MAX),
    };
    fake_service *fake = fake_service_create();
    api_ask(fake, &request);
    check_command(fake, strcmp(read.token, "Bearer " TOKEN) == 0);
    fake_service_destroy(fake);
    return 0;
}

/* ==== worker_message ==== */

/* Fuzzes the lines that a supervisor and its workers say to each other: any text. A message that
 * was read is written again, and reads as it was written. */

/* Another line of the same message. */
static char *write_again(const char *line)
{
    static ls_worker_message message;
    LS_ASSERT(ls_worker_message_read(line, strlen(line), &message) == LS_OK);
    char *again = ls_worker_message_write(&message);
    ls_worker_message_deinit(&message);
    LS_ASSERT(again && !strchr(again, '\n'));
    return again;
}

FUZZ_TARGET(worker_message)
{
    static ls_worker_message message;
    if (ls_worker_message_read((const char *)bytes, size, &message) != LS_OK) {
        return 0;
    }
    LS_ASSERT(message.command.settings.count <= LS_ROOM_SETTINGS_MAX);
    LS_ASSERT(message.report.player_count <= LS_PLAYERS_MAX);
    char *line = ls_worker_message_write(&message);
    LS_ASSERT(line);
    ls_worker_message_deinit(&message);
    /* Bytes that are no text are replaced in the first line: two flags may have become one. */
    char *second = write_again(line);
    char *third = write_again(second);
    LS_ASSERT(strcmp(second, third) == 0);
    ls_json_release_line(third);
    ls_json_release_line(second);
    ls_json_release_line(line);
    return 0;
}

/* ==== agones ==== */

/* Fuzzes what the sidecar of Agones says: replies, lines of its stream, in any order, with any
 * content, while rooms are opened, fail and end. Each request has the form of its step; a room that
 * is to be opened has a row of its own and a name that rooms may have; what is refused is refused
 * with a reason, and annotated.
 *
 *   u8 kind     of each event; see act()
 */

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

FUZZ_TARGET(agones)
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
