#include "lockstep/client/view/text_view.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    WIDTH = 5,
    HEIGHT = 4
};

#define DARK 0x101010FFu

static uint32_t pixels[WIDTH * HEIGHT];
static ls_canvas canvas = {pixels, WIDTH, HEIGHT};
static char text[4096];

static void clear(void)
{
    ls_canvas_clear(&canvas, DARK);
    cr_assert_leq(ls_text_view_bytes(&canvas), sizeof text);
}

TestSuite(text_view, .init = clear);

Test(text_view, plain_text_shows_what_is_lighter_than_the_background)
{
    pixels[1] = 0xFFFFFFFFu;
    pixels[2 * WIDTH + 3] = 0xFF0000FFu; /* blue is dark */
    size_t size = ls_text_view_plain(&canvas, DARK, text);
    cr_expect_str_eq(text, " @\n   :\n");
    cr_expect_eq(size, strlen(text));
}

Test(text_view, a_cell_shows_two_pixels_in_colour)
{
    pixels[0] = 0xFFFF0000u;         /* red above */
    pixels[WIDTH + 0] = 0xFF0000FFu; /* blue below */
    size_t size = ls_text_view_colour(&canvas, text);
    cr_expect_eq(size, strlen(text));
    cr_expect(strstr(text, "\033[H\033[38;5;196m\033[48;5;21m\xE2\x96\x80"), "%s", text + 1);
    uint32_t lines = 0;
    for (const char *next = text; (next = strchr(next, '\n')); next++) {
        lines++;
    }
    cr_expect_eq(lines, HEIGHT / 2);
}

Test(text_view, a_colour_is_said_once_as_long_as_it_lasts)
{
    ls_text_view_colour(&canvas, text);
    uint32_t said = 0;
    for (const char *next = text; (next = strstr(next, "\033[48;")); next++) {
        said++;
    }
    cr_expect_eq(said, HEIGHT / 2, "once a line");
}

/* All cells different from their neighbours: as long as a text can be. */
Test(text_view, the_longest_text_fits)
{
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        pixels[i] = i % 2 ? 0xFFFFFF00u : 0xFFFF00FFu;
    }
    cr_expect_lt(ls_text_view_colour(&canvas, text), ls_text_view_bytes(&canvas));
    cr_expect_lt(ls_text_view_plain(&canvas, DARK, text), ls_text_view_bytes(&canvas));
}
