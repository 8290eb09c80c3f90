#include "lockstep/client/view/canvas.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

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
