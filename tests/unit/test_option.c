/* Options, JSON and frame traces that are read, and lines of a log. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/frame_trace.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/program/log_format.h"
#include "lockstep/common/program/option.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== json_read ==== */

static ls_json *parse(const char *text)
{
    return ls_json_parse(text, strlen(text));
}

static void expect_refused(const char *text)
{
    ls_json *json = parse(text);
    cr_assert_null(json, "%s was taken", text);
}

Test(json_read, bytes_that_are_no_json_as_a_whole_are_refused)
{
    expect_refused("");
    expect_refused("{");
    expect_refused("{} {}");
    expect_refused("{\"a\":1,}");
    expect_refused("[1,2");
    expect_refused("\"open");
    cr_assert_null(ls_json_parse("{}\0{}", 5));
}

/* One reader takes these, and another one reads something else or nothing. */
Test(json_read, json_that_two_readers_read_in_two_ways_is_refused)
{
    static const char *const bad[] = {
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"b\":2,\"\\u0061\":2}",
        "{\"x\":[{\"a\":{\"b\":1,\"c\":2,\"b\":1}}]}",
        "{\"a\":01}",
        "{\"a\":-01}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":1.}",
        "{\"a\":1e}",
        "{\"a\":1e+}",
        "{\"a\":0x10}",
        "{\"a\":-}",
        "{\"a\":1-1}",
        "{\"a\":Infinity}",
        "{\"a\":True}",
        "{\"a\":\"\t\"}",
        "{\"a\":\"\n\"}",
        "{\"a\":\v1}",
        "{\"a\":1\x01}",
        "\xef\xbb\xbf{\"a\":1}",
        "{\"a\":1}\xa0",
        "{\"a\":/**/1}",
    };
    static const char *const good[] = {
        "{\"a\":0,\"A\":0,\"b\":{\"a\":0}}",
        "{\"a\":[-0, 0.50, 1e5, 1E-5, 10.0e+10, true, false, null]}",
        " \t\r\n{ \"a\" : \"\\u0061\\\\u0000\\t\xff\" } ",
        "[{\"a\":1},{\"a\":1}]",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_refused(bad[i]);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ls_json *json = parse(good[i]);
        cr_expect_not_null(json, "%s", good[i]);
        ls_json_destroy(json);
    }
}

Test(json_read, an_object_has_a_limit_of_keys)
{
    char text[4096] = "{";
    for (uint32_t i = 0; i < 256; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\"%u\":0", i ? "," : "", i);
    }
    size_t size = strlen(text);
    memcpy(text + size, "}", 2);
    ls_json *json = parse(text);
    cr_assert_not_null(json);
    ls_json_destroy(json);
    memcpy(text + size, ",\"x\":0}", sizeof ",\"x\":0}");
    expect_refused(text);
}

Test(json_read, nesting_has_a_limit_and_brackets_in_texts_do_not_count)
{
    char deep[66 + 1] = {0};
    memset(deep, '[', 33);
    memset(deep + 33, ']', 33);
    expect_refused(deep);
    deep[66 - 1] = '\0'; /* 32 of both */
    ls_json *json = parse(deep + 1);
    cr_assert_not_null(json);
    ls_json_destroy(json);
    json = parse("{\"a\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\\\",\"b\":\"\\\"{\"}");
    cr_assert_not_null(json);
    cr_assert_str_eq(ls_json_read_text(json, "b"), "\"{");
    ls_json_destroy(json);
}

Test(json_read, a_value_of_another_type_counts_as_missing)
{
    ls_json *json =
        parse("{\"n\":1.5,\"t\":\"x\",\"b\":true,\"big\":1e300,\"less\":-1,\"h\":\"00ff\"}");
    uint64_t whole = 7;
    uint32_t small = 7;
    double number = 7;
    bool is_true = false;
    cr_assert_null(ls_json_read_text(json, "n"));
    cr_assert_null(ls_json_read_text(json, "none"));
    cr_assert_not(ls_json_read_number(json, "t", &number));
    cr_assert_not(ls_json_read_u64(json, "n", &whole));
    cr_assert_not(ls_json_read_u64(json, "big", &whole));
    cr_assert_not(ls_json_read_u64(json, "less", &whole));
    cr_assert_not(ls_json_read_u32(json, "big", &small));
    cr_assert_not(ls_json_read_bool(json, "n", &is_true));
    cr_assert_not(ls_json_read_hash(json, "h", &whole));
    cr_assert_null(ls_json_read_object(json, "t"));
    cr_assert_eq(whole, 7);
    cr_assert(ls_json_read_bool(json, "b", &is_true) && is_true);
    cr_assert(ls_json_read_number(json, "n", &number) && number == 1.5);
    ls_json_destroy(json);
}

typedef struct sample {
    uint16_t tiny;
    uint32_t small;
    uint64_t large;
    double share;
    bool is_on;
    char name[8];
} sample;

static const ls_json_field fields[] = {
    LS_JSON_FIELD(sample, tiny),  LS_JSON_FIELD(sample, small), LS_JSON_FIELD(sample, large),
    LS_JSON_FIELD(sample, share), LS_JSON_FIELD(sample, is_on), LS_JSON_FIELD(sample, name),
};

Test(json_read, a_struct_reads_back_as_it_was_written)
{
    const sample before = {65535, 4000000000u, UINT64_C(999999999999999), 0.25, true, "1234567"};
    ls_json *json = ls_json_create();
    LS_JSON_ADD(json, fields, &before);
    char *line = ls_json_print_line(json);
    ls_json_destroy(json);
    json = parse(line);
    sample after;
    memset(&after, 0, sizeof after);
    cr_assert(LS_JSON_TAKE(json, fields, &after));
    cr_assert_eq(after.tiny, before.tiny);
    cr_assert_eq(after.small, before.small);
    cr_assert_eq(after.large, before.large);
    cr_assert(after.share == before.share && after.is_on);
    cr_assert_str_eq(after.name, before.name);
    ls_json_destroy(json);
    ls_json_release_line(line);
}

Test(json_read, a_text_that_does_not_fit_leaves_the_field_alone)
{
    ls_json *json = parse("{\"name\":\"12345678\",\"tiny\":65536}");
    sample after = {.tiny = 3, .name = "old"};
    cr_assert_not(LS_JSON_TAKE(json, fields, &after));
    cr_assert_str_eq(after.name, "old");
    cr_assert_eq(after.tiny, 3);
    ls_json_destroy(json);
}

Test(json_read, members_are_visited_in_their_order_as_text)
{
    ls_json *json = parse("{\"a\":3,\"b\":true,\"c\":\"x\",\"d\":0.5,\"e\":null}");
    static const char *const keys[] = {"a", "b", "c", "d", "e"};
    static const char *const texts[] = {"3", "on", "x", "0.5", NULL};
    uint32_t count = 0;
    for (const ls_json *member = ls_json_first(json); member; member = ls_json_next(member)) {
        char text[8];
        cr_assert_str_eq(ls_json_key(member), keys[count]);
        bool is_text = ls_json_value_text(member, text, sizeof text);
        cr_assert_eq(is_text, texts[count] != NULL);
        if (is_text) {
            cr_assert_str_eq(text, texts[count]);
        }
        count++;
    }
    cr_assert_eq(count, 5);
    ls_json_destroy(json);
}

static void expect_text(const char *number, const char *expected)
{
    char text[40];
    ls_json *json = parse(number);
    bool is_text = ls_json_value_text(json, text, sizeof text);
    cr_assert_eq(is_text, expected != NULL, "%s", number);
    if (expected) {
        cr_assert_str_eq(text, expected);
    }
    ls_json_destroy(json);
}

/* A seed of 16 digits is taken as it is, or not at all. */
Test(json_read, a_number_is_taken_exactly_or_refused)
{
    expect_text("1234567890123456", "1234567890123456");
    expect_text("9007199254740991", "9007199254740991");
    expect_text("-9007199254740991", "-9007199254740991");
    expect_text("9007199254740992", NULL);
    expect_text("9007199254740993", NULL);
    expect_text("-9007199254740993", NULL);
    expect_text("1e300", NULL);
    expect_text("0.1", "0.1");
    expect_text("0.30000000000000004", "0.30000000000000004");
    expect_text("-2.5e-7", "-2.5e-07");
    expect_text("-0", "0");
}

Test(json_read, a_text_with_a_nul_is_refused_and_one_that_only_looks_so_is_not)
{
    static const char *const bad[] = {"\"a\\u0000b\"", "{\"a\\u0000\":1}", "[\"\\\\\\u0000\"]"};
    static const char *const good[] = {"\"a\\\\u0000b\"", "\"\\u00001\\u0001\""};
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_null(ls_json_parse(bad[i], strlen(bad[i])), "%s", bad[i]);
    }
    ls_json_destroy(parse(good[0]));
    cr_assert_null(ls_json_parse(good[1], strlen(good[1])));
}

/* ==== frame_trace ==== */

static ls_frame_trace trace;
static ls_text trace_why;

static ls_status parse_frames(const char *text)
{
    trace_why = (ls_text){{0}};
    trace = (ls_frame_trace){0};
    return ls_frame_trace_parse(text, strlen(text), "frames.txt", ls_allocator_heap(), &trace,
                                &trace_why);
}

static void release(void)
{
    ls_frame_trace_release(&trace, ls_allocator_heap());
    cr_assert(trace.frames_ns == NULL && trace.count == 0);
}

TestSuite(frame_trace, .fini = release);

Test(frame_trace, a_line_is_a_frame)
{
    cr_assert_eq(parse_frames("16666667\n1\n33333333\n"), LS_OK);
    cr_assert_eq(trace.count, 3);
    cr_assert_eq(trace.frames_ns[0], 16666667);
    cr_assert_eq(trace.frames_ns[1], 1);
    cr_assert_eq(trace.frames_ns[2], 33333333);
}

Test(frame_trace, comments_blanks_and_empty_lines_say_nothing)
{
    cr_assert_eq(parse_frames("# frames\r\n\r\n  10 \t# the first\r\n\n#5\n20"), LS_OK);
    cr_assert_eq(trace.count, 2);
    cr_assert(trace.frames_ns[0] == 10 && trace.frames_ns[1] == 20);
}

Test(frame_trace, a_frame_lasts_an_hour_at_most)
{
    cr_assert_eq(parse_frames("3600000000000\n"), LS_OK);
    cr_assert_eq(trace.frames_ns[0], LS_FRAME_TRACE_FRAME_MAX_NS);
    release();
    cr_assert_eq(parse_frames("3600000000001\n"), LS_BAD_ARGUMENT);
}

Test(frame_trace, a_line_that_is_no_frame_is_refused_with_its_number)
{
    static const char *const bad[] = {"0",  "-1",       "+1",  "1.5",  "1 2",
                                      "x",  "0x10",     "1e3", "16ms", "18446744073709551617",
                                      "1,", "1\x80\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "# head\n5\n%s\n7\n", bad[i]);
        cr_expect_eq(parse_frames(text), LS_BAD_ARGUMENT, "%s", bad[i]);
        cr_expect(strstr(trace_why.bytes, "frames.txt, line 3:"), "%s", trace_why.bytes);
        cr_expect(trace.frames_ns == NULL, "nothing is left behind");
    }
}

Test(frame_trace, no_frames_at_all_are_refused)
{
    static const char *const bad[] = {"", "\n", "# nothing\n\n", "   "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_expect_eq(parse_frames(bad[i]), LS_BAD_ARGUMENT, "%zu", i);
        cr_expect(strstr(trace_why.bytes, "holds no frames"), "%s", trace_why.bytes);
    }
    static const char zeros[8] = {0};
    cr_assert_eq(
        ls_frame_trace_parse(zeros, sizeof zeros, "zeros", ls_allocator_heap(), &trace, &trace_why),
        LS_BAD_ARGUMENT);
}

Test(frame_trace, a_recorded_trace_can_be_read)
{
    char path[] = "/tmp/lockstep-frames-XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
    ls_frame_recorder recorder = {0};
    cr_assert_eq(ls_frame_recorder_open(&recorder, path, &trace_why), LS_OK);
    uint64_t now_ns = 5;
    for (uint32_t i = 0; i <= 20000; i++) {
        ls_frame_recorder_begin_frame(&recorder, now_ns);
        now_ns += 1 + i;
    }
    ls_frame_recorder_begin_frame(&recorder, now_ns - 20001); /* no time has passed: no frame */
    cr_assert_eq(ls_frame_recorder_close(&recorder, &trace_why), LS_OK);
    cr_assert_eq(ls_frame_trace_read(path, ls_allocator_heap(), &trace, &trace_why), LS_OK);
    cr_assert_eq(trace.count, 20000);
    for (uint32_t i = 0; i < trace.count; i++) {
        cr_assert_eq(trace.frames_ns[i], 1 + i);
    }
    unlink(path);
}

Test(frame_trace, a_recorder_that_is_not_open_does_nothing)
{
    ls_frame_recorder recorder = {0};
    ls_frame_recorder_begin_frame(&recorder, 1);
    ls_frame_recorder_begin_frame(&recorder, 2);
    cr_assert_eq(ls_frame_recorder_close(&recorder, &trace_why), LS_OK);
}

Test(frame_trace, a_file_that_cannot_be_is_named)
{
    ls_frame_recorder recorder = {0};
    cr_assert_eq(ls_frame_recorder_open(&recorder, "/nonexistent/frames", &trace_why), LS_IO);
    cr_assert(strstr(trace_why.bytes, "/nonexistent/frames"));
    cr_assert_eq(
        ls_frame_trace_read("/nonexistent/frames", ls_allocator_heap(), &trace, &trace_why), LS_IO);
    cr_assert(strstr(trace_why.bytes, "/nonexistent/frames"));
}

Test(frame_trace, a_file_beyond_the_limit_is_refused_with_its_size)
{
    char path[] = "/tmp/lockstep-frames-XXXXXX";
    int file = mkstemp(path);
    cr_assert_eq(ftruncate(file, (off_t)LS_FRAME_TRACE_BYTES_MAX + 1), 0);
    close(file);
    cr_expect_eq(ls_frame_trace_read(path, ls_allocator_heap(), &trace, &trace_why), LS_FULL);
    cr_expect(strstr(trace_why.bytes, "67108865 bytes, more than 67108864"), "%s", trace_why.bytes);
    unlink(path);
}

#ifndef _WIN32
/* Frames are recorded while a match runs, which a reader that is slow must not stop. */
Test(frame_trace, a_pipe_is_not_waited_for)
{
    char path[] = "/tmp/lockstep-frames-XXXXXX";
    ls_frame_recorder recorder = {0};
    cr_assert(mkdtemp(path));
    char pipe[sizeof path + 8];
    snprintf(pipe, sizeof pipe, "%s/pipe", path);
    cr_assert_eq(mkfifo(pipe, 0600), 0);
    cr_expect_eq(ls_frame_recorder_open(&recorder, pipe, &trace_why), LS_IO);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    cr_assert_eq(ls_frame_recorder_open(&recorder, pipe, &trace_why), LS_OK);
    for (uint64_t now_ns = 1; now_ns < 200000; now_ns++) { /* more than any pipe holds */
        ls_frame_recorder_begin_frame(&recorder, now_ns * 1000000);
    }
    cr_expect_eq(ls_frame_recorder_close(&recorder, &trace_why), LS_IO);
    cr_expect(strstr(trace_why.bytes, pipe), "%s", trace_why.bytes);
    close(reader);
    unlink(pipe);
    rmdir(path);
}

Test(frame_trace, a_full_disk_is_told)
{
    ls_frame_recorder recorder = {0};
    cr_assert_eq(ls_frame_recorder_open(&recorder, "/dev/full", &trace_why), LS_OK);
    for (uint64_t now_ns = 1; now_ns < 10000; now_ns++) {
        ls_frame_recorder_begin_frame(&recorder, now_ns);
    }
    cr_assert_eq(ls_frame_recorder_close(&recorder, &trace_why), LS_IO);
    cr_assert(strstr(trace_why.bytes, "/dev/full"));
}
#endif

/* ==== option ==== */

static const ls_option_range whole = {0, UINT64_MAX};
static const ls_option_range players = {1, 32};

Test(option, a_number_in_its_range_is_taken)
{
    static const struct {
        const char *text;
        uint64_t number;
    } numbers[] = {{"1", 1}, {"32", 32}, {"007", 7}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        uint64_t number = 99;
        cr_assert_eq(ls_option_number("players", numbers[i].text, players, &number, NULL), LS_OK);
        cr_assert_eq(number, numbers[i].number);
    }
    uint64_t number = 99;
    cr_assert_eq(ls_option_number("seed", "18446744073709551615", whole, &number, NULL), LS_OK);
    cr_assert_eq(number, UINT64_MAX);
    cr_assert_eq(ls_option_number("seed", "0", whole, &number, NULL), LS_OK);
    cr_assert_eq(number, 0);
}

Test(option, anything_else_is_refused_with_what_would_be_right)
{
    static const char *const values[] = {"",
                                         "0",
                                         "33",
                                         "-1",
                                         "+1",
                                         " 1",
                                         "1 ",
                                         "1.5",
                                         "0x10",
                                         "1e1",
                                         "two",
                                         "4294967297",
                                         "18446744073709551617"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        ls_text why = {{0}};
        char sentence[200];
        uint64_t number = 99;
        snprintf(sentence, sizeof sentence, "--players takes a number from 1 to 32, not '%s'",
                 values[i]);
        cr_assert_eq(ls_option_number("players", values[i], players, &number, &why),
                     LS_BAD_ARGUMENT, "'%s'", values[i]);
        cr_assert_str_eq(why.bytes, sentence);
        cr_assert_eq(number, 99);
    }
}

Test(option, a_number_beyond_64_bits_does_not_wrap)
{
    static const char *const values[] = {"18446744073709551616", "18446744073709551620",
                                         "99999999999999999999", "184467440737095516150"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        uint64_t number = 99;
        cr_assert_eq(ls_option_number("seed", values[i], whole, &number, NULL), LS_BAD_ARGUMENT);
        cr_assert_eq(number, 99);
    }
}

static const char *const words[] = {"report", "drop", "stop"};

Test(option, a_word_gives_its_index)
{
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t index = 99;
        cr_assert_eq(ls_option_word("on-desync", words[i], words, 3, &index, NULL), LS_OK);
        cr_assert_eq(index, i);
    }
}

Test(option, an_unknown_word_is_refused_with_those_that_exist)
{
    static const char *const values[] = {"", "Report", "reports", "rep", "2"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        ls_text why = {{0}};
        uint32_t index = 99;
        char sentence[100];
        snprintf(sentence, sizeof sentence, "--on-desync takes report or drop or stop, not '%s'",
                 values[i]);
        cr_assert_eq(ls_option_word("on-desync", values[i], words, 3, &index, &why),
                     LS_BAD_ARGUMENT);
        cr_assert_str_eq(why.bytes, sentence);
        cr_assert_eq(index, 99);
    }
}

/* ---- decimals ---- */

static const ls_option_range percent = {0, 100};

Test(option, a_decimal_is_taken_in_units_of_its_last_place)
{
    static const struct {
        const char *text;
        uint64_t number;
    } numbers[] = {{"0", 0},      {"100", 1000000},  {"5", 50000},        {"2.5", 25000},
                   {"0.0001", 1}, {"007.50", 75000}, {"99.9999", 999999}, {"100.0000", 1000000}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        uint64_t number = 99;
        cr_assert_eq(ls_option_decimal("loss", numbers[i].text, 4, percent, &number, NULL), LS_OK,
                     "'%s'", numbers[i].text);
        cr_assert_eq(number, numbers[i].number, "'%s'", numbers[i].text);
    }
}

Test(option, another_decimal_is_refused_with_what_would_be_right)
{
    static const char *const values[] = {"",
                                         ".",
                                         ".5",
                                         "5.",
                                         "-1",
                                         "+1",
                                         "1,5",
                                         "1e1",
                                         " 1",
                                         "1 ",
                                         "100.0001",
                                         "101",
                                         "1.2.3",
                                         "1..2",
                                         "0x1",
                                         "nan",
                                         "1.00000",
                                         "1.5%",
                                         "18446744073709551616",
                                         "1844674407370955.1616"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        ls_text why = {{0}};
        uint64_t number = 99;
        cr_assert_eq(ls_option_decimal("loss", values[i], 4, percent, &number, &why),
                     LS_BAD_ARGUMENT, "'%s'", values[i]);
        cr_assert_eq(number, 99);
        char sentence[200];
        snprintf(sentence, sizeof sentence,
                 "--loss takes a number from 0 to 100 with up to 4 decimals, not '%s'", values[i]);
        cr_assert_str_eq(why.bytes, sentence);
    }
}

Test(option, the_least_counts_with_its_decimals)
{
    uint64_t number = 99;
    ls_option_range range = {1, 2};
    cr_assert_eq(ls_option_decimal("x", "0.9", 1, range, &number, NULL), LS_BAD_ARGUMENT);
    cr_assert_eq(ls_option_decimal("x", "1.0", 1, range, &number, NULL), LS_OK);
    cr_assert_eq(number, 10);
    cr_assert_eq(ls_option_decimal("x", "2.1", 1, range, &number, NULL), LS_BAD_ARGUMENT);
    cr_assert_eq(number, 10);
}

Test(option, without_places_there_is_no_point)
{
    uint64_t number = 99;
    cr_assert_eq(ls_option_decimal("x", "7", 0, percent, &number, NULL), LS_OK);
    cr_assert_eq(number, 7);
    cr_assert_eq(ls_option_decimal("x", "7.0", 0, percent, &number, NULL), LS_BAD_ARGUMENT);
}

Test(option, flags_that_are_spelled_almost_so_are_near)
{
    static const char *const near[][2] = {
        {"ticks", "tiks"},  {"ticks", "tickss"},           {"ticks", "tocks"},
        {"ticks", "tikcs"}, {"invite-host", "invitehost"}, {"ticks", "ticks"}};
    static const char *const far[][2] = {
        {"ticks", "players"}, {"ticks", "tks x"}, {"ticks", ""}, {"ticks", "skcit"}, {"", "ab"}};
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
        cr_expect(ls_flag_is_near(near[i][0], near[i][1]), "%s %s", near[i][0], near[i][1]);
    }
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        cr_expect_not(ls_flag_is_near(far[i][0], far[i][1]), "%s %s", far[i][0], far[i][1]);
    }
}

Test(option, a_text_that_is_empty_is_refused_and_one_that_is_left_out_is_not)
{
    static const ls_setting_row row = {LS_SETTING_IS_TEXT, .flag = "token-key", .argument = "FILE"};
    const char *path = "as before";
    char given[] = "key";
    char empty[] = "";
    ls_text why = {{0}};
    cr_assert_eq(ls_setting_read(&row, &path, given, &why), LS_OK);
    cr_assert_str_eq(path, "key");
    cr_assert_eq(ls_setting_read(&row, &path, empty, &why), LS_BAD_ARGUMENT);
    cr_assert_str_eq(why.bytes, "--token-key is empty: leave it out for none");
    cr_assert_str_eq(path, "key");
    cr_assert_eq(ls_setting_read(&row, &path, NULL, &why), LS_OK);
    cr_assert_str_eq(path, "");
}

/* ==== log_format ==== */

#define TIME_MS UINT64_C(1700000000123) /* 2023-11-14T22:13:20.123Z */

/* The line that is written, without its newline; for free. */
static char *written(ls_log_format format, ls_log_level level, const char *message)
{
    const ls_log_entry entry = {TIME_MS, level, "lockstep-server", "arena-1: ", message};
    char *line = calloc(1, 8192);
    size_t length = ls_log_format_write(format, &entry, line, 8192);
    cr_assert_eq(length, strlen(line));
    cr_assert(length > 0 && line[length - 1] == '\n');
    line[length - 1] = '\0';
    return line;
}

Test(log_format, words_name_formats)
{
    ls_log_format format = LS_LOG_FORMAT_TEXT;
    ls_text why = {{0}};
    cr_assert_eq(ls_log_format_read("json", &format, &why), LS_OK);
    cr_assert_eq(format, LS_LOG_FORMAT_JSON);
    cr_assert_eq(ls_log_format_read("journald", &format, &why), LS_OK);
    cr_assert_eq(format, LS_LOG_FORMAT_JOURNALD);
    cr_assert_eq(ls_log_format_read("xml", &format, &why), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, "journald"));
    cr_assert_eq(format, LS_LOG_FORMAT_JOURNALD, "a word that is refused changes nothing");
}

Test(log_format, times_are_rfc_3339)
{
    char when[LS_LOG_TIME_BYTES];
    ls_log_format_time(0, when);
    cr_assert_str_eq(when, "1970-01-01T00:00:00.000Z");
    ls_log_format_time(TIME_MS, when);
    cr_assert_str_eq(when, "2023-11-14T22:13:20.123Z");
    ls_log_format_time(UINT64_MAX, when);
    cr_assert_str_eq(when, "9999-12-31T23:59:59.999Z");
}

Test(log_format, text_is_for_people)
{
    char *line = written(LS_LOG_FORMAT_TEXT, LS_LOG_WARNING, "slow");
    cr_assert_str_eq(line, "lockstep-server: warning: arena-1: slow");
    free(line);
}

Test(log_format, journald_reads_a_priority)
{
    static const char *const lines[] = {"<3>arena-1: x", "<4>arena-1: x", "<6>arena-1: x",
                                        "<7>arena-1: x"};
    for (int level = LS_LOG_ERROR; level <= LS_LOG_DEBUG; level++) {
        char *line = written(LS_LOG_FORMAT_JOURNALD, (ls_log_level)level, "x");
        cr_assert_str_eq(line, lines[level]);
        free(line);
    }
}

Test(log_format, json_is_an_object_a_line)
{
    char *line = written(LS_LOG_FORMAT_JSON, LS_LOG_INFO, "a \"quote\"");
    cr_assert_str_eq(line, "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"info\","
                           "\"program\":\"lockstep-server\",\"subject\":\"arena-1\","
                           "\"message\":\"a \\\"quote\\\"\"}");
    free(line);
}

Test(log_format, no_message_breaks_a_line)
{
    static const char hostile[] =
        "a\n<0>b\r\033[2J\x7f\xff\xc3(\xe2\x80\xa8\xc2\x85\xed\xa0\x80 \xc3\xa9";
    char clean[64];
    ls_log_format_clean(hostile, clean, sizeof clean);
    cr_assert_str_eq(clean, "a <0>b ?[2J??\?(????\? \xc3\xa9");
    for (ls_log_format format = LS_LOG_FORMAT_TEXT; format <= LS_LOG_FORMAT_JOURNALD; format++) {
        char *line = written(format, LS_LOG_INFO, hostile);
        cr_expect_null(strchr(line, '\n'), "%d", (int)format);
        cr_expect_null(strchr(line, '\033'), "%d", (int)format);
        cr_expect(strstr(line, "\\n") == NULL && strstr(line, "\xff") == NULL, "%d", (int)format);
        free(line);
    }
}

Test(log_format, a_character_is_never_cut_in_two)
{
    char clean[4];
    ls_log_format_clean("ab\xc3\xa9", clean, sizeof clean);
    cr_assert_str_eq(clean, "ab");
    ls_log_format_clean("a\xc3\xa9z", clean, sizeof clean);
    cr_assert_str_eq(clean, "a\xc3\xa9");
}

Test(log_format, long_messages_are_cut)
{
    char *message = calloc(1, 5000);
    memset(message, 'x', 4999);
    char *line = written(LS_LOG_FORMAT_JOURNALD, LS_LOG_INFO, message);
    cr_assert_eq(strlen(line), strlen("<6>arena-1: ") + LS_LOG_LINE_BYTES_MAX - 1);
    free(line);
    free(message);
}

Test(log_format, a_line_that_does_not_fit_is_not_written)
{
    const ls_log_entry entry = {TIME_MS, LS_LOG_INFO, "x", "", "four"};
    const size_t sizes[] = {sizeof "x: four\n", sizeof "<6>four\n"};
    char line[256];
    cr_expect_eq(ls_log_format_write(LS_LOG_FORMAT_TEXT, &entry, line, sizes[0]), sizes[0] - 1);
    cr_expect_eq(ls_log_format_write(LS_LOG_FORMAT_TEXT, &entry, line, sizes[0] - 1), 0u);
    cr_expect_eq(ls_log_format_write(LS_LOG_FORMAT_JOURNALD, &entry, line, sizes[1]), sizes[1] - 1);
    cr_expect_eq(ls_log_format_write(LS_LOG_FORMAT_JOURNALD, &entry, line, sizes[1] - 1), 0u);
    size_t size = ls_log_format_write(LS_LOG_FORMAT_JSON, &entry, line, sizeof line);
    cr_expect_gt(size, 0u);
    cr_expect_eq(ls_log_format_write(LS_LOG_FORMAT_JSON, &entry, line, size), 0u);
}

Test(log_format, a_console_writes_in_its_format, .init = cr_redirect_stderr)
{
    ls_console console;
    ls_console_init(&console, "x", LS_LOG_INFO);
    console.is_live = true;
    ls_console_set_format(&console, LS_LOG_FORMAT_JOURNALD);
    cr_assert_not(console.is_live, "nothing is drawn between lines for a program");
    ls_log_line(&console.log, LS_LOG_ERROR, "gone");
    cr_assert_stderr_eq_str("<3>gone\n");
}

/* As a handler of signals writes it. */
static void expect_same(ls_log_format format, uint64_t unix_ms, const char *message)
{
    const ls_log_entry entry = {unix_ms, LS_LOG_ERROR, "lockstep-server", "arena-1: ", message};
    const ls_log_entry plain = {unix_ms, LS_LOG_ERROR, "lockstep-server", "arena-1", message};
    char line[4096] = "";
    char bytes[4096];
    ls_plain_text text = {.bytes = bytes, .capacity = sizeof bytes};
    ls_log_format_write(format, &entry, line, sizeof line);
    ls_log_format_add(format, &plain, &text);
    cr_assert_str_eq(bytes, line);
}

Test(log_format, plain_lines_are_the_same_without_memory_or_printf)
{
    for (int format = LS_LOG_FORMAT_TEXT; format <= LS_LOG_FORMAT_JOURNALD; format++) {
        expect_same((ls_log_format)format, TIME_MS, "it 'crashed' (here); look");
    }
    for (uint64_t day = 0; day < 400 * 366; day += 1) { /* every day up to a leap century's end */
        expect_same(LS_LOG_FORMAT_JSON, day * 86400000 + day % 86400000, "x");
    }
}

Test(log_format, plain_lines_stay_records_whatever_is_in_them)
{
    const ls_log_entry entry = {TIME_MS, LS_LOG_ERROR, "lockstep-server", "",
                                "a \"b\" \\ c\nd \xc3\xa9"};
    char bytes[256];
    ls_plain_text text = {.bytes = bytes, .capacity = sizeof bytes};
    ls_log_format_add(LS_LOG_FORMAT_JSON, &entry, &text);
    ls_json *json = ls_json_parse(bytes, strlen(bytes));
    cr_assert_not_null(json, "%s", bytes);
    cr_assert_str_eq(ls_json_read_text(json, "message"), "a ?b? ? c?d ??");
    cr_assert_null(ls_json_read_text(json, "subject"));
    ls_json_destroy(json);
    text = (ls_plain_text){.bytes = bytes, .capacity = 20};
    ls_log_format_add(LS_LOG_FORMAT_TEXT, &entry, &text);
    cr_assert_str_eq(bytes, "lockstep-server: er", "it is cut, and ends");
}
