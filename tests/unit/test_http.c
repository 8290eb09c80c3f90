/* Administration over HTTP: its guard, its metrics and its operators. */
#define _XOPEN_SOURCE 700
#include "lockstep/server/control/http_daemon.h"
#include "lockstep/server/control/http_routes.h"
#include "lockstep/server/control/operators.h"
#include "lockstep/tests/support/fake_service.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- http_guard ---- */

#define SECOND UINT64_C(1000000000)

static uint32_t lines;
static char newest[256];

static void count_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    lines++;
    strncpy(newest, line, sizeof newest - 1);
}

static ls_endpoint address(uint32_t number)
{
    ls_endpoint made = ls_endpoint_from_ipv4(0, 80);
    memcpy(made.address + 12, &number, sizeof number);
    return made;
}

Test(http_guard, addresses_localhost_and_configured_names_are_known)
{
    static const char *const known[] = {"127.0.0.1",      "127.0.0.1:9300",      "[::1]",
                                        "[::1]:9300",     "[::ffff:10.0.0.1]:1", "localhost",
                                        "LocalHost:9300", "a.example",           "B.example:80"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        cr_assert(ls_http_host_is_known(known[i], " a.example,b.example "), "%s", known[i]);
    }
}

Test(http_guard, other_hosts_and_what_is_none_are_not_known)
{
    static const char *const other[] = {"",
                                        ":80",
                                        "evil.example",
                                        "xa.example",
                                        "a.example.evil",
                                        "a",
                                        "[::1",
                                        "[::1]x",
                                        "[]",
                                        "127.0.0.1.evil.example",
                                        "127.0.0.1x",
                                        "127.0.0.",
                                        "localhost:80x",
                                        "localhost.evil",
                                        "localhost@evil",
                                        "[g::1]",
                                        "127.0.0.1:80:evil",
                                        "a.example,b.example",
                                        "12"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        cr_assert(!ls_http_host_is_known(other[i], "a.example, b.example"), "%s", other[i]);
    }
    cr_assert(!ls_http_host_is_known("a.example", NULL));
}

Test(http_guard, an_address_has_ten_wrong_tokens_and_one_a_second)
{
    ls_http_guard guard = {.count = 0};
    ls_endpoint hostile = address(1);
    ls_endpoint other = address(2);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        taken += ls_http_guard_count(&guard, &hostile, 100 * SECOND);
    }
    cr_assert_eq(taken, 10);
    cr_assert(ls_http_guard_count(&guard, &other, 100 * SECOND));
    cr_assert(ls_http_guard_count(&guard, &hostile, 101 * SECOND));
    cr_assert(!ls_http_guard_count(&guard, &hostile, 101 * SECOND));
}

Test(http_guard, many_addresses_take_the_place_of_those_that_were_not_there_for_long)
{
    ls_http_guard guard = {.count = 0};
    ls_endpoint hostile = address(1);
    for (uint32_t i = 0; i < 10; i++) {
        cr_assert(ls_http_guard_count(&guard, &hostile, 100 * SECOND));
    }
    for (uint32_t i = 0; i < 1000; i++) {
        ls_endpoint other = address(2 + i);
        cr_assert(ls_http_guard_count(&guard, &other, 100 * SECOND));
    }
    cr_assert(!ls_http_guard_count(&guard, &hostile, 100 * SECOND));
}

Test(http_guard, addresses_of_one_56_of_ipv6_share_their_wrong_tokens)
{
    ls_http_guard guard = {.count = 0};
    ls_endpoint from = {.address = {0x20, 1, 0x0d, 0xb8, 0, 1, 2}};
    for (uint8_t i = 0; i < 10; i++) {
        from.address[7] = i;
        from.address[15] = i;
        cr_assert(ls_http_guard_count(&guard, &from, SECOND));
    }
    cr_assert_not(ls_http_guard_count(&guard, &from, SECOND));
    from.address[6]++;
    cr_assert(ls_http_guard_count(&guard, &from, SECOND), "its neighbour");
}

Test(http_guard, a_line_a_minute_says_how_many_there_were)
{
    ls_log log = {.level = LS_LOG_INFO, .write = count_line};
    ls_http_guard guard = {.count = 0};
    ls_endpoint hostile = address(0x0100000a);
    ls_http_guard_log(&guard, &log, 100 * SECOND);
    cr_assert_eq(lines, 0);
    for (uint32_t second = 100; second < 220; second++) {
        for (uint32_t i = 0; i < 50; i++) {
            (void)ls_http_guard_count(&guard, &hostile, second * SECOND);
        }
        ls_http_guard_log(&guard, &log, second * SECOND);
    }
    cr_assert_eq(lines, 2);
    cr_assert(strstr(newest, "3000 wrong tokens"), "%s", newest);
    cr_assert(strstr(newest, "10.0.0.1"), "%s", newest);
}

/* ---- http_metrics ---- */

static char *written(fake_service *fake)
{
    ls_http_text text = {0};
    ls_http_metrics_write(fake_service_view(fake), &text);
    cr_assert(!text.is_cut);
    ls_http_text_add_bytes(&text, "", 1);
    return text.bytes;
}

static double value_of(const char *text, const char *series)
{
    char start[128];
    snprintf(start, sizeof start, "\n%s ", series);
    const char *at = strstr(text, start);
    cr_assert(at, "%s is missing", series);
    return strtod(at + strlen(start), NULL);
}

Test(http_metrics, rooms_have_lines_and_the_service_has_their_sums)
{
    fake_service *fake = fake_service_create();
    char *text = written(fake);
    cr_assert_eq(value_of(text, "lockstep_room_ticks_total{room=\"arena-1\"}"), 1000);
    cr_assert_eq(value_of(text, "lockstep_ticks_total"), 2000);
    cr_assert_eq(value_of(text, "lockstep_players"), 4);
    cr_assert_eq(value_of(text, "lockstep_inputs_total{result=\"late\"}"), 20);
    cr_assert_eq(value_of(text, "lockstep_rooms{state=\"running\"}"), 2);
    cr_assert_eq(value_of(text, "lockstep_room_desyncs_total{room=\"arena-2\",class=\"one-off\"}"),
                 1);
    cr_assert_eq(value_of(text, "lockstep_worker_cpu_seconds_total{worker=\"1\"}"), 1.5);
    free(text);
    fake_service_destroy(fake);
}

Test(http_metrics, histograms_are_in_seconds_and_summed_up)
{
    fake_service *fake = fake_service_create();
    char *text = written(fake);
    cr_assert_eq(value_of(text, "lockstep_tick_lateness_seconds_bucket{le=\"0.00025\"}"), 1800);
    cr_assert_eq(value_of(text, "lockstep_tick_lateness_seconds_bucket{le=\"0.0005\"}"), 1980);
    cr_assert_eq(value_of(text, "lockstep_tick_lateness_seconds_bucket{le=\"+Inf\"}"), 2000);
    cr_assert_float_eq(value_of(text, "lockstep_tick_lateness_seconds_sum"), 0.6, 1e-9);
    free(text);
    fake_service_destroy(fake);
}

Test(http_metrics, totals_keep_what_rooms_that_are_gone_counted)
{
    fake_service *fake = fake_service_create();
    fake_service_end_room(fake, "arena-1");
    char *text = written(fake);
    cr_assert_eq(value_of(text, "lockstep_ticks_total"), 2000);
    cr_assert_eq(value_of(text, "lockstep_rooms_ended_total"), 1);
    cr_assert_eq(value_of(text, "lockstep_players"), 2);
    cr_assert_null(strstr(text, "room=\"arena-1\""));
    free(text);
    fake_service_destroy(fake);
}

static uint32_t count_lines(const char *text, const char *word)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

Test(http_metrics, a_summary_has_twenty_lines_a_room_and_none_has_none)
{
    fake_service *fake = fake_service_create();
    ls_service_view view = *fake_service_view(fake);
    ls_http_text text = {0};
    view.room_metrics = "summary";
    ls_http_metrics_write(&view, &text);
    ls_http_text_add_bytes(&text, "", 1);
    cr_assert_eq(count_lines(text.bytes, "{room=\"arena-1\""), 20);
    cr_assert_eq(value_of(text.bytes, "lockstep_room_desyncs_total{room=\"arena-1\"}"), 1);
    cr_assert_eq(
        value_of(text.bytes, "lockstep_room_tick_lateness_seconds_count{room=\"arena-1\"}"), 1000);
    cr_assert_eq(value_of(text.bytes, "lockstep_tick_lateness_seconds_bucket{le=\"0.0005\"}"), 1980,
                 "the service has its bins");
    ls_http_text_deinit(&text);
    view.room_metrics = "none";
    ls_http_metrics_write(&view, &text);
    ls_http_text_add_bytes(&text, "", 1);
    cr_assert_null(strstr(text.bytes, "lockstep_room_"));
    cr_assert_eq(value_of(text.bytes, "lockstep_ticks_total"), 2000);
    ls_http_text_deinit(&text);
    fake_service_destroy(fake);
}

Test(http_metrics, rooms_beyond_the_limit_are_one)
{
    fake_service *fake = fake_service_create();
    for (uint32_t i = 0; i < LS_HTTP_METRICS_ROOMS_MAX; i++) {
        char name[24];
        snprintf(name, sizeof name, "z-%03u", i);
        fake_service_add_room(fake, name)->counters.ticks = 5;
    }
    char *text = written(fake);
    cr_assert_eq(value_of(text, "lockstep_room_ticks_total{room=\"_others\"}"), 10);
    cr_assert_eq(value_of(text, "lockstep_room_ticks_total{room=\"z-253\"}"), 5);
    cr_assert_null(strstr(text, "z-254"));
    cr_assert_eq(value_of(text, "lockstep_ticks_total"), 2000 + 5 * LS_HTTP_METRICS_ROOMS_MAX);
    free(text);
    fake_service_destroy(fake);
}

Test(http_metrics, text_that_is_too_large_is_cut_and_says_so)
{
    ls_http_text text = {0};
    static const char piece[1 << 20];
    for (uint32_t i = 0; i < 32; i++) {
        ls_http_text_add_bytes(&text, piece, sizeof piece);
    }
    cr_assert(!text.is_cut);
    cr_assert_eq(text.size, LS_HTTP_TEXT_BYTES_MAX);
    ls_http_text_add(&text, "x");
    cr_assert(text.is_cut);
    cr_assert_eq(text.size, LS_HTTP_TEXT_BYTES_MAX);
    ls_http_text_deinit(&text);
}

/* ---- operators ---- */

#define ANN "ann admin 0123456789abcdef\n"
#define BOB "bob moderate fedcba9876543210\n"

static ls_operators operators;
static ls_text why;
static char folder[] = "/tmp/lockstep-operators-XXXXXX";
static char file[64], token[64];

static void start(void)
{
    memset(&operators, 0, sizeof operators);
    cr_assert_not_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/operators", folder);
    snprintf(token, sizeof token, "%s/token", folder);
}

static void end(void)
{
    remove(file);
    remove(token);
    rmdir(folder);
}

TestSuite(operators, .init = start, .fini = end);

static void expect_role(const char *of, const char *name, ls_operator_role role)
{
    const ls_operator *found = ls_operators_find(&operators, of);
    cr_assert(found, "nobody has %s", of);
    cr_expect_str_eq(found->name, name);
    cr_expect_eq(found->role, role);
}

static void expect_refused(const char *text, const char *words)
{
    memset(&operators, 0, sizeof operators);
    cr_expect_eq(ls_operators_parse(&operators, text, "FILE", &why), LS_BAD_ARGUMENT, "%s", text);
    cr_expect(strstr(why.bytes, words), "no \"%s\" in: %s", words, why.bytes);
}

Test(operators, each_has_a_role_by_a_token_of_its_own)
{
    cr_assert_eq(ls_operators_parse(&operators,
                                    "# who\n\n" ANN BOB "\t eve@home.example  view \t"
                                    "eve-eve-eve-eve-eve\r\n",
                                    "FILE", &why),
                 LS_OK, "%s", why.bytes);
    expect_role("0123456789abcdef", "ann", LS_OPERATOR_ADMIN);
    expect_role("fedcba9876543210", "bob", LS_OPERATOR_MODERATE);
    expect_role("eve-eve-eve-eve-eve", "eve@home.example", LS_OPERATOR_VIEW);
    cr_expect_null(ls_operators_find(&operators, "0123456789abcde"));
    cr_expect_null(ls_operators_find(&operators, "0123456789abcdef0"));
    cr_expect_null(ls_operators_find(&operators, "0123456789abcdef0123456789abcdef"));
    cr_expect_null(ls_operators_find(&operators, ""));
}

Test(operators, line_that_is_none_is_refused_by_its_number_and_not_quoted)
{
    expect_refused("ann\n", "FILE: line 1: an operator is NAME ROLE TOKEN");
    expect_refused(ANN "bob root fedcba9876543210\n", "line 2: an operator is");
    expect_refused("bob view fedcba9876543210 more\n", "line 1: an operator is");
    expect_refused("bob view short\n", "line 1: a token is one word");
    expect_refused("b/b view fedcba9876543210\n", "line 1: an operator has a name");
    expect_refused("a-name-that-is-longer-than-it-may-be view fedcba9876543210\n", "has a name");
    expect_refused(ANN "ann view fedcba9876543210\n", "line 2: an operator has a name of its own");
    expect_refused(ANN "bob view 0123456789abcdef\n", "line 2: a token is one word");
    cr_expect_null(strstr(why.bytes, "0123456789abcdef"), "%s", why.bytes);
    char longest[400] = "bob view ";
    memset(longest + 9, 'x', 255);
    cr_expect_eq(ls_operators_parse(&operators, longest, "FILE", &why), LS_OK, "%s", why.bytes);
    memset(longest + 9, 'y', 256);
    expect_refused(longest, "a token is one word");
    memset(longest + 9, 'y', 300);
    expect_refused(longest, "a token is one word");
}

Test(operators, there_are_so_many_and_no_more)
{
    for (unsigned i = 0; i < LS_OPERATORS_MAX; i++) {
        char name[8];
        char secret[32];
        snprintf(name, sizeof name, "n%u", i);
        snprintf(secret, sizeof secret, "token-of-nobody-%u", i);
        cr_assert_eq(ls_operators_add(&operators, name, LS_OPERATOR_VIEW, secret, &why), LS_OK);
    }
    cr_expect_eq(ls_operators_add(&operators, "one", LS_OPERATOR_VIEW, "0123456789abcdef", &why),
                 LS_FULL);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    remove(path);
    FILE *out = fopen(path, "w");
    cr_assert(out && fputs(text, out) >= 0 && fclose(out) == 0);
    cr_assert_eq(chmod(path, mode), 0);
}

static uint32_t operators_lines;

static void operators_count_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
    operators_lines++;
}

Test(operators, files_are_read_again_when_they_change)
{
    const ls_log log = {.level = LS_LOG_INFO, .write = operators_count_line};
    ls_operator_files files = {.token_path = token, .operators_path = file};
    write_file(token, "the-token-of-the-service\n", 0600);
    write_file(file, ANN, 0644);
    cr_expect_eq(ls_operators_read(&files, &operators, &why), LS_IO, "others may read it");
    cr_expect_eq(operators.count, 0);
    write_file(file, ANN, 0600);
    cr_assert_eq(ls_operators_read(&files, &operators, &why), LS_OK, "%s", why.bytes);
    expect_role("the-token-of-the-service", "token", LS_OPERATOR_ADMIN);
    expect_role("0123456789abcdef", "ann", LS_OPERATOR_ADMIN);
    ls_operators_watch(&files, &operators, &log);
    cr_expect_eq(operators_lines, 0);
    write_file(file, BOB "#\n", 0600);
    ls_operators_watch(&files, &operators, &log);
    cr_expect_eq(operators_lines, 1);
    expect_role("fedcba9876543210", "bob", LS_OPERATOR_MODERATE);
    cr_expect_null(ls_operators_find(&operators, "0123456789abcdef"), "ann is gone");
    write_file(file, "bob view\n###\n", 0600);
    ls_operators_watch(&files, &operators, &log);
    ls_operators_watch(&files, &operators, &log);
    cr_expect_eq(operators_lines, 2, "once");
    expect_role("fedcba9876543210", "bob", LS_OPERATOR_MODERATE);
    const ls_operator_files none = {.token_path = ""};
    files = none;
    cr_assert_eq(ls_operators_read(&files, &operators, &why), LS_OK);
    cr_expect_eq(operators.count, 0);
}

Test(operators, audit_keeps_the_newest_and_shows_what_can_be_shown)
{
    static ls_audit_log audit;
    for (uint32_t i = 0; i < LS_AUDIT_KEPT + 3; i++) {
        ls_audit_entry entry = {.name = "ann", .what = "POST drain\x1b[2J", .status = i};
        ls_audit_log_add(&audit, &entry);
    }
    ls_json *json = ls_json_create();
    ls_audit_log_write(&audit, json);
    uint32_t count = 0;
    for (const ls_json *entry = ls_json_read_members(json, "entries"); entry;
         entry = ls_json_next(entry)) {
        double number = 0;
        cr_assert(ls_json_read_number(entry, "number", &number));
        cr_assert_eq(number, 4 + count++);
        cr_assert_str_eq(ls_json_read_text(entry, "what"), "POST drain?[2J");
    }
    cr_expect_eq(count, LS_AUDIT_KEPT);
    ls_json_destroy(json);
}
