#include "lockstep/common/simulation/text_file.h"

#include <criterion/criterion.h>

static ls_sim_file file_of(const char *text, size_t size)
{
    return (ls_sim_file){.bytes = (const uint8_t *)text, .size = size};
}

Test(text_file, lines_are_counted_and_have_no_ends)
{
    static const char bytes[] = "one\r\n\ntwo\nthree";
    const ls_sim_file file = file_of(bytes, sizeof bytes - 1);
    ls_text_file text = {.file = &file};
    static const char *const lines[] = {"one", "", "two", "three"};
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert(ls_text_file_next(&text));
        cr_assert_str_eq(text.line, lines[i]);
        cr_assert_eq(text.number, i + 1);
        cr_assert_not(text.is_cut);
    }
    cr_assert_not(ls_text_file_next(&text));
}

Test(text_file, a_file_that_is_not_there_has_no_line)
{
    const ls_sim_file file = {0};
    ls_text_file text = {.file = &file};
    cr_assert_not(ls_text_file_next(&text));
}

Test(text_file, a_line_that_is_too_long_is_cut_and_no_numbers)
{
    char bytes[2 * LS_TEXT_LINE_BYTES_MAX + 1];
    memset(bytes, ' ', sizeof bytes);
    bytes[0] = '7';
    bytes[sizeof bytes - 1] = '\n';
    const ls_sim_file file = file_of(bytes, sizeof bytes);
    ls_text_file text = {.file = &file};
    int64_t number = 0;
    cr_assert(ls_text_file_next(&text));
    cr_assert(text.is_cut);
    cr_assert_eq(strlen(text.line), LS_TEXT_LINE_BYTES_MAX - 1);
    cr_assert_not(ls_text_file_numbers(&text, &number, 1));
    cr_assert_not(ls_text_file_next(&text));
}

static bool reads(const char *line, const int64_t *expected, uint32_t count)
{
    const ls_sim_file file = file_of(line, strlen(line));
    ls_text_file text = {.file = &file};
    int64_t numbers[4] = {0};
    cr_assert(ls_text_file_next(&text));
    bool is_read = ls_text_file_numbers(&text, numbers, count);
    return is_read && memcmp(numbers, expected, count * sizeof *numbers) == 0;
}

Test(text_file, numbers_are_whole_and_as_many_as_asked_for)
{
    const int64_t three[] = {-12, 0, 999999999999999999};
    cr_assert(reads("-12 +0 999999999999999999", three, 3));
    cr_assert(reads("\t-12   0\t999999999999999999  ", three, 3));
    cr_assert_not(reads("-12 0", three, 3));
    cr_assert_not(reads("-12 0 999999999999999999 1", three, 3));
    cr_assert_not(reads("-12 0 9999999999999999999", three, 3));
    cr_assert_not(reads("-12 0 1.5", three, 3));
    cr_assert_not(reads("-12 0x0 1", three, 3));
    cr_assert_not(reads("- 12 0 1", three, 3));
    cr_assert_not(reads(" ", three, 3));
}
