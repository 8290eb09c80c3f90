#include "lockstep/client/view/letters.h"

#include <criterion/criterion.h>
#include <string.h>
#include <utf8proc.h>

Test(letters, a_letter_is_a_character_with_its_marks)
{
    ls_letter letter = ls_letter_first("e\xCC\x81"
                                       "a");
    cr_expect_eq(letter.bytes, 3);
    cr_expect_eq(letter.columns, 1);
    cr_expect_eq(letter.code, 'e');
    cr_expect_not(letter.is_alone);
    cr_expect(ls_letter_first("ea").is_alone);
}

Test(letters, joined_emoji_and_flags_are_one_letter_of_two_columns)
{
    static const char *const letters[] = {
        "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7", /* a woman, a joiner, a girl */
        "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD",             /* a thumb with a skin tone */
        "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA",             /* D and E */
    };
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        ls_letter letter = ls_letter_first(letters[i]);
        cr_expect_eq(letter.bytes, strlen(letters[i]), "%zu", i);
        cr_expect_eq(letter.columns, 2, "%zu", i);
    }
}

Test(letters, three_halves_of_flags_are_two_letters)
{
    const char *text = "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA\xF0\x9F\x87\xA9";
    cr_expect_eq(ls_letter_first(text).bytes, 8);
    cr_expect_eq(ls_letters_columns(text), 3);
}

Test(letters, as_many_fit_as_the_columns_hold)
{
    const char *text = "a\xE5\xAE\x89\xE5\xAE\x89";
    cr_expect_eq(ls_letters_columns(text), 5);
    cr_expect_eq(ls_letters_fit(text, 2), 1);
    cr_expect_eq(ls_letters_fit(text, 4), 4);
    cr_expect_eq(ls_letters_fit(text, 9), strlen(text));
    cr_expect_eq(ls_letters_fit("", 9), 0);
}

Test(letters, any_bytes_end_at_their_nul)
{
    static const char *const texts[] = {
        "\x80",     "\xC3",         "\xE5\xAE",         "\xF0\x9F\x98",
        "\xFF\xFE", "\xE2\x80\x8D", "a\xE2\x80\x8D\xF0"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cr_expect_eq(ls_letters_fit(texts[i], 99), strlen(texts[i]), "%zu", i);
    }
}

/* Of the Basic Multilingual Plane, where all scripts in use are, and of the emoji. */
Test(letters, columns_are_those_of_unicode)
{
    uint32_t compared = 0;
    for (utf8proc_int32_t code = 0x20; code < 0x20000; code += code == 0xFFFF ? 0xF001 : 1) {
        utf8proc_category_t category = utf8proc_category(code);
        bool is_mark = category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
                       category == UTF8PROC_CATEGORY_CF;
        bool is_apart = category == UTF8PROC_CATEGORY_CN || category == UTF8PROC_CATEGORY_CC ||
                        category == UTF8PROC_CATEGORY_CS || category == UTF8PROC_CATEGORY_CO ||
                        (code >= 0x1160 && code <= 0x11FF) || code == 0xAD ||
                        (code >= 0x1F1E6 && code <= 0x1F1FF) ||
                        (code >= 0x1F3FB && code <= 0x1F3FF);
        char text[8] = "a";
        utf8proc_ssize_t bytes = utf8proc_encode_char(code, (utf8proc_uint8_t *)text + 1);
        text[1 + bytes] = '\0';
        if (is_apart) {
            continue;
        }
        bool is_wide = utf8proc_charwidth(code) == 2;
        cr_expect_eq(ls_letters_columns(text),
                     is_mark   ? 1u
                     : is_wide ? 3u
                               : 2u,
                     "U+%04X", (unsigned)code);
        compared++;
    }
    cr_expect_gt(compared, 50000u);
}
