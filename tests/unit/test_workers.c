/* Settings and messages of workers, bans, and limits of joining. */
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/server/service/ban_list.h"
#include "lockstep/server/service/join_limits.h"
#include "lockstep/server/service/room_settings.h"
#include "lockstep/server/service/work_mark.h"
#include "lockstep/server/service/worker_message.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- room_settings ---- */

static ls_room_settings settings;
static ls_text why;

static ls_status set(const char *flag, const char *value)
{
    return ls_room_settings_set(&settings, flag, value, &why);
}

Test(room_settings, a_flag_is_there_once_and_the_newest_value_counts)
{
    cr_assert_eq(set("players", "2"), LS_OK);
    cr_assert_eq(set("late", "wait"), LS_OK);
    cr_assert_eq(set("players", "4"), LS_OK);
    cr_assert_eq(settings.count, 2);
    cr_assert_str_eq(ls_room_settings_find(&settings, "players"), "4");
    cr_assert_null(ls_room_settings_find(&settings, "ticks"));
}

Test(room_settings, parameters_are_told_apart_by_their_names)
{
    cr_assert_eq(set("param", "size=3"), LS_OK);
    cr_assert_eq(set("param", "sizes=4"), LS_OK);
    cr_assert_eq(set("param", "size=5"), LS_OK);
    cr_assert_eq(settings.count, 2);
    cr_assert_str_eq(settings.rows[0].value, "size=5");
}

Test(room_settings, there_is_room_for_so_many_and_no_more)
{
    char flag[8];
    for (uint32_t i = 0; i < LS_ROOM_SETTINGS_MAX; i++) {
        snprintf(flag, sizeof flag, "f%u", i);
        cr_assert_eq(set(flag, "1"), LS_OK);
    }
    cr_assert_eq(set("more", "1"), LS_FULL);
    cr_assert_eq(set("f0", "2"), LS_OK);
}

Test(room_settings, what_no_flag_can_be_is_refused)
{
    static const char *const none[] = {"c\xff", "c?", "a flag", "Players", "\xee\x80\x80"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        cr_expect_eq(set(none[i], "1"), LS_BAD_ARGUMENT, "%zu", i);
    }
    cr_expect_eq(settings.count, 0);
}

Test(room_settings, a_value_that_is_too_long_is_refused_and_not_cut)
{
    char value[257];
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    cr_assert_eq(set("sim", value), LS_BAD_ARGUMENT);
    cr_assert_eq(settings.count, 0);
    value[255] = '\0';
    cr_assert_eq(set("sim", value), LS_OK);
}

/* A word that is not known would leave the room open to everybody. */
Test(room_settings, a_room_is_private_or_not_in_words_that_are_known)
{
    static const char *const words[][2] = {
        {"on", "on"}, {"true", "on"}, {"off", "off"}, {"false", "off"}};
    static const char *const wrong[] = {"yes", "1", "no", "0", "On", "TRUE", "", "on "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_expect_eq(set("private", words[i][0]), LS_OK, "%s", words[i][0]);
        cr_expect_str_eq(ls_room_settings_find(&settings, "private"), words[i][1]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_expect_eq(set("private", wrong[i]), LS_BAD_ARGUMENT, "%s", wrong[i]);
        cr_expect(strstr(why.bytes, "private takes on or off (true or false), not '"), "%s",
                  why.bytes);
    }
}

Test(room_settings, json_reads_back_and_takes_numbers_and_booleans)
{
    const char *text = "{\"players\":4,\"late\":\"wait\",\"find-causes\":false,"
                       "\"param\":[\"size=3\",\"walls=on\"],\"rotation\":[\"a=1\",\"a=1\"]}";
    ls_json *json = ls_json_parse(text, strlen(text));
    cr_assert_eq(ls_room_settings_read(json, &settings, &why), LS_OK, "%s", why.bytes);
    cr_assert_str_eq(ls_room_settings_find(&settings, "players"), "4");
    cr_assert_str_eq(ls_room_settings_find(&settings, "find-causes"), "off");
    cr_assert_eq(settings.count, 7);
    ls_json_destroy(json);
    json = ls_json_create();
    ls_room_settings_write(&settings, json);
    ls_room_settings again = {.count = 0};
    cr_assert_eq(ls_room_settings_read(json, &again, &why), LS_OK);
    cr_assert_eq(memcmp(&again, &settings, sizeof again), 0);
    ls_json_destroy(json);
}

Test(room_settings, other_json_is_refused_with_the_name_of_the_setting)
{
    const char *text = "{\"players\":4,\"late\":{\"x\":1}}";
    ls_json *json = ls_json_parse(text, strlen(text));
    cr_assert_eq(ls_room_settings_read(json, &settings, &why), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, "late"));
    cr_assert_eq(settings.count, 0);
    ls_json_destroy(json);
    cr_assert_eq(ls_room_settings_read(NULL, &settings, &why), LS_BAD_ARGUMENT);
}

Test(room_settings, join_timeout_is_a_number_of_seconds_within_a_day)
{
    uint32_t seconds = 7;
    cr_assert_eq(ls_room_settings_join_timeout(&settings, &seconds, &why), LS_OK);
    cr_assert_eq(seconds, 0, "without the row never");
    cr_assert_eq(ls_room_settings_set(&settings, "join-timeout", "86400", &why), LS_OK);
    cr_assert_eq(ls_room_settings_join_timeout(&settings, &seconds, &why), LS_OK);
    cr_assert_eq(seconds, 86400);
    cr_assert_eq(ls_room_settings_set(&settings, "join-timeout", "86401", &why), LS_OK);
    cr_assert_eq(ls_room_settings_join_timeout(&settings, &seconds, &why), LS_BAD_ARGUMENT);
    cr_assert_eq(ls_room_settings_set(&settings, "join-timeout", "soon", &why), LS_OK);
    cr_assert_eq(ls_room_settings_join_timeout(&settings, &seconds, &why), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, "soon"));
}

Test(room_settings, the_name_is_taken_out_and_the_order_of_the_others_stays)
{
    char name[LS_ROOM_NAME_BYTES_MAX] = "";
    cr_assert_eq(set("name", "cup"), LS_OK);
    cr_assert_eq(set("rotation", "map=a"), LS_OK);
    cr_assert_eq(set("rotation", "map=b"), LS_OK);
    cr_assert_eq(ls_room_settings_pop_name(&settings, name, &why), LS_OK);
    cr_assert_str_eq(name, "cup");
    cr_assert_eq(settings.count, 2);
    cr_assert_str_eq(settings.rows[0].value, "map=a");
    cr_assert_str_eq(settings.rows[1].value, "map=b");
}

/* ---- worker_settings ---- */

static const ls_worker_settings closed = {
    .worker = 1,
    .workers = 2,
    .rooms_max = 256,
    .log_level = 3,
    .log_format = 1,
    .bind_host = "::",
    .admission = {.identity_path = "/srv/a \"b\"/\xe9\n",
                  .invite_host = "--insecure",
                  .is_invite_only = true,
                  .token_key_path = "key",
                  .token_servers = "a:1,[::1]:2",
                  .token_protocol_id = UINT64_C(0xfedcba9876543210)},
    .relay = "play.example",
    .public_name = "Friday",
    .page = "http://localhost/play",
    .bundle_mib_max = 7,
    .journal_dir = "journals",
    .has_broadcast = true,
    .files = {.folders = "/srv/a\n/srv/b\n", .named = "map=/m\n", .code = ""},
    .door = "00ff",
};

Test(worker_settings, worker_has_them_as_the_supervisor_has_them)
{
    ls_worker_settings read;
    ls_json *texts = NULL;
    char *line = ls_worker_settings_write(&closed);
    cr_assert_not_null(line);
    cr_assert_null(strchr(line, '\n'));
    cr_assert_eq(ls_worker_settings_read(line, strlen(line), &read, &texts), LS_OK, "%s", line);
    ls_json_release_line(line);
    cr_expect_eq(read.worker, 1);
    cr_expect_eq(read.workers, 2);
    cr_expect_eq(read.rooms_max, 256);
    cr_expect_eq(read.log_level, 3);
    cr_expect_eq(read.log_format, 1);
    cr_expect_str_eq(read.bind_host, "::");
    cr_expect_str_eq(read.admission.identity_path, closed.admission.identity_path);
    cr_expect_str_eq(read.admission.invite_host, "--insecure");
    cr_expect(read.admission.is_invite_only && !read.admission.is_insecure);
    cr_expect_str_eq(read.admission.token_key_path, "key");
    cr_expect_str_eq(read.admission.token_servers, closed.admission.token_servers);
    cr_expect_eq(read.admission.token_protocol_id, closed.admission.token_protocol_id);
    cr_expect_str_eq(read.relay, "play.example");
    cr_expect_null(read.relay_key);
    cr_expect_str_eq(read.public_name, "Friday");
    cr_expect_null(read.region);
    cr_expect_str_eq(read.page, "http://localhost/play");
    cr_expect_null(read.bundle_dir);
    cr_expect_eq(read.bundle_mib_max, 7);
    cr_expect_str_eq(read.journal_dir, "journals");
    cr_expect(read.has_broadcast);
    cr_expect_null(read.plugin_dir);
    cr_expect_str_eq(read.files.folders, closed.files.folders);
    cr_expect_str_eq(read.files.named, closed.files.named);
    cr_expect_str_eq(read.files.code, "");
    cr_expect_str_eq(read.door, "00ff");
    ls_json_destroy(texts);
}

/* A member that was left out would be a door that stands open. */
Test(worker_settings, line_that_lacks_a_member_is_refused)
{
    char *line = ls_worker_settings_write(&closed);
    ls_json *whole = ls_json_parse(line, strlen(line));
    uint32_t members = 0;
    for (const ls_json *member = ls_json_first(whole); member; member = ls_json_next(member)) {
        char other[4096];
        ls_worker_settings read;
        ls_json *texts = NULL;
        snprintf(other, sizeof other, "%s", line);
        char *key = strstr(other, ls_json_key(member));
        cr_assert_not_null(key);
        *key = '?';
        cr_expect_eq(ls_worker_settings_read(other, strlen(other), &read, &texts), LS_MALFORMED,
                     "without %s", ls_json_key(member));
        cr_expect_null(texts);
        members++;
    }
    cr_expect_eq(members, 28);
    ls_json_destroy(whole);
    ls_json_release_line(line);
}

Test(worker_settings, value_of_another_type_is_refused)
{
    static const char *const changes[][2] = {{"true", "\"true\""}, {"\"key\"", "1"}, {"256", "-1"}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char other[4096];
        ls_worker_settings read;
        ls_json *texts = NULL;
        char *line = ls_worker_settings_write(&closed);
        char *place = strstr(line, changes[i][0]);
        cr_assert_not_null(place);
        snprintf(other, sizeof other, "%.*s%s%s", (int)(place - line), line, changes[i][1],
                 place + strlen(changes[i][0]));
        cr_expect_eq(ls_worker_settings_read(other, strlen(other), &read, &texts), LS_MALFORMED,
                     "%s", other);
        ls_json_release_line(line);
    }
}

/* ---- worker_message ---- */

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

/* ---- work_mark ---- */

/* A supervisor reads for which room a worker was at work, whatever that worker wrote. */

static ls_work_mark *supervisors;
static ls_work_mark *workers;

static void open_both(void)
{
    cr_assert_eq(ls_work_mark_create(&supervisors), LS_OK);
    cr_assert_eq(ls_work_mark_open(dup(ls_work_mark_descriptor(supervisors)), &workers), LS_OK);
}

static void close_both(void)
{
    ls_work_mark_destroy(workers);
    ls_work_mark_destroy(supervisors);
}

TestSuite(work_mark, .init = open_both, .fini = close_both);

Test(work_mark, supervisor_reads_the_room_that_its_worker_works_on)
{
    char room[LS_ROOM_NAME_BYTES_MAX];
    ls_work_mark_name(workers, 0, "first");
    ls_work_mark_name(workers, LS_WORK_MARK_OPENING, "last");
    cr_expect_not(ls_work_mark_read(supervisors, room));
    *ls_work_mark_place(workers) = 1;
    cr_assert(ls_work_mark_read(supervisors, room));
    cr_expect_str_eq(room, "first");
    *ls_work_mark_place(workers) = LS_WORK_MARK_OPENING + 1;
    cr_assert(ls_work_mark_read(supervisors, room));
    cr_expect_str_eq(room, "last");
    ls_work_mark_clear(supervisors);
    cr_expect_not(ls_work_mark_read(supervisors, room));
}

Test(work_mark, numbers_and_names_that_make_no_sense_are_no_room)
{
    char room[LS_ROOM_NAME_BYTES_MAX];
    char long_name[2 * LS_ROOM_NAME_BYTES_MAX];
    const uint32_t beyond[] = {LS_WORK_MARK_OPENING + 2, UINT32_MAX};
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        *ls_work_mark_place(workers) = beyond[i];
        cr_expect_not(ls_work_mark_read(supervisors, room));
    }
    *ls_work_mark_place(workers) = 3;
    cr_expect_not(ls_work_mark_read(supervisors, room), "a row without a name");
    ls_work_mark_name(workers, 2, "../etc");
    cr_expect_not(ls_work_mark_read(supervisors, room));
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    ls_work_mark_name(workers, 2, long_name);
    ls_work_mark_name(workers, LS_WORK_MARK_OPENING + 1, "beyond");
    cr_assert(ls_work_mark_read(supervisors, room));
    cr_expect_eq(strlen(room), LS_ROOM_NAME_BYTES_MAX - 1);
}

/* ==== ban_list ==== */

static ls_ban_list list;

static uint64_t ban(uint32_t kind, const char *what, uint64_t until_unix_s, const char *reason)
{
    ls_ban made = {.until_unix_s = until_unix_s};
    snprintf(made.why, sizeof made.why, "%s", reason);
    cr_assert_eq(ls_ban_set(&made, kind, what, &why), LS_OK, "%s", why.bytes);
    return ls_ban_list_add(&list, &made)->number;
}

/* How long somebody of this address is banned; 0: not. */
static uint64_t left_s(const char *address, uint64_t now_unix_s)
{
    ls_endpoint endpoint;
    uint64_t origin = ls_endpoint_read(address, &endpoint) ? ls_endpoint_origin(&endpoint) : 0;
    const ls_ban_subject who = {.origin = origin, .name = "ann"};
    const ls_ban *found = ls_ban_list_find(&list, &who, now_unix_s);
    return found ? found->until_unix_s - now_unix_s : 0;
}

static bool is_name_banned(const char *name)
{
    const ls_ban_subject who = {.name = name};
    return ls_ban_list_find(&list, &who, 1) != NULL;
}

Test(ban_list, every_port_of_a_banned_host_is_banned_until_its_time_is_over)
{
    ban(LS_BAN_ADDRESS, "192.0.2.7:7000", 10, "");
    cr_assert_eq(left_s("192.0.2.7:8000", 1), 9);
    cr_assert_eq(left_s("192.0.2.70:7000", 1), 0);
    cr_assert_eq(left_s("192.0.2.7:7000", 10), 0);
    cr_assert_eq(left_s("", 1), 0);
}

Test(ban_list, an_address_is_banned_however_it_is_written)
{
    static const char *const forms[] = {"2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:7000",
                                        "2001:DB8::1", "2001:db8:0:0:0::1"};
    for (uint32_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        cr_assert_eq(ban(LS_BAN_ADDRESS, forms[i], 10, ""), 1);
    }
    cr_assert_eq(left_s("[2001:db8::1]:9", 1), 9);
    cr_assert_eq(ban(LS_BAN_ADDRESS, "::ffff:192.0.2.7", 10, ""), 2);
    cr_assert_eq(left_s("192.0.2.7:9", 1), 9);
}

/* A host of IPv6 has as many addresses as it likes: what limits count as one is banned as one. */
Test(ban_list, all_of_a_56_of_ipv6_are_banned_and_no_neighbour)
{
    ban(LS_BAN_ADDRESS, "2001:db8:0:12ff::1", 10, "");
    cr_assert_eq(left_s("[2001:db8:0:1200:5:6:7:8]:9", 1), 9);
    cr_assert_eq(left_s("[2001:db8:0:1300::1]:9", 1), 0);
    cr_assert_eq(left_s("[2001:db8:0:11ff::1]:9", 1), 0);
}

Test(ban_list, the_longer_ban_of_a_host_counts_and_the_newer_reason)
{
    cr_assert_eq(ban(LS_BAN_ADDRESS, "192.0.2.7", 20, "rude"), 1);
    cr_assert_eq(ban(LS_BAN_ADDRESS, "192.0.2.7", 10, "cheats"), 1);
    cr_assert_eq(left_s("192.0.2.7:1", 0), 20);
    cr_assert_str_eq(list.rows[0].why, "cheats");
}

Test(ban_list, an_account_is_banned_wherever_it_comes_from)
{
    ban(LS_BAN_ACCOUNT, "4711", 10, "");
    ls_ban_subject who = {.origin = 4711, .name = "4711", .has_account = true};
    cr_assert_null(ls_ban_list_find(&list, &who, 1));
    who.account = 4711;
    cr_assert_not_null(ls_ban_list_find(&list, &who, 1));
    who.has_account = false;
    cr_assert_null(ls_ban_list_find(&list, &who, 1));
}

Test(ban_list, a_name_is_banned_with_those_that_look_like_it)
{
    ban(LS_BAN_NAME, "Mallory", 10, "");
    cr_assert(is_name_banned("Mallory"));
    cr_assert(is_name_banned("mallory"));
    cr_assert(is_name_banned("MALLORY (2)"));
    cr_assert_not(is_name_banned("Mallory (x)"));
    cr_assert_not(is_name_banned("Ann"));
    cr_assert_not(is_name_banned(""));
}

/* The server gave the number, and gives another one, or none, when the player comes again. */
Test(ban_list, a_name_is_banned_whatever_number_stands_behind_it)
{
    ban(LS_BAN_NAME, "Mallory (2)", 10, "");
    cr_assert_str_eq(list.rows[0].what, "Mallory");
    cr_assert(is_name_banned("Mallory"));
    cr_assert(is_name_banned("mallory (3)"));
}

Test(ban_list, a_ban_that_is_lifted_is_over)
{
    uint64_t number = ban(LS_BAN_ADDRESS, "192.0.2.7", 20, "");
    ban(LS_BAN_ADDRESS, "192.0.2.8", 20, "");
    cr_assert(ls_ban_list_lift(&list, number));
    cr_assert_not(ls_ban_list_lift(&list, number));
    cr_assert_not(ls_ban_list_lift(&list, 0));
    cr_assert_eq(left_s("192.0.2.7:1", 0), 0);
    cr_assert_eq(left_s("192.0.2.8:1", 0), 20);
    cr_assert_eq(ban(LS_BAN_ADDRESS, "192.0.2.9", 20, ""), 3, "no number is given twice");
}

Test(ban_list, what_is_nobody_is_refused)
{
    static const struct {
        uint32_t kind;
        const char *what;
    } wrong[] = {{LS_BAN_ADDRESS, ""},      {LS_BAN_ADDRESS, "example.org"},
                 {LS_BAN_ADDRESS, ":7300"}, {LS_BAN_ADDRESS, "0:db8::1]:7"},
                 {LS_BAN_ADDRESS, "[::1"},  {LS_BAN_ADDRESS, "dead.beef"},
                 {LS_BAN_ADDRESS, "127.1"}, {LS_BAN_ADDRESS, "[192.0.2.7]"},
                 {LS_BAN_ACCOUNT, "ann"},   {LS_BAN_ACCOUNT, "-1"},
                 {LS_BAN_NAME, ""},         {LS_BAN_NAME, "\x01\x02"},
                 {LS_BAN_KIND_COUNT, "Ann"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ls_ban made = {.number = 0};
        cr_assert_eq(ls_ban_set(&made, wrong[i].kind, wrong[i].what, &why), LS_BAD_ARGUMENT, "%s",
                     wrong[i].what);
    }
}

Test(ban_list, the_ban_that_ends_first_gives_way_when_all_places_are_taken)
{
    char address[32];
    for (uint32_t i = 0; i <= LS_BANS_MAX; i++) {
        snprintf(address, sizeof address, "10.0.%u.%u:1", i / 250, i % 250);
        ban(LS_BAN_ADDRESS, address, 2000 - i, "");
    }
    cr_assert_eq(left_s("10.0.0.0:1", 0), 2000);
    snprintf(address, sizeof address, "10.0.%u.%u:1", (LS_BANS_MAX - 1) / 250,
             (LS_BANS_MAX - 1) % 250);
    cr_assert_eq(left_s(address, 0), 0);
}

/* ==== join_limits ==== */

#define NOW (1000 * LS_NS_PER_SECOND)
#define MINUTE (60 * LS_NS_PER_SECOND)

static ls_join_limits limits;

static void start(void)
{
    memset(&limits, 0, sizeof limits);
    limits.joins = 10;
    limits.rooms = 4;
}

TestSuite(join_limits, .init = start);

static uint32_t count(uint64_t origin, bool is_first, uint64_t now_ns)
{
    uint32_t taken = 0;
    while (taken < 1000 && ls_join_limits_take(&limits, origin, is_first, now_ns)) {
        taken++;
    }
    return taken;
}

Test(join_limits, an_origin_joins_so_often_at_once_and_as_often_a_minute)
{
    cr_expect_eq(count(1, false, NOW), 10);
    cr_expect_eq(count(2, false, NOW), 10, "another origin is another one");
    cr_expect_eq(count(1, false, NOW + MINUTE / 10 - 1), 0);
    cr_expect_eq(count(1, false, NOW + MINUTE / 10), 1);
    cr_expect_eq(count(1, false, NOW + 20 * MINUTE), 10);
}

Test(join_limits, rooms_come_back_in_four_minutes_or_when_somebody_plays)
{
    cr_expect_eq(count(1, true, NOW), 4);
    cr_expect_eq(count(1, false, NOW), 6, "a room that has somebody counts no more");
    cr_expect_eq(count(1, true, NOW + MINUTE), 1);
    ls_join_limits_give_back(&limits, 1);
    ls_join_limits_give_back(&limits, 7);
    cr_expect_eq(count(1, true, NOW + MINUTE), 1);
    for (uint32_t i = 0; i < 10; i++) {
        ls_join_limits_give_back(&limits, 1);
    }
    cr_expect_eq(count(1, true, NOW + 8 * MINUTE), 4, "no more than at first");
}

Test(join_limits, a_refusal_takes_nothing)
{
    cr_expect_eq(count(1, true, NOW), 4);
    for (uint32_t i = 0; i < 100; i++) {
        cr_expect_not(ls_join_limits_take(&limits, 1, true, NOW));
    }
    cr_expect_eq(count(1, false, NOW), 6);
    cr_expect_eq(count(1, true, NOW + MINUTE), 1);
}

Test(join_limits, without_numbers_nothing_is_limited)
{
    limits.joins = 0;
    limits.rooms = 0;
    cr_expect_eq(count(1, true, NOW), 1000);
}

Test(join_limits, an_origin_has_so_many_connections_at_all_workers_together)
{
    limits.connections = 3;
    cr_expect(ls_join_limits_connect(&limits, 0, 1, NOW));
    cr_expect(ls_join_limits_connect(&limits, 1, 1, NOW));
    cr_expect(ls_join_limits_connect(&limits, 15, 1, NOW));
    cr_expect_not(ls_join_limits_connect(&limits, 2, 1, NOW));
    cr_expect(ls_join_limits_connect(&limits, 2, 2, NOW), "another origin is another one");
    ls_join_limits_disconnect(&limits, 1, 1);
    ls_join_limits_disconnect(&limits, 1, 1);
    ls_join_limits_disconnect(&limits, 1, 7);
    cr_expect(ls_join_limits_connect(&limits, 2, 1, NOW));
    cr_expect_not(ls_join_limits_connect(&limits, 1, 1, NOW));
}

Test(join_limits, connections_of_a_worker_that_has_ended_are_gone)
{
    limits.connections = 2;
    cr_expect(ls_join_limits_connect(&limits, 0, 1, NOW));
    cr_expect(ls_join_limits_connect(&limits, 1, 1, NOW));
    ls_join_limits_forget_worker(&limits, 1);
    cr_expect(ls_join_limits_connect(&limits, 1, 1, NOW));
    cr_expect_not(ls_join_limits_connect(&limits, 1, 1, NOW));
    limits.connections = 0;
    cr_expect(ls_join_limits_connect(&limits, 1, 1, NOW), "no limit");
}

Test(join_limits, no_number_of_origins_makes_one_with_a_connection_forgotten)
{
    limits.connections = 1;
    cr_expect(ls_join_limits_connect(&limits, 0, 1, NOW));
    cr_expect_eq(count(1, false, NOW), 10);
    for (uint64_t origin = 2; origin < 4 * LS_JOIN_LIMITS_ORIGINS_MAX; origin++) {
        (void)ls_join_limits_take(&limits, origin, false, NOW + 1);
    }
    cr_expect_not(ls_join_limits_connect(&limits, 1, 1, NOW + 2));
    cr_expect_eq(count(1, false, NOW + 2), 0);
    ls_join_limits_disconnect(&limits, 0, 1);
    for (uint64_t origin = 2; origin < 4 * LS_JOIN_LIMITS_ORIGINS_MAX; origin++) {
        (void)ls_join_limits_take(&limits, origin, false, NOW + 3);
    }
    cr_expect_eq(count(1, false, NOW + 4), 10, "it has given way to others");
}

/* A worker may be killed while it counts. */
Test(join_limits, a_count_that_was_never_finished_stops_nobody)
{
    atomic_store(&limits.is_held, 1u);
    cr_expect_eq(count(1, false, NOW), 10);
    cr_expect_eq(atomic_load(&limits.is_held), 0);
}

Test(join_limits, other_numbers_hold_at_once)
{
    cr_expect_eq(count(1, false, NOW), 10);
    ls_join_limits_set(&limits, 20, 0);
    cr_expect_eq(count(1, true, NOW), 0, "a minute's were taken");
    cr_expect_eq(count(1, true, NOW + MINUTE / 2), 10);
    ls_join_limits_set(&limits, 0, 0);
    cr_expect_eq(count(1, true, NOW), 1000);
}

/* As an attack from one address has it: two rooms a second. */
Test(join_limits, forty_five_seconds_of_empty_rooms_are_few)
{
    limits.joins = 120;
    limits.rooms = 24;
    uint32_t rooms = 0;
    for (uint32_t half = 0; half < 90; half++) {
        uint64_t now_ns = NOW + half * LS_NS_PER_SECOND / 2;
        rooms += ls_join_limits_take(&limits, 1, true, now_ns) ? 1 : 0;
        (void)ls_join_limits_take(&limits, 1, false, now_ns);
    }
    cr_expect_eq(rooms, 24 + 4);
}

Test(join_limits, the_newest_origins_are_remembered)
{
    for (uint64_t origin = 1; origin <= 100000; origin++) {
        (void)ls_join_limits_take(&limits, origin, true, NOW + origin);
    }
    uint32_t known = 0;
    for (uint64_t origin = 100000 - 99; origin <= 100000; origin++) {
        known += count(origin, true, NOW + 100000) == 3 ? 1 : 0;
    }
    cr_expect_geq(known, 90, "%u", known);
}
