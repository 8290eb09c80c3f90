#include "lockstep/client/view/canvas.h"
#include "lockstep/client/view/canvas_tiles.h"
#include "lockstep/client/view/letters.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <utf8proc.h>

/* ---- canvas ---- */

enum {
    WIDTH = 64,
    HEIGHT = 48
};

#define BLACK 0x000000FFu
#define WHITE 0xFFFFFFFFu

static uint32_t pixels[WIDTH * HEIGHT + 2];
static ls_canvas canvas;

/* A word before and one behind the picture that nothing may write to. */
static void clear(void)
{
    canvas = (ls_canvas){.pixels = pixels + 1, .width = WIDTH, .height = HEIGHT};
    pixels[0] = 0x12345678u;
    pixels[WIDTH * HEIGHT + 1] = 0x87654321u;
    ls_canvas_fill(&canvas, (ls_canvas_rect){0, 0, WIDTH, HEIGHT}, BLACK);
}

static void expect_fences(void)
{
    cr_expect_eq(pixels[0], 0x12345678u);
    cr_expect_eq(pixels[WIDTH * HEIGHT + 1], 0x87654321u);
}

TestSuite(canvas, .init = clear, .fini = expect_fences);

/* How much of the picture is white, in pixels. */
static double white_area(void)
{
    double sum = 0;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        sum += (canvas.pixels[i] & 0xFFu) / 255.0;
    }
    return sum;
}

static uint32_t at(uint32_t x, uint32_t y)
{
    return canvas.pixels[y * WIDTH + x] & 0xFFFFFFu;
}

Test(canvas, clear_paints_every_pixel)
{
    ls_canvas_fill(&canvas, (ls_canvas_rect){0, 0, WIDTH, HEIGHT}, 0x102030FFu);
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        cr_assert_eq(canvas.pixels[i], 0xFF102030u);
    }
}

Test(canvas, discs_have_their_area_wherever_they_lie)
{
    for (float radius = 1.0f; radius < 20.0f; radius *= 1.37f) {
        for (uint32_t step = 0; step < 10; step++) {
            clear();
            ls_canvas_disc(&canvas, (ls_canvas_point){32.0f + (float)step * 0.13f, 24.0f}, radius,
                           WHITE);
            double expected = 3.14159265 * (double)radius * (double)radius;
            cr_expect_lt(fabs(white_area() - expected), 0.06 * expected + 0.3,
                         "radius %f: %f, expected %f", (double)radius, white_area(), expected);
        }
    }
}

Test(canvas, discs_below_a_pixel_get_fainter_instead_of_smaller)
{
    double before = 10;
    for (float radius = 0.7f; radius > 0.1f; radius *= 0.8f) {
        clear();
        ls_canvas_disc(&canvas, (ls_canvas_point){10.3f, 10.7f}, radius, WHITE);
        double area = white_area();
        cr_expect_gt(area, 0.0);
        cr_expect_lt(area, before);
        before = area;
    }
}

Test(canvas, a_convex_shape_has_its_area_in_either_order)
{
    ls_canvas_point corners[] = {{10.2f, 8.4f}, {40.7f, 12.1f}, {36.3f, 33.9f}, {14.5f, 30.0f}};
    double expected = 0;
    for (uint32_t i = 0; i < 4; i++) {
        ls_canvas_point a = corners[i];
        ls_canvas_point b = corners[(i + 1) % 4];
        expected += (double)(a.x * b.y - b.x * a.y) / 2;
    }
    ls_canvas_convex(&canvas, corners, 4, WHITE);
    double area = white_area();
    cr_expect_lt(fabs(area - expected), 0.01 * expected, "%f, expected %f", area, expected);
    ls_canvas_point reverse[] = {corners[3], corners[2], corners[1], corners[0]};
    clear();
    ls_canvas_convex(&canvas, reverse, 4, WHITE);
    cr_expect_lt(fabs(white_area() - area), 0.5);
}

Test(canvas, nothing_shines_through_between_two_facets)
{
    ls_canvas_point left[] = {{8, 6}, {50, 40}, {9, 41}};
    ls_canvas_point right[] = {{8, 6}, {50, 40}, {52, 7}};
    ls_canvas_facet(&canvas, left, WHITE);
    ls_canvas_facet(&canvas, right, WHITE);
    for (uint32_t x = 12; x < 48; x++) {
        for (uint32_t y = x * 34 / 42 - 2; y < x * 34 / 42 + 2; y++) {
            cr_assert_eq(at(x, y), 0xFFFFFFu, "%u %u", x, y);
        }
    }
}

Test(canvas, sharp_corners_do_not_reach_far)
{
    ls_canvas_point needle[] = {{20, 24}, {40, 24.02f}, {40, 24.04f}};
    ls_canvas_facet(&canvas, needle, WHITE);
    for (uint32_t x = 0; x < WIDTH; x++) {
        cr_assert(x >= 18 && x < 42 ? true : at(x, 23) == 0 && at(x, 24) == 0, "%u", x);
    }
    cr_expect_gt(white_area(), 1);
}

Test(canvas, a_whole_rectangle_covers_its_pixels_and_no_others)
{
    ls_canvas_point corners[] = {{5, 5}, {15, 5}, {15, 12}, {5, 12}};
    ls_canvas_convex(&canvas, corners, 4, WHITE);
    for (uint32_t y = 0; y < HEIGHT; y++) {
        for (uint32_t x = 0; x < WIDTH; x++) {
            bool is_inside = x >= 5 && x < 15 && y >= 5 && y < 12;
            cr_assert_eq(at(x, y), is_inside ? 0xFFFFFFu : 0u, "%u %u", x, y);
        }
    }
}

Test(canvas, a_thin_line_is_a_pixel_wide)
{
    ls_canvas_line(&canvas, (ls_canvas_point){8, 20}, (ls_canvas_point){48, 20}, 0.01f, WHITE);
    cr_expect_lt(fabs(white_area() - 40), 2);
    clear();
    ls_canvas_line(&canvas, (ls_canvas_point){8, 8}, (ls_canvas_point){8, 8}, 3.0f, WHITE);
    cr_expect_eq(white_area(), 0, "from a place to itself leads no line");
}

Test(canvas, half_a_colour_is_half_of_it)
{
    ls_canvas_fill(&canvas, (ls_canvas_rect){0, 0, 4, 4}, 0xFFFFFF80u);
    uint32_t grey = at(2, 2) & 0xFFu;
    cr_expect(grey >= 126 && grey <= 130, "%u", grey);
    ls_canvas_fill(&canvas, (ls_canvas_rect){0, 0, 4, 4}, 0xFF000000u);
    cr_expect_eq(at(2, 2) & 0xFFu, grey, "nothing of a colour is nothing");
}

/* Fences around the picture say whether anything was written outside. */
Test(canvas, a_shape_is_cut_off_at_the_edge)
{
    const float far[] = {-1e9f, -70.0f, -3.0f, 0.0f, 47.0f, 63.0f, 66.0f, 1e9f, NAN, INFINITY};
    for (uint32_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        for (uint32_t j = 0; j < sizeof far / sizeof far[0]; j++) {
            ls_canvas_point place = {far[i], far[j]};
            ls_canvas_disc(&canvas, place, 9.0f, WHITE);
            ls_canvas_disc(&canvas, place, 1e8f, WHITE);
            ls_canvas_line(&canvas, place, (ls_canvas_point){far[j], far[i]}, 2.0f, WHITE);
            ls_canvas_point corners[] = {place, {30, 20}, {far[j], 5}};
            ls_canvas_convex(&canvas, corners, 3, WHITE);
        }
    }
    ls_canvas_fill(&canvas, (ls_canvas_rect){-5, -5, INT32_MAX, INT32_MAX}, WHITE);
    ls_canvas_fill(&canvas, (ls_canvas_rect){INT32_MAX, INT32_MIN, INT32_MAX, INT32_MAX}, WHITE);
    cr_expect_eq(at(WIDTH - 1, HEIGHT - 1), 0xFFFFFFu);
}

Test(canvas, text_is_made_of_its_glyphs)
{
    static uint8_t coverage[LS_CANVAS_GLYPHS * 2 * 3];
    memset(coverage + ('A' - 32) * 6, 255, 6);
    ls_canvas_font font = {.width = 2, .height = 3, .coverage = coverage};
    ls_canvas_text(&canvas, &font, 10, 10, WHITE, "A \xc3\xab\nA");
    cr_expect_eq(white_area(), 12);
    cr_expect_eq(at(11, 12), 0xFFFFFFu);
    cr_expect_eq(at(18, 10), 0xFFFFFFu, "behind three blanks of two pixels each");
    ls_canvas_text(&canvas, &font, -1, HEIGHT - 1, WHITE, "AAAA");
    ls_canvas_text(&canvas, &font, WIDTH - 1, -2, WHITE, "AAAA");
    cr_expect_eq(at(0, HEIGHT - 1), 0xFFFFFFu);
    cr_expect_eq(at(WIDTH - 1, 0), 0xFFFFFFu);
}

Test(canvas, every_glyph_is_found_by_its_character)
{
    static uint8_t coverage[LS_CANVAS_GLYPHS];
    ls_canvas_font font = {.width = 1, .height = 1, .coverage = coverage};
    for (uint32_t i = 0; i < LS_CANVAS_GLYPHS; i++) {
        uint32_t code = ls_canvas_glyph_code(i);
        char text[4] = {(char)code, '\0', '\0', '\0'};
        if (code >= 0x800) {
            text[0] = (char)(0xE0u | code >> 12);
            text[1] = (char)(0x80u | (code >> 6 & 0x3Fu));
            text[2] = (char)(0x80u | (code & 0x3Fu));
        } else if (code >= 0x80) {
            text[0] = (char)(0xC0u | code >> 6);
            text[1] = (char)(0x80u | (code & 0x3Fu));
        }
        coverage[i] = 255;
        clear();
        ls_canvas_text(&canvas, &font, 5, 5, WHITE, text);
        cr_expect_eq(at(5, 5), 0xFFFFFFu, "character %x", code);
        coverage[i] = 0;
    }
    coverage['?' - 32] = 255;
    clear();
    ls_canvas_text(&canvas, &font, 5, 5, WHITE, "\xe4\xb8\xad");
    cr_expect_eq(at(5, 5), 0xFFFFFFu, "one without a glyph");
}

Test(canvas, text_is_stretched_to_any_height_and_cut_off_at_the_edge)
{
    static uint8_t coverage[LS_CANVAS_GLYPHS * 4 * 8];
    memset(coverage + ('A' - 32) * 32, 255, 32);
    ls_canvas_font font = {.width = 4, .height = 8, .coverage = coverage};
    ls_canvas_fonts fonts = {font, font, font, font};
    for (float height = 6.0f; height < 40.0f; height += 3.5f) {
        clear();
        ls_canvas_text_stretched(&canvas, &fonts, (ls_canvas_point){3.3f, 2.7f}, height, WHITE,
                                 "A");
        double wanted = (double)(height * height) / 2.0;
        cr_expect_float_eq(white_area(), wanted, 0.15 * wanted, "%g high", (double)height);
    }
    const float far[] = {-1e9f, -70.0f, -0.4f, 47.5f, 63.0f, 1e9f, NAN, INFINITY};
    for (size_t i = 0; i < 8 * 8; i++) {
        ls_canvas_text_stretched(&canvas, &fonts, (ls_canvas_point){far[i % 8], far[i / 8]}, 40.0f,
                                 WHITE, "AA");
        ls_canvas_text_stretched(&canvas, &fonts, (ls_canvas_point){far[i % 8], far[i / 8]}, 1e8f,
                                 WHITE, "AA");
    }
    expect_fences();
}

/* The calls of a writer that paints all of its place. */
typedef struct asked {
    uint32_t count;
    char text[4][LS_CANVAS_WRITTEN_BYTES_MAX + 1];
    uint32_t width[4];
    bool knows_none;
} asked;

static const uint8_t *write(void *user, const ls_canvas_font *font, const char *text, size_t bytes,
                            uint32_t width)
{
    static uint8_t full[WIDTH * HEIGHT];
    asked *seen = user;
    cr_assert_lt(seen->count, 4);
    cr_assert_leq((size_t)width * font->height, sizeof full);
    memcpy(seen->text[seen->count], text, bytes);
    seen->width[seen->count++] = width;
    memset(full, 255, sizeof full);
    return seen->knows_none ? NULL : full;
}

#define SALAM "\xD8\xB3\xD9\x84\xD8\xA7\xD9\x85" /* four letters, joined, from the right */
#define AN "\xE5\xAE\x89"                        /* two columns wide */

static asked write_with(const char *text, bool knows_none)
{
    static uint8_t coverage[LS_CANVAS_GLYPHS * 2 * 3];
    asked seen = {.knows_none = knows_none};
    ls_canvas_writer writer = {&seen, write};
    ls_canvas_font font = {.width = 2, .height = 3, .coverage = coverage, .writer = &writer};
    ls_canvas_text(&canvas, &font, 4, 4, WHITE, text);
    return seen;
}

Test(canvas, letters_without_a_glyph_are_written_together)
{
    asked seen = write_with("a " SALAM " " SALAM " b" AN AN, false);
    cr_assert_eq(seen.count, 2);
    cr_expect_str_eq(seen.text[0], SALAM " " SALAM, "with the blank between, without those beside");
    cr_expect_eq(seen.width[0], 9 * 2);
    cr_expect_str_eq(seen.text[1], AN AN);
    cr_expect_eq(seen.width[1], 4 * 2);
    cr_expect_eq(at(4 + 2 * 2 - 1, 4), 0);
    cr_expect_eq(at(4 + 2 * 2, 4), 0xFFFFFF, "behind a and a blank");
    cr_expect_eq(at(4 + 11 * 2 - 1, 6), 0xFFFFFF);
    cr_expect_eq(at(4 + 11 * 2, 4), 0, "the blank, and b without a glyph");
    cr_expect_eq(at(4 + 13 * 2, 4), 0xFFFFFF);
    cr_expect_eq(at(4 + 17 * 2 - 1, 4), 0xFFFFFF);
    cr_expect_eq(at(4 + 17 * 2, 4), 0);
}

Test(canvas, letters_that_no_font_has_together_are_asked_for_one_by_one)
{
    asked seen = write_with(AN AN, true);
    cr_assert_eq(seen.count, 3);
    cr_expect_str_eq(seen.text[0], AN AN);
    cr_expect_str_eq(seen.text[1], AN, "the first");
    cr_expect_str_eq(seen.text[2], AN, "and the second");
}

/* ---- canvas_tiles ---- */

enum {
    CANVAS_TILES_WIDTH = 301, /* the last tiles are cut off */
    CANVAS_TILES_HEIGHT = 205,
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

static uint32_t canvas_tiles_pixels[CANVAS_TILES_HEIGHT * CANVAS_TILES_WIDTH];
static uint32_t expected[CANVAS_TILES_HEIGHT * CANVAS_TILES_WIDTH];
static uint8_t coverage[LS_CANVAS_GLYPHS * FONT_WIDTH * FONT_HEIGHT];
static uint32_t bitmap_pixels[6 * 4];
static ls_canvas canvas_tiles_canvas;
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
    made.at = (ls_canvas_point){draw_place(CANVAS_TILES_WIDTH), draw_place(CANVAS_TILES_HEIGHT)};
    made.to = (ls_canvas_point){draw_place(CANVAS_TILES_WIDTH), draw_place(CANVAS_TILES_HEIGHT)};
    made.size = (float)draw_below(500) / 8.0f;
    made.colour = (draw_below(1u << 16) << 16 | draw_below(1u << 16)) | (draw_below(2) ? 0xFFu : 0);
    made.text[0] = (char)('A' + draw_below(26));
    made.text[1] = (char)('a' + draw_below(26));
    return made;
}

static void begin(void)
{
    canvas_tiles_canvas = (ls_canvas){
        .pixels = canvas_tiles_pixels, .width = CANVAS_TILES_WIDTH, .height = CANVAS_TILES_HEIGHT};
    canvas_tiles_canvas.tiles =
        ls_canvas_tiles_create(CANVAS_TILES_WIDTH, CANVAS_TILES_HEIGHT, ls_allocator_heap());
    whole =
        (ls_canvas){.pixels = expected, .width = CANVAS_TILES_WIDTH, .height = CANVAS_TILES_HEIGHT};
    memset(canvas_tiles_pixels, 0x5A, sizeof canvas_tiles_pixels);
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
    ls_canvas_tiles_destroy(canvas_tiles_canvas.tiles, ls_allocator_heap());
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
    ls_canvas_fill(to, (ls_canvas_rect){0, 0, CANVAS_TILES_WIDTH, CANVAS_TILES_HEIGHT},
                   0x102030FFu);
    for (uint32_t i = 0; i < THINGS; i++) {
        paint_thing(to, &things[i]);
    }
}

/* The next picture, which has to be as if all of it were painted; returns how many parts were. */
static uint32_t paint(void)
{
    paint_all(&whole);
    ls_canvas_tiles_compare(canvas_tiles_canvas.tiles);
    paint_all(&canvas_tiles_canvas);
    if (ls_canvas_tiles_repaint(canvas_tiles_canvas.tiles)) {
        paint_all(&canvas_tiles_canvas);
    }
    for (uint32_t i = 0; i < CANVAS_TILES_WIDTH * CANVAS_TILES_HEIGHT; i++) {
        cr_assert_eq(canvas_tiles_pixels[i], expected[i], "%u, %u: %08x instead of %08x",
                     i % CANVAS_TILES_WIDTH, i / CANVAS_TILES_WIDTH, canvas_tiles_pixels[i],
                     expected[i]);
    }
    return ls_canvas_tiles_parts(canvas_tiles_canvas.tiles, parts);
}

static uint32_t area_of(uint32_t count)
{
    uint32_t area = 0;
    for (uint32_t i = 0; i < count; i++) {
        cr_assert(parts[i].x >= 0 && parts[i].x + parts[i].width <= CANVAS_TILES_WIDTH);
        cr_assert(parts[i].y >= 0 && parts[i].y + parts[i].height <= CANVAS_TILES_HEIGHT);
        area += (uint32_t)(parts[i].width * parts[i].height);
    }
    return area;
}

Test(canvas_tiles, first_picture_is_painted_as_a_whole_and_an_equal_one_not_at_all)
{
    cr_assert_eq(area_of(paint()), CANVAS_TILES_WIDTH * CANVAS_TILES_HEIGHT);
    memset(canvas_tiles_pixels, 0, sizeof canvas_tiles_pixels); /* nothing paints there */
    ls_canvas_tiles_compare(canvas_tiles_canvas.tiles);
    paint_all(&canvas_tiles_canvas);
    cr_assert_not(ls_canvas_tiles_repaint(canvas_tiles_canvas.tiles));
    cr_assert_eq(ls_canvas_tiles_parts(canvas_tiles_canvas.tiles, parts), 0);
    cr_assert_eq(canvas_tiles_pixels[CANVAS_TILES_WIDTH * CANVAS_TILES_HEIGHT / 2], 0);
}

Test(canvas_tiles, pictures_are_the_same_as_without_whatever_changes)
{
    uint32_t least = CANVAS_TILES_WIDTH * CANVAS_TILES_HEIGHT;
    for (uint32_t i = 0; i < 1500; i++) {
        things[draw_below(THINGS)] = draw_thing();
        uint32_t area = area_of(paint());
        least = LS_MIN(least, area);
    }
    cr_assert_lt(least, CANVAS_TILES_WIDTH * CANVAS_TILES_HEIGHT / 8, "%u", least);
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
    things[THINGS - 1] = (thing){.kind = 4,
                                 .at = {0, 0},
                                 .to = {CANVAS_TILES_WIDTH, 0},
                                 .size = CANVAS_TILES_HEIGHT,
                                 .colour = 0x123456FFu};
    paint();
    for (uint32_t i = 0; i < THINGS - 1; i++) {
        things[i] = draw_thing();
    }
    uint32_t area = area_of(paint());
    cr_assert_leq(area, 32 * (CANVAS_TILES_WIDTH + CANVAS_TILES_HEIGHT), "%u",
                  area); /* the tiles that are cut off */
}

Test(canvas_tiles, line_across_the_picture_touches_few_tiles)
{
    for (uint32_t i = 0; i < THINGS; i++) {
        things[i] = (thing){.kind = 3, .at = {2, 3}, .to = {290, 200}, .size = 8, .colour = ~0u};
    }
    paint();
    things[7].colour = 0xFF0000FFu;
    uint32_t area = area_of(paint());
    cr_assert_lt(area, CANVAS_TILES_WIDTH * CANVAS_TILES_HEIGHT / 2, "%u", area);
}

Test(canvas_tiles, forgotten_picture_is_painted_as_a_whole)
{
    paint();
    memset(canvas_tiles_pixels, 0, sizeof canvas_tiles_pixels);
    ls_canvas_tiles_forget(canvas_tiles_canvas.tiles);
    cr_assert_eq(area_of(paint()), CANVAS_TILES_WIDTH * CANVAS_TILES_HEIGHT);
}

/* ---- bitmap ---- */

#define RED 0xFF0000FFu
#define BLUE 0x0000FFFFu

TestSuite(bitmap, .init = clear, .fini = expect_fences);

static uint32_t lit(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        count += (canvas.pixels[i] & 0xFFFFFFu) != 0;
    }
    return count;
}

static void paint_bitmap(const ls_bitmap *bitmap, float left, float top, float right, float bottom)
{
    ls_bitmap_paint(&canvas, bitmap, (ls_canvas_point){left, top},
                    (ls_canvas_point){right, bottom});
}

static const uint32_t four[] = {RED, BLUE, WHITE, 0x00FF00FFu};
static const ls_bitmap squares = {four, 2, 2};

Test(bitmap, of_its_own_size_is_itself)
{
    paint_bitmap(&squares, 10, 20, 12, 22);
    cr_expect_eq(at(10, 20), 0xFF0000u);
    cr_expect_eq(at(11, 20), 0x0000FFu);
    cr_expect_eq(at(10, 21), 0xFFFFFFu);
    cr_expect_eq(at(11, 21), 0x00FF00u);
    cr_expect_eq(lit(), 4);
}

Test(bitmap, made_larger_its_pixels_are_squares)
{
    paint_bitmap(&squares, 8, 8, 28, 28);
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
    paint_bitmap(&bitmap, 4, 4, 20, 18.4f);
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
    paint_bitmap(&bitmap, 0, 0, 2, 1);
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
        paint_bitmap(&squares, far[i % count], far[i / count % count], far[i / count / count],
                     40.0f);
        paint_bitmap(&squares, -3.0f, far[i % count], 70.0f, far[i / count % count]);
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
