#include "lockstep/client/view/text_view.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH = 5,
    HEIGHT = 4
};

#define DARK 0x101010FFu

static uint32_t pixels[WIDTH * HEIGHT];
static ls_canvas canvas = {.pixels = pixels, .width = WIDTH, .height = HEIGHT};
static char text[4096];
static ls_text_page page;

static void clear(void)
{
    ls_canvas_fill(&canvas, (ls_canvas_rect){0, 0, WIDTH, HEIGHT}, DARK);
    page = (ls_text_page){.canvas = &canvas, .background = DARK};
    cr_assert_leq(ls_text_view_bytes(&canvas), sizeof text);
}

TestSuite(text_view, .init = clear);

Test(text_view, plain_text_shows_what_is_lighter_than_the_background)
{
    pixels[1] = 0xFFFFFFFFu;
    pixels[2 * WIDTH + 3] = 0xFF0000FFu; /* blue is dark */
    size_t size = ls_text_view_plain(&page, text);
    cr_expect_str_eq(text, " @\n   :\n");
    cr_expect_eq(size, strlen(text));
}

Test(text_view, a_cell_shows_two_pixels_in_colour)
{
    pixels[0] = 0xFFFF0000u;         /* red above */
    pixels[WIDTH + 0] = 0xFF0000FFu; /* blue below */
    size_t size = ls_text_view_colour(&page, text);
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
    ls_text_view_colour(&page, text);
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
    page.has_true_colour = true;
    cr_expect_lt(ls_text_view_colour(&page, text), ls_text_view_bytes(&canvas));
    const ls_text_run run = {0, 0, 0xFFFFFFFFu, "\xF0\x9F\x98\x80\xF0\x9F\x98\x80"};
    page.runs = &run;
    page.run_count = 1;
    cr_expect_lt(ls_text_view_colour(&page, text), ls_text_view_bytes(&canvas));
    cr_expect_lt(ls_text_view_plain(&page, text), ls_text_view_bytes(&canvas));
}

Test(text_view, a_terminal_of_true_colour_gets_the_pixels_as_they_are)
{
    page.has_true_colour = true;
    pixels[0] = 0xFF161B22u;
    pixels[WIDTH + 0] = 0xFF1C232Cu;
    ls_text_view_colour(&page, text);
    cr_expect(strstr(text, "\033[38;2;22;27;34m\033[48;2;28;35;44m\xE2\x96\x80"), "%s", text + 1);
}

/* The background, the floor, and a wall: no navy, no teal. */
Test(text_view, dark_greys_stay_grey_in_256_colours)
{
    static const uint32_t greys[] = {0x161B22, 0x1C232C, 0x55606E, 0x0B0E12, 0x808080, 0xEEEEEE};
    for (size_t i = 0; i < sizeof greys / sizeof greys[0]; i++) {
        uint32_t number = 0;
        pixels[0] = greys[i];
        ls_text_view_colour(&page, text);
        cr_assert_eq(sscanf(text, "\033[H\033[38;5;%um", &number), 1);
        cr_expect(number >= 232 || number == 16 || number == 59 || number == 102, "%06x: %u",
                  greys[i], number);
    }
}

Test(text_view, text_stands_in_the_cells_as_it_is)
{
    const ls_text_run runs[] = {{1, 0, 0xFF0000FFu, "\xc3\xa9t\xc3\xa9"},
                                {-2, 1, 0xFF0000FFu, "abc"},
                                {4, 1, 0xFF0000FFu, "xyz"},
                                {0, 7, 0xFF0000FFu, "below"}};
    page.runs = runs;
    page.run_count = 4;
    ls_text_view_plain(&page, text);
    cr_expect_str_eq(text, " \xc3\xa9t\xc3\xa9\nc   x\n");
    ls_text_view_colour(&page, text);
    cr_expect(strstr(text, "\033[38;5;196m\xc3\xa9t\xc3\xa9"), "%s", text + 1);
}

Test(text_view, a_letter_of_two_columns_takes_two_cells)
{
    const ls_text_run run = {.row = 0, .text = "\xE5\xAE\x89z"};
    page.runs = &run;
    page.run_count = 1;
    ls_text_view_plain(&page, text);
    cr_expect_str_eq(text, "\xE5\xAE\x89z\n\n");
    ls_text_view_colour(&page, text);
    const char *end = strstr(text, "\xE5\xAE\x89");
    cr_assert(end);
    cr_expect(strncmp(end + 3, "z", 1) == 0, "the second half of it is nothing");
}

Test(text_view, half_of_a_wide_letter_is_not_shown)
{
    const ls_text_run runs[] = {{.row = 0, .text = "\xE5\xAE\x89\xE5\xAE\x89"},
                                {.column = 1, .row = 0, .text = "ab"},
                                {.column = 4, .row = 0, .text = "\xE5\xAE\x89"}};
    page.runs = runs;
    page.run_count = 3;
    ls_text_view_plain(&page, text);
    cr_expect_str_eq(text, " ab \n\n");
}

Test(text_view, marks_stay_on_their_letter)
{
    const ls_text_run run = {.row = 0, .text = "e\xCC\x81z"};
    page.runs = &run;
    page.run_count = 1;
    ls_text_view_plain(&page, text);
    cr_expect_str_eq(text, "e\xCC\x81z\n\n");
}
