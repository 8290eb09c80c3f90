#include "lockstep/common/program/json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

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
