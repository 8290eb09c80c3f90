#include "lockstep/common/base/rate.h"

#include <criterion/criterion.h>
#include <string.h>

Test(rate, reads_what_people_write)
{
    static const struct {
        const char *text;
        uint32_t numerator, denominator, nearest;
        const char *shown;
    } cases[] = {
        {"60", 60, 1, 60, "60"},
        {"1", 1, 1, 1, "1"},
        {"1000", 1000, 1, 1000, "1000"},
        {"59.7275", 23891, 400, 60, "59.7275"},
        {"59.5", 119, 2, 60, "59.5"},
        {"30.000", 30, 1, 30, "30"},
        {"1.000001", 1000001, 1000000, 1, "1.000001"},
        {"262144/4389", 262144, 4389, 60, "262144/4389"},
        {"60000/1001", 60000, 1001, 60, "60000/1001"},
        {"120/2", 60, 1, 60, "60"},
        {"5/2", 5, 2, 3, "2.5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ls_rate rate = {0, 0};
        ls_text shown = {""};
        cr_assert_eq(ls_rate_read(cases[i].text, &rate, NULL), LS_OK, "%s", cases[i].text);
        cr_expect_eq(rate.numerator, cases[i].numerator, "%s", cases[i].text);
        cr_expect_eq(rate.denominator, cases[i].denominator, "%s", cases[i].text);
        cr_expect_eq(ls_rate_nearest_hz(rate), cases[i].nearest, "%s", cases[i].text);
        ls_rate_add_text(rate, &shown);
        cr_expect_str_eq(shown.bytes, cases[i].shown);
    }
}

Test(rate, refuses_everything_else_with_examples)
{
    const char *bad[] = {"",
                         "0",
                         "1001",
                         "0.5",
                         "-60",
                         "+60",
                         " 60",
                         "60 ",
                         "60.",
                         ".5",
                         "60.1234567",
                         "60/",
                         "/2",
                         "60/0",
                         "1/2",
                         "60/1/1",
                         "60.5/2",
                         "1e2",
                         "0x3c",
                         "60,5",
                         "nan",
                         "12345678901",
                         "4294967296/2",
                         "60.0/1",
                         "99999999999999999999",
                         "1001/1",
                         "1000000/1000001"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ls_rate rate = {7, 7};
        ls_text why = {""};
        cr_expect_eq(ls_rate_read(bad[i], &rate, &why), LS_BAD_ARGUMENT, "'%s'", bad[i]);
        cr_expect(strstr(why.bytes, "takes 1 to 1000, as in 60, 59.7275 or 262144/4389, not '"));
        cr_expect(rate.numerator == 7 && rate.denominator == 7);
    }
}
