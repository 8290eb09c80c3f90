#include "lockstep/server/service/worker_message.h"

#include "lockstep/common/base/text.h"

#include <criterion/criterion.h>
#include <string.h>

static ls_worker_message before;
static ls_worker_message after;

static void pass_on(void)
{
    char *line = ls_worker_message_write(&before);
    cr_assert_not_null(line);
    cr_assert_null(strchr(line, '\n'));
    cr_assert_eq(ls_worker_message_read(line, strlen(line), &after), LS_OK, "%s", line);
    ls_json_release_line(line);
    cr_assert_eq(after.kind, before.kind);
}

Test(worker_message, a_command_arrives_with_its_settings)
{
    before = (ls_worker_message){.kind = LS_WORKER_COMMAND, .id = 77, .is_paused = true};
    before.command.kind = LS_SERVICE_OPEN_ROOM;
    ls_name_copy(before.command.room, sizeof before.command.room, "arena-1");
    ls_name_copy(before.group, sizeof before.group, "arena");
    ls_name_copy(before.journal, sizeof before.journal, "/j/a \"b\".journal");
    cr_assert_eq(ls_room_settings_set(&before.command.settings, "sim", "arena", NULL), LS_OK);
    cr_assert_eq(ls_room_settings_set(&before.command.settings, "param", "size=3", NULL), LS_OK);
    pass_on();
    cr_assert(after.is_paused);
    cr_assert_eq(after.id, 77);
    cr_assert_str_eq(after.group, "arena");
    cr_assert_str_eq(after.journal, before.journal);
    cr_assert_eq(memcmp(&after.command, &before.command, sizeof after.command), 0);
}

Test(worker_message, a_report_arrives_with_its_players_and_counters)
{
    before = (ls_worker_message){.kind = LS_WORKER_REPORT};
    ls_room_report *report = &before.report;
    ls_name_copy(report->name, sizeof report->name, "a");
    report->state = LS_ROOM_PAUSED;
    report->match_id = UINT64_C(0xfedcba9876543210);
    report->tick_rate_hz = 59.7275;
    report->counters.ticks = 5000000000;
    report->counters.desyncs[LS_DESYNC_CLASS_BUILD] = 2;
    report->counters.lateness = (ls_room_histogram){.count = 3, .sum_ms = 1.5, .bins = {2, 0, 1}};
    static ls_room_player players[LS_PLAYERS_MAX];
    report->players = players;
    report->player_count = LS_PLAYERS_MAX;
    for (uint32_t i = 0; i < LS_PLAYERS_MAX; i++) {
        report->players[i].slot = i;
        report->players[i].lag = i % LS_LAG_CAUSE_COUNT;
        ls_name_copy(report->players[i].name, sizeof report->players[i].name, "<b>\"\\\x01");
    }
    pass_on();
    ls_room_report copy = {.players = NULL};
    ls_room_report_copy(&copy, &after.report);
    cr_assert_neq(copy.players, after.report.players);
    cr_assert_eq(memcmp(copy.players, players, sizeof players), 0);
    cr_assert_eq(memcmp(after.report.players, players, sizeof players), 0);
    ls_room_report_deinit(&copy);
    ls_worker_message_deinit(&after);
    report->players = NULL;
    report->player_count = 0;
    cr_assert_eq(memcmp(&after.report, report, sizeof after.report), 0);
}

Test(worker_message, results_and_events_arrive)
{
    before = (ls_worker_message){.kind = LS_WORKER_RESULT, .id = 1, .match_id = 5};
    before.result.status = LS_NOT_FOUND;
    ls_text_set(&before.result.text, "there is no room 'x'");
    pass_on();
    cr_assert_eq(after.result.status, LS_NOT_FOUND);
    cr_assert_eq(after.match_id, 5);
    cr_assert_str_eq(after.result.text.bytes, before.result.text.bytes);
    cr_assert_null(after.result.body);
    before.result.body = (char[]){"<svg a=\"b\">\n</svg>"};
    pass_on();
    cr_assert_str_eq(after.result.body, before.result.body);
    ls_worker_message_deinit(&after);
    cr_assert_null(after.result.body);
    before = (ls_worker_message){.kind = LS_WORKER_EVENT, .event = {.slot = -1}};
    ls_name_copy(before.event.kind, sizeof before.event.kind, "room-opened");
    pass_on();
    cr_assert_eq(after.event.slot, -1);
    cr_assert_str_eq(after.event.kind, "room-opened");
}

static void expect_refused(const char *line)
{
    after.id = 99;
    cr_assert_eq(ls_worker_message_read(line, strlen(line), &after), LS_MALFORMED, "%s", line);
}

Test(worker_message, lines_that_make_no_sense_are_refused)
{
    expect_refused("");
    expect_refused("{}");
    expect_refused("[]");
    expect_refused("{\"kind\":\"dance\"}");
    expect_refused("{\"kind\":3}");
    expect_refused("{\"kind\":\"command\"}");
    expect_refused("{\"kind\":\"command\",\"command\":{\"kind\":99,\"settings\":{}}}");
    expect_refused("{\"kind\":\"report\",\"report\":{\"name\":\"a\",\"state\":\"asleep\"}}");
    expect_refused("{\"kind\":\"result\",\"status\":1}");
    expect_refused("{\"kind\":\"event\",\"event\":{\"kind\":\"x\",\"slot\":128}}");
}

Test(worker_message, counters_of_rooms_add_up)
{
    ls_room_counters sum = {.ticks = 1, .heals = 2};
    ls_room_counters more = {.ticks = 10, .journal_ticks_missing = 3};
    more.desyncs[LS_DESYNC_CLASS_PROCESS] = 4;
    more.confirm = (ls_room_histogram){.count = 1, .sum_ms = 20, .bins = {[6] = 1}};
    ls_room_counters_add(&sum, &more);
    ls_room_counters_add(&sum, &more);
    cr_assert_eq(sum.ticks, 21);
    cr_assert_eq(sum.heals, 2);
    cr_assert_eq(sum.journal_ticks_missing, 6);
    cr_assert_eq(sum.desyncs[LS_DESYNC_CLASS_PROCESS], 8);
    cr_assert_eq(sum.confirm.bins[6], 2);
    cr_assert_eq(sum.confirm.count, 2);
}
