/* The requests of a service to the sidecar of Agones, step by step, without one. */
#include "lockstep/common/base/clock.h"
#include "lockstep/server/service/agones_plan.h"
#include "lockstep/server/service/room_register.h"

#include <criterion/criterion.h>
#include <string.h>

static ls_agones_plan plan;
static ls_agones_request request;
static ls_agones_opening opening;
static ls_room_report room; /* "": there is none */
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

/* The service has `room` alone. */
static void show_room(void)
{
    ls_room_register_destroy(rooms);
    rooms = NULL;
    cr_assert_eq(ls_room_register_create(NULL, &rooms, NULL), LS_OK);
    view.rooms = rooms;
    if (room.name[0] != '\0') {
        ls_room_register_add(rooms, room.name)->report = room;
    }
}

static void begin(void)
{
    memset(&plan, 0, sizeof plan);
    memset(&room, 0, sizeof room);
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
    show_room();
    ls_agones_plan_next(&plan, &view, now_ns, &request);
    return request.step;
}

static ls_status reply(unsigned status, const char *body)
{
    ls_text why = {{0}};
    return ls_agones_plan_reply(&plan, &request, status, body, strlen(body), now_ns, &opening,
                                &why);
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
    const ls_service_result result = {.status = LS_OK, .text = {"final"}};
    snprintf(room.name, sizeof room.name, "final");
    ls_agones_plan_opened(&plan, &result);
    expect(LS_AGONES_ANNOTATE);
    cr_assert_str_eq(request.body,
                     "{\"key\":\"lockstep-invite\",\"value\":\"lockstep://here/final\"}");
    expect(LS_AGONES_ROOMS);
    cr_assert_str_eq(request.body, "{\"count\":\"1\"}");
    room.name[0] = '\0';
    expect(LS_AGONES_READY);
    expect(LS_AGONES_ANNOTATE);
    cr_assert_not_null(strstr(request.body, "\"value\":\"\""));
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
    room.players[0].is_here = true;
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

static ls_status watch(const char *line)
{
    ls_text why = {{0}};
    return ls_agones_plan_watch(&plan, line, strlen(line), now_ns, &opening, &why);
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
    expect(LS_AGONES_PLAYERS);
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
