/* A player's name is taken as its owner wrote it, and told apart from what nobody could read. */
#include "lockstep/common/program/player_name.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void assert_read(const char *text, const char *expected)
{
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_text why = {{0}};
    cr_assert_eq(ls_player_name_read(text, name, &why), LS_OK, "%s: %s", text, why.bytes);
    cr_assert_str_eq(name, expected);
}

static void assert_refused(const char *text, const char *sentence)
{
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_text why = {{0}};
    cr_assert_eq(ls_player_name_read(text, name, &why), LS_BAD_ARGUMENT, "%s", text);
    cr_assert(strstr(why.bytes, sentence), "%s", why.bytes);
}

Test(player_name, every_script_is_read)
{
    assert_read("player-1", "player-1");
    assert_read("Zo\xc3\xab", "Zo\xc3\xab");
    assert_read("\xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x8e\xae",
                "\xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x8e\xae");
}

Test(player_name, equal_names_have_equal_bytes)
{
    assert_read("Zoe\xcc\x88", "Zo\xc3\xab");
}

Test(player_name, blanks_around_it_are_not_its_part)
{
    assert_read("  two words\xc2\xa0", "two words");
}

Test(player_name, what_nobody_can_read_is_refused)
{
    assert_refused("", "not blanks");
    assert_refused(" \xe3\x80\x80 ", "not blanks");
    assert_refused("a\tb", "U+0009");
    assert_refused("a\xe2\x80\xae"
                   "b",
                   "U+202E");
    assert_refused("a\xe2\x80\x8b", "U+200B");
    assert_refused("ab\xff", "byte 3");
    char endless[1000];
    memset(endless, 'n', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_refused(endless, "up to 31 bytes of UTF-8");
    assert_refused("12345678901234567890123456789012", "up to 31 bytes of UTF-8");
}

Test(player_name, columns_of_a_table_line_up)
{
    static const char *const names[] = {"abc", "Zo\xc3\xab", "e\xcc\x81lan"};
    static const size_t bytes[] = {16, 17, 18};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char line[64];
        snprintf(line, sizeof line, "%-*s", ls_player_name_width(names[i]), names[i]);
        cr_assert_eq(strlen(line), bytes[i], "%s", names[i]);
    }
    cr_assert_eq(ls_player_name_width("\xe4\xb8\xad"), 17); /* 3 bytes, 2 columns */
}
