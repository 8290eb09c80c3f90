#include "lockstep/client/view/canvas_changes.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

enum {
    WIDTH = 101,
    HEIGHT = 70,
    PITCH = (WIDTH + 3) * 4, /* rows of a screen may be longer than those of a picture */
};

static uint32_t pixels[HEIGHT * WIDTH];
static uint8_t shown[HEIGHT * PITCH];
static const ls_canvas canvas = {pixels, WIDTH, HEIGHT};
static ls_canvas_part parts[LS_CANVAS_BANDS_MAX];

static void set(uint32_t x, uint32_t y, uint32_t colour)
{
    pixels[y * WIDTH + x] = colour;
}

static uint32_t copy(void)
{
    uint32_t count = ls_canvas_copy_changes(&canvas, shown, PITCH, parts);
    for (uint32_t y = 0; y < HEIGHT; y++) {
        cr_assert_arr_eq(shown + y * PITCH, pixels + y * WIDTH, WIDTH * sizeof *pixels);
    }
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_leq(parts[i].x + parts[i].width, WIDTH);
        cr_assert_leq(parts[i].y + parts[i].height, HEIGHT);
    }
    return count;
}

static bool holds(const ls_canvas_part *part, uint32_t x, uint32_t y)
{
    return x >= part->x && x - part->x < part->width && y >= part->y && y - part->y < part->height;
}

Test(canvas_changes, nothing_is_copied_of_an_equal_picture)
{
    set(3, 3, 7);
    cr_assert_eq(copy(), 1);
    cr_assert_eq(copy(), 0);
}

Test(canvas_changes, each_pixel_is_found_wherever_it_is)
{
    for (uint32_t y = 0; y < HEIGHT; y++) {
        for (uint32_t x = 0; x < WIDTH; x++) {
            set(x, y, 1);
            cr_assert_eq(copy(), 1, "%u, %u", x, y);
            cr_assert(holds(&parts[0], x, y), "%u, %u", x, y);
            cr_assert_leq(parts[0].width, 64);
        }
    }
}

Test(canvas_changes, part_of_a_band_holds_all_that_differs_in_it)
{
    set(90, 33, 1);
    set(2, 40, 1);
    set(50, 60, 1);
    cr_assert_eq(copy(), 2);
    cr_assert(holds(&parts[0], 90, 33) && holds(&parts[0], 2, 40));
    cr_assert(holds(&parts[1], 50, 60));
}

Test(canvas_changes, any_two_pixels_are_copied)
{
    uint32_t state = 1;
    for (uint32_t i = 0; i < 2000; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            state = state * 1664525u + 1013904223u;
            set((state >> 8) % WIDTH, (state >> 20) % HEIGHT, state);
        }
        copy();
    }
}
