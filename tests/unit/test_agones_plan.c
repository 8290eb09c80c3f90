/* The requests of a service to the sidecar of Agones, step by step, without one. */
#include "lockstep/common/base/clock.h"
#include "lockstep/server/control/agones_plan.h"
#include "lockstep/server/service/room_register.h"

#include <criterion/criterion.h>
#include <string.h>

static ls_agones_plan plan;
static ls_agones_request request;
static ls_agones_opening opening;
static uint32_t row;               /* of the room that was to be opened last */
static ls_room_report room, other; /* of the service; "": there is none */
static ls_room_player player;      /* the only one of a room */
static ls_room_register *rooms;
static bool is_ready;
static uint64_t now_ns;

static bool ready(void *user, ls_text *why_not)
{
    (void)user;
    (void)why_not;
    return is_ready;
}

static void invite(void *user, const ls_room_report *of, char *out, size_t capacity)
{
    (void)user;
    snprintf(out, capacity, "lockstep://here/%s", of->name);
}

static ls_service_view view = {.is_ready = ready, .invite = invite};

static void show_rooms(void)
{
    ls_room_register_destroy(rooms);
    rooms = NULL;
    cr_assert_eq(ls_room_register_create(NULL, &rooms, NULL), LS_OK);
    view.rooms = rooms;
    if (room.name[0] != '\0') {
        ls_room_report_copy(&ls_room_register_add(rooms, room.name)->report, &room);
    }
    if (other.name[0] != '\0') {
        ls_room_report_copy(&ls_room_register_add(rooms, other.name)->report, &other);
    }
}

static void begin(void)
{
    memset(&plan, 0, sizeof plan);
    memset(&room, 0, sizeof room);
    memset(&other, 0, sizeof other);
    is_ready = true;
    view.is_draining = false;
    now_ns = LS_NS_PER_SECOND;
}

static void end(void)
{
    ls_room_register_destroy(rooms);
    rooms = NULL;
}

TestSuite(agones_plan, .init = begin, .fini = end);

static ls_agones_step next(void)
{
    show_rooms();
    ls_agones_plan_next(&plan, &view, now_ns, &request);
    return request.step;
}

static ls_status reply(unsigned status, const char *body)
{
    ls_text why = {{0}};
    ls_status told =
        ls_agones_plan_reply(&plan, &request, status, body, strlen(body), now_ns, &opening, &why);
    row = opening.has_room ? opening.row : row;
    return told;
}

static void expect(ls_agones_step step)
{
    cr_assert_eq(next(), step, "%d and not %d", (int)request.step, (int)step);
    cr_assert_eq(reply(200, "{}"), LS_OK);
}

/* Up to where the server is allocated with this annotation. */
static ls_status allocate(const char *annotation)
{
    char body[512];
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_READY);
    cr_assert_eq(next(), LS_AGONES_LOOK);
    snprintf(body, sizeof body,
             "{\"object_meta\":{\"annotations\":{\"lockstep.dev/room\":\"%s\"}},"
             "\"status\":{\"state\":\"Allocated\"}}",
             annotation);
    return reply(200, body);
}

static ls_status watch(const char *line)
{
    ls_text why = {{0}};
    ls_status status = ls_agones_plan_watch(&plan, line, strlen(line), now_ns, &opening, &why);
    row = opening.row;
    return status;
}

/* The room that is to be opened is. */
static void open_as(ls_room_report *report, const char *name)
{
    ls_service_result result = {.status = LS_OK};
    memset(report, 0, sizeof *report);
    snprintf(report->name, sizeof report->name, "%s", name);
    ls_text_set(&result.text, "%s", name);
    ls_agones_plan_opened(&plan, row, &result);
}

static void expect_annotation(const char *key, const char *value)
{
    char body[256];
    snprintf(body, sizeof body, "{\"key\":\"%s\",\"value\":\"%s\"}", key, value);
    expect(LS_AGONES_ANNOTATE);
    cr_assert_str_eq(request.body, body);
}

static void expect_annotation_of(const char *name)
{
    char key[64];
    char invite[64];
    snprintf(key, sizeof key, "room.%s.invite", name);
    snprintf(invite, sizeof invite, "lockstep://here/%s", name);
    expect_annotation(key, invite);
}

/* All that is due, but for Ready. */
static void expect_all_told(void)
{
    while (next() != LS_AGONES_NOTHING && request.step != LS_AGONES_READY) {
        cr_assert_eq(reply(200, "{}"), LS_OK);
    }
}

/* Up to where the room of a first allocation is open, and all about it is told. */
static void begin_with_room(const char *name)
{
    char annotation[64];
    snprintf(annotation, sizeof annotation, "{\\\"name\\\":\\\"%s\\\"}", name);
    cr_assert_eq(allocate(annotation), LS_OK);
    open_as(&room, name);
    expect_all_told();
}

Test(agones_plan, server_is_alive_before_it_is_ready)
{
    is_ready = false;
    expect(LS_AGONES_HEALTH);
    cr_assert_eq(next(), LS_AGONES_NOTHING);
    now_ns += 2 * LS_NS_PER_SECOND;
    expect(LS_AGONES_HEALTH);
    is_ready = true;
    expect(LS_AGONES_READY);
    expect(LS_AGONES_LOOK);
    expect(LS_AGONES_PLAYERS);
    cr_assert_eq(next(), LS_AGONES_NOTHING);
}

Test(agones_plan, sidecar_that_is_away_is_asked_ever_more_seldom)
{
    uint64_t pauses_ms[] = {250, 500, 1000, 2000, 4000, 5000, 5000};
    for (size_t i = 0; i < sizeof pauses_ms / sizeof pauses_ms[0]; i++) {
        cr_assert_eq(next(), LS_AGONES_HEALTH);
        cr_assert_eq(reply(0, ""), LS_OK);
        now_ns += pauses_ms[i] * LS_NS_PER_MS - 1;
        cr_assert_eq(next(), LS_AGONES_NOTHING);
        now_ns++;
    }
    expect(LS_AGONES_HEALTH);
    cr_assert_eq(plan.failures, 0);
}

Test(agones_plan, allocation_opens_its_room_once)
{
    cr_assert_eq(allocate("{\\\"name\\\":\\\"final\\\",\\\"players\\\":4}"), LS_OK);
    cr_assert(opening.has_room);
    cr_assert_str_eq(opening.name, "final");
    cr_assert_str_eq(ls_room_settings_find(&opening.settings, "players"), "4");
    open_as(&room, "final");
    expect_annotation("room.final.invite", "lockstep://here/final");
    expect_annotation("lockstep-invite", "lockstep://here/final");
    expect(LS_AGONES_ROOMS);
    cr_assert_str_eq(request.body, "{\"count\":\"1\"}");
    room.name[0] = '\0';
    expect_annotation("room.final.invite", "");
    expect_annotation("lockstep-invite", "");
    expect(LS_AGONES_READY);
    expect(LS_AGONES_ROOMS);
    cr_assert_str_eq(request.body, "{\"count\":\"0\"}");
}

/* The server is allocated once more, while it is, or when it is Ready. */
static ls_status allocate_again(const char *when, const char *name)
{
    char line[512];
    snprintf(line, sizeof line,
             "{\"result\":{\"object_meta\":{\"annotations\":{"
             "\"agones.dev/last-allocated\":\"%s\",\"lockstep.dev/room\":"
             "\"{\\\"name\\\":\\\"%s\\\"}\"}},\"status\":{\"state\":\"Allocated\"}}}",
             when, name);
    return watch(line);
}

Test(agones_plan, second_allocation_opens_another_room)
{
    begin_with_room("m1");
    cr_assert_eq(allocate_again("2", "m2"), LS_OK);
    cr_assert(opening.has_room);
    cr_assert_str_eq(opening.name, "m2");
    expect_annotation("lockstep-invite", "");
    open_as(&other, "m2");
    expect_annotation("room.m2.invite", "lockstep://here/m2");
    expect_annotation("lockstep-invite", "lockstep://here/m2");
    expect(LS_AGONES_ROOMS);
    cr_assert_str_eq(request.body, "{\"count\":\"2\"}");
}

Test(agones_plan, server_is_not_ready_while_another_room_plays)
{
    begin_with_room("m1");
    cr_assert_eq(allocate_again("2", "m2"), LS_OK);
    expect_annotation("lockstep-invite", "");
    open_as(&other, "m2");
    expect_all_told();
    room.name[0] = '\0';
    expect_annotation("room.m1.invite", "");
    expect(LS_AGONES_ROOMS);
    cr_assert_eq(next(), LS_AGONES_NOTHING, "m2 stands");
    other.name[0] = '\0';
    expect_annotation("room.m2.invite", "");
    expect_annotation("lockstep-invite", "");
    expect(LS_AGONES_READY);
}

Test(agones_plan, allocation_of_a_room_that_stands_is_refused_and_leaves_its_invite)
{
    begin_with_room("m1");
    cr_assert_eq(allocate_again("2", "m1"), LS_ALREADY_STARTED);
    cr_assert_not(opening.has_room);
    expect_annotation("lockstep-invite", "error: there is a room 'm1' already");
    cr_assert_eq(next(), LS_AGONES_NOTHING, "m1 stands");
    room.name[0] = '\0';
    expect_annotation("room.m1.invite", "");
    expect(LS_AGONES_READY);
}

Test(agones_plan, look_that_is_older_than_the_stream_begins_no_allocation_anew)
{
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_READY);
    cr_assert_eq(allocate_again("1", "m1"), LS_OK);
    open_as(&room, "m1");
    cr_assert_eq(watch("{\"result\":{\"status\":{\"state\":\"Ready\"}}}"), LS_OK);
    cr_assert_eq(allocate_again("1", "m1"), LS_OK);
    cr_assert_not(opening.has_room);
}

Test(agones_plan, one_room_more_than_the_plan_holds_is_refused)
{
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_READY);
    for (uint32_t i = 0; i <= LS_AGONES_ROOMS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%u", i);
        ls_status status = allocate_again(name, name);
        cr_assert_eq(status, i < LS_AGONES_ROOMS_MAX ? LS_OK : LS_FULL);
    }
    expect(LS_AGONES_ANNOTATE);
    cr_assert_not_null(strstr(request.body, "64 rooms of allocations stand here"));
}

Test(agones_plan, server_is_ready_again_when_its_room_was_not_opened)
{
    cr_assert_eq(allocate("{\\\"name\\\":\\\"final\\\"}"), LS_OK);
    expect(LS_AGONES_PLAYERS);
    cr_assert_eq(next(), LS_AGONES_NOTHING, "it is being opened");
    const ls_service_result result = {.status = LS_NOT_FOUND, .text = {"no such game"}};
    ls_agones_plan_opened(&plan, row, &result);
    expect_annotation("room.final.invite", "error: no such game");
    expect_annotation("lockstep-invite", "error: no such game");
    expect(LS_AGONES_READY);
    cr_assert_eq(allocate_again("2", "final"), LS_OK);
    cr_assert(opening.has_room);
    expect_annotation("room.final.invite", "");
    expect_annotation("lockstep-invite", "");
    open_as(&room, "final");
    expect_annotation("room.final.invite", "lockstep://here/final");
}

Test(agones_plan, reply_to_ready_that_an_allocation_overtakes_is_of_the_one_before)
{
    expect(LS_AGONES_HEALTH);
    cr_assert_eq(next(), LS_AGONES_READY);
    cr_assert_eq(allocate_again("1", "m1"), LS_OK);
    cr_assert_eq(reply(200, "{}"), LS_OK);
    const ls_service_result result = {.status = LS_NOT_FOUND, .text = {"no such game"}};
    ls_agones_plan_opened(&plan, row, &result);
    expect_annotation("room.m1.invite", "error: no such game");
    expect_annotation("lockstep-invite", "error: no such game");
    expect(LS_AGONES_READY);
}

Test(agones_plan, server_is_ready_again_when_an_allocation_cannot_be)
{
    cr_assert_eq(allocate("nonsense"), LS_BAD_ARGUMENT);
    expect(LS_AGONES_ANNOTATE);
    expect(LS_AGONES_READY);
}

Test(agones_plan, room_that_others_made_is_waited_for)
{
    snprintf(room.name, sizeof room.name, "made-over-the-api");
    expect(LS_AGONES_HEALTH);
    cr_assert_eq(next(), LS_AGONES_NOTHING);
    room.name[0] = '\0';
    expect(LS_AGONES_READY);
}

Test(agones_plan, kept_room_is_waited_for_while_somebody_is_in_it)
{
    begin_with_room("m1");
    snprintf(other.name, sizeof other.name, "arena-1");
    snprintf(other.group, sizeof other.group, "arena");
    other.player_count = 1;
    other.players = &player;
    player.is_here = true;
    room.name[0] = '\0';
    expect_all_told();
    cr_assert_eq(next(), LS_AGONES_NOTHING);
    cr_assert_not(plan.is_ready_told);
    player.is_here = false;
    other.state = LS_ROOM_RUNNING;
    expect_all_told();
    cr_assert_not(plan.is_ready_told, "they may come back");
    other.state = LS_ROOM_WAITING;
    expect(LS_AGONES_READY);
}

Test(agones_plan, allocation_without_a_room_waits_for_one_as_long_as_for_players)
{
    plan.join_timeout_s = 1;
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_READY);
    expect(LS_AGONES_LOOK);
    expect(LS_AGONES_PLAYERS);
    cr_assert_eq(watch("{\"result\":{\"status\":{\"state\":\"Allocated\"}}}"), LS_OK);
    cr_assert_eq(next(), LS_AGONES_NOTHING);
    now_ns += LS_NS_PER_SECOND - 1;
    cr_assert_eq(next(), LS_AGONES_NOTHING);
    now_ns++;
    expect(LS_AGONES_READY);
}

Test(agones_plan, room_made_for_an_allocation_without_one_is_waited_for)
{
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_READY);
    expect(LS_AGONES_LOOK);
    expect(LS_AGONES_PLAYERS);
    cr_assert_eq(watch("{\"result\":{\"status\":{\"state\":\"Allocated\"}}}"), LS_OK);
    snprintf(room.name, sizeof room.name, "made-over-the-api");
    expect(LS_AGONES_ROOMS);
    cr_assert_eq(next(), LS_AGONES_NOTHING);
    room.name[0] = '\0';
    expect(LS_AGONES_READY);
}

Test(agones_plan, server_with_a_thousand_names_of_rooms_is_shut_down)
{
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_READY);
    for (uint32_t i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%u", i);
        cr_assert_eq(allocate_again(name, name), LS_OK);
        open_as(&room, name);
        expect_annotation_of(name);
        room.name[0] = '\0';
        while (next() == LS_AGONES_ANNOTATE || request.step == LS_AGONES_ROOMS ||
               request.step == LS_AGONES_LOOK || request.step == LS_AGONES_PLAYERS) {
            cr_assert_eq(reply(200, "{}"), LS_OK);
        }
        cr_assert_eq(request.step, i < 999 ? LS_AGONES_READY : LS_AGONES_SHUTDOWN, "%u", i);
        cr_assert_eq(reply(200, "{}"), LS_OK);
    }
}

Test(agones_plan, allocation_that_cannot_be_is_annotated)
{
    cr_assert_eq(allocate("nonsense"), LS_BAD_ARGUMENT);
    cr_assert_not(opening.has_room);
    cr_assert_eq(next(), LS_AGONES_ANNOTATE);
    cr_assert_not_null(strstr(request.body, "error: "));
}

Test(agones_plan, replies_that_are_nonsense_change_nothing)
{
    static const char *const bodies[] = {
        "",
        "[]",
        "{",
        "null",
        "{\"status\":3}",
        "{\"status\":{\"state\":[]}}",
        "{\"object_meta\":{\"annotations\":7},\"status\":{\"state\":\"Allocated\"}}"};
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_READY);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        cr_assert_eq(next(), LS_AGONES_LOOK);
        cr_assert_eq(reply(200, bodies[i]), LS_OK, "%s", bodies[i]);
        cr_assert_not(opening.has_room);
        now_ns += 10 * LS_NS_PER_SECOND;
        while (next() != LS_AGONES_LOOK) {
            cr_assert_eq(reply(200, "{}"), LS_OK);
        }
    }
}

Test(agones_plan, fleet_without_lists_is_not_told_again)
{
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_READY);
    expect(LS_AGONES_LOOK);
    cr_assert_eq(next(), LS_AGONES_PLAYERS);
    cr_assert_eq(reply(500, "{\"code\":2,\"message\":\"list not found: players\"}"), LS_OK);
    cr_assert(plan.has_no_list);
    snprintf(room.name, sizeof room.name, "duel");
    room.player_count = 1;
    room.players = &player;
    player.is_here = true;
    expect(LS_AGONES_ROOMS);
    cr_assert_eq(next(), LS_AGONES_NOTHING);
}

Test(agones_plan, count_above_the_capacity_holds_up_nothing)
{
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_READY);
    expect(LS_AGONES_LOOK);
    expect(LS_AGONES_PLAYERS);
    snprintf(room.name, sizeof room.name, "duel");
    cr_assert_eq(next(), LS_AGONES_ROOMS);
    cr_assert_eq(reply(500, "{\"code\":2,\"message\":\"out of range\"}"), LS_OK);
    cr_assert_not(plan.has_no_counter);
    cr_assert_eq(plan.failures, 0);
    cr_assert_eq(next(), LS_AGONES_NOTHING);
    now_ns += 2 * LS_NS_PER_SECOND;
    expect(LS_AGONES_HEALTH);
    now_ns += 8 * LS_NS_PER_SECOND;
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_LOOK);
    expect(LS_AGONES_ROOMS);
}

Test(agones_plan, stream_tells_of_an_allocation_and_of_nothing_else)
{
    static const char *const nonsense[] = {"",
                                           "{",
                                           "[]",
                                           "{\"result\":7}",
                                           "{\"error\":{\"code\":14}}",
                                           "{\"status\":{\"state\":\"Allocated\"}}"};
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_READY);
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        cr_assert_eq(watch(nonsense[i]), LS_OK, "%s", nonsense[i]);
        cr_assert_not(opening.has_room);
        cr_assert_not(plan.is_allocated);
    }
    const char *line = "{\"result\":{\"object_meta\":{\"annotations\":{\"lockstep.dev/room\":"
                       "\"{\\\"name\\\":\\\"final\\\"}\"}},"
                       "\"status\":{\"state\":\"Allocated\"}}}";
    cr_assert_eq(watch(line), LS_OK);
    cr_assert(opening.has_room);
    cr_assert_str_eq(opening.name, "final");
    cr_assert_eq(watch(line), LS_OK);
    cr_assert_not(opening.has_room, "it is the same allocation");
    expect(LS_AGONES_PLAYERS);
    cr_assert_eq(next(), LS_AGONES_NOTHING, "the stream is there: nothing is looked at");
}

static const char *line_with_key(const char *key)
{
    static char line[512];
    snprintf(line, sizeof line,
             "{\"result\":{\"object_meta\":{\"annotations\":{\"lockstep.dev/room\":"
             "\"{\\\"name\\\":\\\"final\\\"}\",\"lockstep.dev/token-key\":\"%s\"}},"
             "\"status\":{\"state\":\"Allocated\"}}}",
             key);
    return line;
}

Test(agones_plan, allocation_may_bring_the_key_of_its_tokens)
{
    expect(LS_AGONES_HEALTH);
    expect(LS_AGONES_READY);
    const char *key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1F";
    cr_assert_eq(watch(line_with_key(key)), LS_OK);
    cr_assert(opening.has_room && opening.has_token_key);
    for (uint8_t i = 0; i < LS_CIPHER_KEY_BYTES; i++) {
        cr_assert_eq(opening.token_key[i], i);
    }
}

Test(agones_plan, key_that_is_none_opens_no_room)
{
    static const char *const keys[] = {
        "", "00", "g00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f0"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        begin();
        expect(LS_AGONES_HEALTH);
        expect(LS_AGONES_READY);
        cr_assert_eq(watch(line_with_key(keys[i])), LS_BAD_ARGUMENT, "%s", keys[i]);
        cr_assert_not(opening.has_room);
        cr_assert_eq(next(), LS_AGONES_ANNOTATE);
        cr_assert_not_null(strstr(request.body, "64 hexadecimal digits"));
    }
}

Test(agones_plan, annotation_that_changes_while_it_is_told_is_told_again)
{
    cr_assert_eq(allocate("nonsense"), LS_BAD_ARGUMENT);
    cr_assert_eq(next(), LS_AGONES_ANNOTATE);
    const char *line = "{\"result\":{\"object_meta\":{\"annotations\":{\"lockstep.dev/room\":"
                       "\"{\\\"name\\\":\\\"../x\\\"}\"}},"
                       "\"status\":{\"state\":\"Allocated\"}}}";
    cr_assert_eq(watch(line), LS_BAD_ARGUMENT);
    cr_assert_eq(reply(200, "{}"), LS_OK);
    cr_assert_eq(next(), LS_AGONES_ANNOTATE);
    cr_assert_not_null(strstr(request.body, "letters, digits"));
    cr_assert_eq(reply(200, "{}"), LS_OK);
    expect(LS_AGONES_READY);
}

Test(agones_plan, drained_server_says_goodbye_once)
{
    view.is_draining = true;
    snprintf(room.name, sizeof room.name, "last");
    expect(LS_AGONES_HEALTH);
    room.name[0] = '\0';
    expect(LS_AGONES_SHUTDOWN);
    cr_assert(plan.is_shutdown_told);
    now_ns += 60 * LS_NS_PER_SECOND;
    cr_assert_eq(next(), LS_AGONES_NOTHING);
}
