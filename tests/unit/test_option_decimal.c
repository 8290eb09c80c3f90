#include "lockstep/common/program/option.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const ls_option_range percent = {0, 100};

Test(option_decimal, a_decimal_is_taken_in_units_of_its_last_place)
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

Test(option_decimal, anything_else_is_refused_with_what_would_be_right)
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

Test(option_decimal, the_least_counts_with_its_decimals)
{
    uint64_t number = 99;
    ls_option_range range = {1, 2};
    cr_assert_eq(ls_option_decimal("x", "0.9", 1, range, &number, NULL), LS_BAD_ARGUMENT);
    cr_assert_eq(ls_option_decimal("x", "1.0", 1, range, &number, NULL), LS_OK);
    cr_assert_eq(number, 10);
    cr_assert_eq(ls_option_decimal("x", "2.1", 1, range, &number, NULL), LS_BAD_ARGUMENT);
    cr_assert_eq(number, 10);
}

Test(option_decimal, without_places_there_is_no_point)
{
    uint64_t number = 99;
    cr_assert_eq(ls_option_decimal("x", "7", 0, percent, &number, NULL), LS_OK);
    cr_assert_eq(number, 7);
    cr_assert_eq(ls_option_decimal("x", "7.0", 0, percent, &number, NULL), LS_BAD_ARGUMENT);
}
