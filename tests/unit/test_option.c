#include "lockstep/common/program/option.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

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
