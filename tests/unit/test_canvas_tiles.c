#include "lockstep/client/view/canvas.h"
#include "lockstep/client/view/canvas_tiles.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    WIDTH = 301, /* the last tiles are cut off */
    HEIGHT = 205,
    THINGS = 40,
    FONT_WIDTH = 7,
    FONT_HEIGHT = 12,
};

/* One of all that can be painted. */
typedef struct thing {
    uint32_t kind;
    ls_canvas_point at;
    ls_canvas_point to;
    float size;
    uint32_t colour;
    char text[8];
} thing;

static uint32_t pixels[HEIGHT * WIDTH];
static uint32_t expected[HEIGHT * WIDTH];
static uint8_t coverage[LS_CANVAS_GLYPHS * FONT_WIDTH * FONT_HEIGHT];
static uint32_t bitmap_pixels[6 * 4];
static ls_canvas canvas;
static ls_canvas whole;
static thing things[THINGS];
static ls_canvas_rect parts[LS_CANVAS_PARTS_MAX];
static uint32_t state = 1;

static uint32_t draw_below(uint32_t end)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 9) % end;
}

/* From 50 before a side to 50 behind it. */
static float draw_place(uint32_t side)
{
    return (float)draw_below((side + 100) * 16) / 16.0f - 50.0f;
}

static thing draw_thing(void)
{
    thing made = {.kind = draw_below(8)};
    made.at = (ls_canvas_point){draw_place(WIDTH), draw_place(HEIGHT)};
    made.to = (ls_canvas_point){draw_place(WIDTH), draw_place(HEIGHT)};
    made.size = (float)draw_below(500) / 8.0f;
    made.colour = (draw_below(1u << 16) << 16 | draw_below(1u << 16)) | (draw_below(2) ? 0xFFu : 0);
    made.text[0] = (char)('A' + draw_below(26));
    made.text[1] = (char)('a' + draw_below(26));
    return made;
}

static void begin(void)
{
    canvas = (ls_canvas){.pixels = pixels, .width = WIDTH, .height = HEIGHT};
    canvas.tiles = ls_canvas_tiles_create(WIDTH, HEIGHT, ls_allocator_heap());
    whole = (ls_canvas){.pixels = expected, .width = WIDTH, .height = HEIGHT};
    memset(pixels, 0x5A, sizeof pixels);
    for (uint32_t i = 0; i < sizeof coverage; i++) {
        coverage[i] = (uint8_t)draw_below(256);
    }
    for (uint32_t i = 0; i < 24; i++) {
        bitmap_pixels[i] = draw_below(1u << 22) << 10 | 0xFFu;
    }
    for (uint32_t i = 0; i < THINGS; i++) {
        things[i] = draw_thing();
    }
}

static void end(void)
{
    ls_canvas_tiles_destroy(canvas.tiles, ls_allocator_heap());
}

TestSuite(canvas_tiles, .init = begin, .fini = end);

static void paint_text(ls_canvas *to, const thing *it)
{
    const ls_canvas_font font = {.width = FONT_WIDTH, .height = FONT_HEIGHT, .coverage = coverage};
    const ls_canvas_fonts fonts = {font, font, font, font};
    if (it->kind == 5) {
        ls_canvas_text(to, &font, (int32_t)it->at.x, (int32_t)it->at.y, it->colour, it->text);
    } else {
        ls_canvas_text_stretched(to, &fonts, it->at, it->size + 1.0f, it->colour, it->text);
    }
}

static void paint_thing(ls_canvas *to, const thing *it)
{
    const ls_bitmap bitmap = {bitmap_pixels, 6, 4};
    const ls_canvas_point corners[] = {it->at, it->to, {it->at.x + it->size, it->to.y - it->size}};
    const ls_canvas_rect rect = {(int32_t)it->at.x, (int32_t)it->at.y, (int32_t)it->to.x,
                                 (int32_t)it->size};
    switch (it->kind) {
    case 0:
        ls_canvas_disc(to, it->at, it->size, it->colour);
        break;
    case 1:
        ls_canvas_convex(to, corners, 3, it->colour);
        break;
    case 2:
        ls_canvas_facet(to, corners, it->colour);
        break;
    case 3:
        ls_canvas_line(to, it->at, it->to, it->size / 16.0f, it->colour);
        break;
    case 4:
        ls_canvas_fill(to, rect, it->colour);
        break;
    case 7:
        ls_bitmap_paint(to, &bitmap, it->at, it->to);
        break;
    default:
        paint_text(to, it);
    }
}

static void paint_all(ls_canvas *to)
{
    ls_canvas_fill(to, (ls_canvas_rect){0, 0, WIDTH, HEIGHT}, 0x102030FFu);
    for (uint32_t i = 0; i < THINGS; i++) {
        paint_thing(to, &things[i]);
    }
}

/* The next picture, which has to be as if all of it were painted; returns how many parts were. */
static uint32_t paint(void)
{
    paint_all(&whole);
    ls_canvas_tiles_compare(canvas.tiles);
    paint_all(&canvas);
    if (ls_canvas_tiles_repaint(canvas.tiles)) {
        paint_all(&canvas);
    }
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        cr_assert_eq(pixels[i], expected[i], "%u, %u: %08x instead of %08x", i % WIDTH, i / WIDTH,
                     pixels[i], expected[i]);
    }
    return ls_canvas_tiles_parts(canvas.tiles, parts);
}

static uint32_t area_of(uint32_t count)
{
    uint32_t area = 0;
    for (uint32_t i = 0; i < count; i++) {
        cr_assert(parts[i].x >= 0 && parts[i].x + parts[i].width <= WIDTH);
        cr_assert(parts[i].y >= 0 && parts[i].y + parts[i].height <= HEIGHT);
        area += (uint32_t)(parts[i].width * parts[i].height);
    }
    return area;
}

Test(canvas_tiles, first_picture_is_painted_as_a_whole_and_an_equal_one_not_at_all)
{
    cr_assert_eq(area_of(paint()), WIDTH * HEIGHT);
    memset(pixels, 0, sizeof pixels); /* nothing paints there */
    ls_canvas_tiles_compare(canvas.tiles);
    paint_all(&canvas);
    cr_assert_not(ls_canvas_tiles_repaint(canvas.tiles));
    cr_assert_eq(ls_canvas_tiles_parts(canvas.tiles, parts), 0);
    cr_assert_eq(pixels[WIDTH * HEIGHT / 2], 0);
}

Test(canvas_tiles, pictures_are_the_same_as_without_whatever_changes)
{
    uint32_t least = WIDTH * HEIGHT;
    for (uint32_t i = 0; i < 1500; i++) {
        things[draw_below(THINGS)] = draw_thing();
        uint32_t area = area_of(paint());
        least = LS_MIN(least, area);
    }
    cr_assert_lt(least, WIDTH * HEIGHT / 8, "%u", least);
}

Test(canvas_tiles, changed_order_is_a_change)
{
    things[0] = (thing){.kind = 0, .at = {50, 50}, .size = 9, .colour = 0xFF0000FFu};
    things[1] = (thing){.kind = 0, .at = {55, 50}, .size = 9, .colour = 0x00FF00FFu};
    paint();
    thing first = things[0];
    things[0] = things[1];
    things[1] = first;
    cr_assert_gt(paint(), 0);
}

Test(canvas_tiles, changed_colour_of_a_pixel_is_a_change)
{
    for (uint32_t i = 0; i < THINGS; i++) {
        things[i] = (thing){.kind = 7, .at = {20, 20}, .to = {200, 200}};
    }
    paint();
    bitmap_pixels[13] ^= 0x100u;
    cr_assert_gt(paint(), 0);
}

Test(canvas_tiles, what_an_opaque_rectangle_hides_is_not_painted)
{
    things[THINGS - 1] =
        (thing){.kind = 4, .at = {0, 0}, .to = {WIDTH, 0}, .size = HEIGHT, .colour = 0x123456FFu};
    paint();
    for (uint32_t i = 0; i < THINGS - 1; i++) {
        things[i] = draw_thing();
    }
    uint32_t area = area_of(paint());
    cr_assert_leq(area, 32 * (WIDTH + HEIGHT), "%u", area); /* the tiles that are cut off */
}

Test(canvas_tiles, line_across_the_picture_touches_few_tiles)
{
    for (uint32_t i = 0; i < THINGS; i++) {
        things[i] = (thing){.kind = 3, .at = {2, 3}, .to = {290, 200}, .size = 8, .colour = ~0u};
    }
    paint();
    things[7].colour = 0xFF0000FFu;
    uint32_t area = area_of(paint());
    cr_assert_lt(area, WIDTH * HEIGHT / 2, "%u", area);
}

Test(canvas_tiles, forgotten_picture_is_painted_as_a_whole)
{
    paint();
    memset(pixels, 0, sizeof pixels);
    ls_canvas_tiles_forget(canvas.tiles);
    cr_assert_eq(area_of(paint()), WIDTH * HEIGHT);
}
