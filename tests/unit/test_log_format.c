#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/log_format.h"

#include "lockstep/common/program/console.h"
#include "lockstep/common/program/json.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdlib.h>
#include <string.h>

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
