#include "lockstep/client/window/font_writer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH = 40,
    HEIGHT = 16
};

#define SALAM "\xD8\xB3\xD9\x84\xD8\xA7\xD9\x85" /* DejaVu Sans has them */

static ls_font_writer *writer;
static const ls_canvas_font font = {.width = 8, .height = HEIGHT};

static void setup(void)
{
    writer = ls_font_writer_create(ls_allocator_heap());
    cr_assert_not_null(writer);
}

static void teardown(void)
{
    ls_font_writer_destroy(writer);
}

TestSuite(font_writer, .init = setup, .fini = teardown);

static const uint8_t *written(const char *text)
{
    ls_canvas_writer *canvas = ls_font_writer_canvas(writer);
    return canvas->write(canvas->user, &font, text, strlen(text), WIDTH);
}

static size_t painted(const uint8_t *coverage)
{
    size_t count = 0;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++) {
        count += coverage[i] > 0;
    }
    return count;
}

Test(font_writer, letters_are_joined_and_kept)
{
    const uint8_t *word = written(SALAM);
    cr_assert_not_null(word, "a font of this machine has Arabic");
    cr_expect_gt(painted(word), 20u);
    cr_expect_eq(written(SALAM), word, "the same picture");
    size_t apart = 0;
    for (size_t i = 0; i < strlen(SALAM); i += 2) {
        char letter[3] = {SALAM[i], SALAM[i + 1], '\0'};
        apart += painted(written(letter));
    }
    cr_expect_neq(painted(word), apart, "joined letters have other shapes");
}

Test(font_writer, letters_of_no_font_are_not_written)
{
    cr_expect_null(written("\xEE\x80\x80")); /* for private use */
    cr_expect_null(written("\xEE\x80\x80"), "nor when they are asked for again");
    cr_expect_null(written(" "));
    cr_expect_null(written(""));
}

Test(font_writer, what_is_kept_is_bounded_and_forgotten_between_pictures)
{
    char text[16];
    const uint8_t *newest = NULL;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        snprintf(text, sizeof text, SALAM "%u", i);
        newest = written(text);
        kept += newest != NULL;
    }
    cr_expect_gt(kept, 500u);
    cr_expect_lt(kept, 1100u);
    cr_expect_null(newest, "until the next picture begins");
    ls_font_writer_begin(writer);
    cr_expect_not_null(written(text));
}
