#include "lockstep/common/base/text.h"

#include <criterion/criterion.h>
#include <string.h>

static void fill(char *bytes, size_t size)
{
    memset(bytes, 'x', size - 1);
    bytes[size - 1] = '\0';
}

Test(text, set_replaces_and_add_appends)
{
    ls_text text;
    ls_text_set(&text, "old");
    ls_text_set(&text, "tick %d", 7);
    ls_text_add(&text, ", slot %d", 3);
    cr_assert_str_eq(text.bytes, "tick 7, slot 3");
}

Test(text, a_sentence_of_the_full_size_is_kept_whole)
{
    char longest[LS_TEXT_BYTES_MAX];
    fill(longest, sizeof longest);
    ls_text text;
    ls_text_set(&text, "%s", longest);
    cr_assert_str_eq(text.bytes, longest);
}

Test(text, one_byte_more_is_cut_and_still_ends)
{
    char too_long[LS_TEXT_BYTES_MAX + 1];
    fill(too_long, sizeof too_long);
    ls_text text;
    ls_text_set(&text, "%s", too_long);
    cr_assert_eq(strlen(text.bytes), LS_TEXT_BYTES_MAX - 1);
    cr_assert_eq(memcmp(text.bytes, too_long, LS_TEXT_BYTES_MAX - 1), 0);
}

Test(text, adding_to_a_full_sentence_changes_nothing)
{
    char longest[LS_TEXT_BYTES_MAX];
    fill(longest, sizeof longest);
    ls_text text;
    ls_text_set(&text, "%s", longest);
    ls_text_add(&text, "more");
    cr_assert_str_eq(text.bytes, longest);
}

Test(text, adding_is_cut_at_the_end)
{
    char long_text[LS_TEXT_BYTES_MAX - 2];
    fill(long_text, sizeof long_text);
    ls_text text;
    ls_text_set(&text, "%s", long_text);
    ls_text_add(&text, "abcdef");
    cr_assert_eq(strlen(text.bytes), LS_TEXT_BYTES_MAX - 1);
    cr_assert_str_eq(text.bytes + LS_TEXT_BYTES_MAX - 4, "xab");
}

Test(text, no_text_is_wanted)
{
    ls_text_set(NULL, "%d", 1);
    ls_text_add(NULL, "%d", 2);
}

Test(text, a_name_that_fits_is_copied)
{
    char field[8];
    ls_name_copy(field, sizeof field, "seven_7");
    cr_assert_str_eq(field, "seven_7");
}

Test(text, a_name_that_is_too_long_is_cut)
{
    char field[9] = "........";
    ls_name_copy(field, 8, "eight__8");
    cr_assert_str_eq(field, "eight__");
    cr_assert_eq(field[8], '\0');
    ls_name_copy(field, 1, "a");
    cr_assert_str_eq(field, "");
}

Test(text, a_hostile_name_cannot_move_a_terminals_cursor)
{
    char field[32];
    ls_name_copy(field, sizeof field, "\x1b[2Jevil\r\n\x7f\x80\xff\x9b");
    cr_assert_str_eq(field, "?[2Jevil??????");
}

Test(text, every_single_byte_comes_out_printable)
{
    for (int byte = 1; byte < 256; byte++) {
        char name[2] = {(char)byte, '\0'};
        char field[4];
        ls_name_copy(field, sizeof field, name);
        cr_assert(field[0] >= 0x20 && field[0] < 0x7f, "byte %d", byte);
        cr_assert_eq(field[1], '\0');
        bool is_printable = byte >= 0x20 && byte < 0x7f;
        cr_assert_eq(field[0] == (char)byte, is_printable || byte == '?', "byte %d", byte);
    }
}

Test(text, a_name_of_any_script_stays)
{
    static const char *const names[] = {"Zo\xc3\xab",
                                        "\xe4\xb8\xad\xe6\x96\x87",
                                        "\xf0\x9f\x8e\xae",
                                        "\xd0\x96\xd0\xb5\xd0\xbd\xd1\x8f",
                                        "e\xcc\x81",
                                        "\u0645\u06cc\u200c\u062e",
                                        "\U0001f469\u200d\U0001f680",
                                        ("\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c"
                                         "\U000e0073\U000e007f")};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char field[32];
        ls_name_copy(field, sizeof field, names[i]);
        cr_assert_str_eq(field, names[i]);
    }
}

Test(text, what_cannot_be_seen_is_replaced)
{
    static const struct {
        const char *name, *shown;
    } rows[] = {
        {"a\xc2\x9b", "a??"}, /* a control character of ISO 6429 */
        {"\xe2\x80\xae"
         "b",
         "???b"},                     /* right-to-left override */
        {"\xe2\x80\x8b", "???"},      /* zero-width space */
        {"\xc0\xaf", "??"},           /* longer than needed */
        {"\xed\xa0\x80", "???"},      /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", "????"}, /* beyond the last character */
        {"\xef\xbf\xbf", "???"},      /* no character */
        {"\xc3", "?"},                /* cut */
        {"\xe4\xb8", "??"},
        {"\xe4\xb8z", "??z"},
        {"a\u200db", "a???b"}, /* nothing to join */
        {"\U0001f469\u200d\u200d", "\U0001f469\u200d???"},
        {"\U0001f3f4\U000e0067", "\U0001f3f4????"}, /* no whole flag */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char field[32];
        ls_name_copy(field, sizeof field, rows[i].name);
        cr_assert_str_eq(field, rows[i].shown, "row %zu: %s", i, field);
    }
}

Test(text, a_cut_name_ends_with_a_whole_character)
{
    char field[6];
    ls_name_copy(field, sizeof field, "abcd\xc3\xab");
    cr_assert_str_eq(field, "abcd");
    ls_name_copy(field, sizeof field,
                 "abc\xc3\xab"
                 "d");
    cr_assert_str_eq(field, "abc\xc3\xab");
}

Test(text, failing_sets_the_reason_and_returns_the_status)
{
    ls_text why = {"before"};
    cr_expect_eq(ls_fail(LS_IO, &why, "cannot read %s: line %d", "a.txt", 3), LS_IO);
    cr_expect_str_eq(why.bytes, "cannot read a.txt: line 3");
    cr_expect_eq(ls_fail(LS_NO_MEMORY, NULL, "no memory"), LS_NO_MEMORY);
}
