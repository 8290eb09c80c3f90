#include "lockstep/client/view/canvas.h"
#include "lockstep/client/view/letters.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <utf8proc.h>

/* ---- bitmap ---- */

enum {
    WIDTH = 64,
    HEIGHT = 48
};

#define WHITE 0xFFFFFFFFu
#define RED 0xFF0000FFu
#define BLUE 0x0000FFFFu

static uint32_t pixels[WIDTH * HEIGHT + 2];
static ls_canvas canvas;

/* A word before and one behind the picture that nothing may write to. */
static void clear(void)
{
    canvas = (ls_canvas){.pixels = pixels + 1, .width = WIDTH, .height = HEIGHT};
    pixels[0] = 0x12345678u;
    pixels[WIDTH * HEIGHT + 1] = 0x87654321u;
    ls_canvas_fill(&canvas, (ls_canvas_rect){0, 0, WIDTH, HEIGHT}, 0x000000FFu);
}

static void expect_fences(void)
{
    cr_expect_eq(pixels[0], 0x12345678u);
    cr_expect_eq(pixels[WIDTH * HEIGHT + 1], 0x87654321u);
}

TestSuite(bitmap, .init = clear, .fini = expect_fences);

static uint32_t at(uint32_t x, uint32_t y)
{
    return canvas.pixels[y * WIDTH + x] & 0xFFFFFFu;
}

static uint32_t lit(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        count += (canvas.pixels[i] & 0xFFFFFFu) != 0;
    }
    return count;
}

static void paint(const ls_bitmap *bitmap, float left, float top, float right, float bottom)
{
    ls_bitmap_paint(&canvas, bitmap, (ls_canvas_point){left, top},
                    (ls_canvas_point){right, bottom});
}

static const uint32_t four[] = {RED, BLUE, WHITE, 0x00FF00FFu};
static const ls_bitmap squares = {four, 2, 2};

Test(bitmap, of_its_own_size_is_itself)
{
    paint(&squares, 10, 20, 12, 22);
    cr_expect_eq(at(10, 20), 0xFF0000u);
    cr_expect_eq(at(11, 20), 0x0000FFu);
    cr_expect_eq(at(10, 21), 0xFFFFFFu);
    cr_expect_eq(at(11, 21), 0x00FF00u);
    cr_expect_eq(lit(), 4);
}

Test(bitmap, made_larger_its_pixels_are_squares)
{
    paint(&squares, 8, 8, 28, 28);
    cr_expect_eq(lit(), 400);
    cr_expect_eq(at(8, 8), 0xFF0000u);
    cr_expect_eq(at(17, 17), 0xFF0000u);
    cr_expect_eq(at(18, 17), 0x0000FFu);
    cr_expect_eq(at(27, 27), 0x00FF00u);
}

/* As in a terminal, whose picture has fewer pixels than a game's. */
Test(bitmap, made_smaller_every_pixel_counts)
{
    static uint32_t checked[160 * 144];
    for (uint32_t i = 0; i < 160 * 144; i++) {
        checked[i] = (i % 160 + i / 160) % 2 == 0 ? WHITE : 0x000000FFu;
    }
    const ls_bitmap bitmap = {checked, 160, 144};
    paint(&bitmap, 4, 4, 20, 18.4f);
    for (uint32_t y = 5; y < 17; y++) {
        for (uint32_t x = 4; x < 20; x++) {
            uint32_t grey = at(x, y) & 0xFFu;
            cr_assert(grey > 115 && grey < 140, "%u at %u, %u", grey, x, y);
        }
    }
}

Test(bitmap, what_is_clear_shows_what_is_below)
{
    static const uint32_t glass[] = {0xFFFFFF80u, 0xFF000000u};
    const ls_bitmap bitmap = {glass, 2, 1};
    paint(&bitmap, 0, 0, 2, 1);
    uint32_t grey = at(0, 0) & 0xFFu;
    cr_expect(grey >= 126 && grey <= 130, "%u", grey);
    cr_expect_eq(at(1, 0), 0);
}

/* Fences around the picture say whether anything was written outside. */
Test(bitmap, is_cut_off_at_the_edge_wherever_it_lies)
{
    const float far[] = {-1e9f, -70.0f, -0.4f, 0.0f, 47.5f, 63.0f, 66.0f, 1e9f, NAN, INFINITY};
    uint32_t count = sizeof far / sizeof far[0];
    for (uint32_t i = 0; i < count * count * count; i++) {
        paint(&squares, far[i % count], far[i / count % count], far[i / count / count], 40.0f);
        paint(&squares, -3.0f, far[i % count], 70.0f, far[i / count % count]);
    }
}

/* ---- letters ---- */

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
