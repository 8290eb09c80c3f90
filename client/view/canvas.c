#include "lockstep/client/view/canvas.h"

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/text.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define DISC_RADIUS_MIN 0.75f
#define COVERED 256u /* shares of a pixel are counted in 256ths */

/* The colours and edges that a shape is painted with. */
typedef struct paint {
    uint32_t pixel; /* 0xFFRRGGBB */
    uint32_t share; /* 0 .. COVERED */
} paint;

static paint paint_of(uint32_t colour)
{
    uint32_t alpha = colour & 0xFFu;
    return (paint){.pixel = 0xFF000000u | colour >> 8, .share = alpha + (alpha >> 7)};
}

static uint32_t mix(uint32_t below, uint32_t above, uint32_t share)
{
    uint32_t rest = COVERED - share;
    uint32_t red_blue = (below & 0xFF00FFu) * rest + (above & 0xFF00FFu) * share;
    uint32_t green = (below & 0x00FF00u) * rest + (above & 0x00FF00u) * share;
    return 0xFF000000u | (red_blue >> 8 & 0xFF00FFu) | (green >> 8 & 0x00FF00u);
}

static uint32_t *row_of(ls_canvas *canvas, int32_t y)
{
    return canvas->pixels + (size_t)y * canvas->width;
}

static int32_t clip(float value, uint32_t end)
{
    if (!(value > 0.0f)) { /* also what is no number */
        return 0;
    }
    return value < (float)end ? (int32_t)value : (int32_t)end;
}

static void fill_span(uint32_t *row, int32_t from, int32_t end, paint with)
{
    if (with.share == COVERED) {
        for (int32_t x = from; x < end; x++) {
            row[x] = with.pixel;
        }
        return;
    }
    for (int32_t x = from; x < end; x++) {
        row[x] = mix(row[x], with.pixel, with.share);
    }
}

/* ---- discs ---- */

/* Pixels from `from` to before `end` whose share is that of a circle's edge through them: near
 * it, (r^2 - d^2) / 2r is the distance to it. */
static void disc_edge(uint32_t *row, int32_t from, int32_t end, float centre_x, float inside,
                      float scale, paint with)
{
    for (int32_t x = from; x < end; x++) {
        float dx = (float)x + 0.5f - centre_x;
        float share = 0.5f + (inside - dx * dx) * scale;
        share = share < 0.0f ? 0.0f : share > 1.0f ? 1.0f : share;
        row[x] = mix(row[x], with.pixel, (uint32_t)(share * (float)with.share));
    }
}

static float half_span(float radius, float dy)
{
    float square = radius * radius - dy * dy;
    return radius > 0.0f && square > 0.0f ? sqrtf(square) : 0.0f;
}

void ls_canvas_disc(ls_canvas *canvas, ls_canvas_point centre, float radius, uint32_t colour)
{
    paint with = paint_of(colour);
    if (radius < DISC_RADIUS_MIN) {
        float smaller = radius / DISC_RADIUS_MIN;
        with.share = (uint32_t)((float)with.share * smaller * smaller);
        radius = DISC_RADIUS_MIN;
    }
    int32_t bottom = clip(ceilf(centre.y + radius + 0.5f), canvas->height);
    for (int32_t y = clip(centre.y - radius - 0.5f, canvas->height); y < bottom; y++) {
        float dy = (float)y + 0.5f - centre.y;
        float outer = half_span(radius + 0.5f, dy);
        float inner = half_span(radius - 0.75f, dy);
        int32_t from = clip(centre.x - outer, canvas->width);
        int32_t end = clip(centre.x + outer + 1.0f, canvas->width);
        int32_t inner_from = inner > 0.0f ? clip(centre.x - inner + 0.5f, canvas->width) : end;
        int32_t inner_end = inner > 0.0f ? clip(centre.x + inner + 0.5f, canvas->width) : end;
        float inside = radius * radius - dy * dy;
        float scale = 0.5f / radius;
        uint32_t *row = row_of(canvas, y);
        disc_edge(row, from, inner_from, centre.x, inside, scale, with);
        fill_span(row, inner_from, inner_end, with);
        disc_edge(row, inner_end, end, centre.x, inside, scale, with);
    }
}

/* ---- convex shapes ---- */

/* The distance of (x, y) inside an edge is x*along + y*down + base, in pixels. */
typedef struct edge {
    float along;
    float down;
    float base;
} edge;

typedef struct outline {
    edge edges[LS_CANVAS_CORNERS_MAX];
    uint32_t count;
    float top; /* what lies beyond is no part of it: sharp corners would reach far */
    float bottom;
    float left;
    float right;
} outline;

static edge edge_between(ls_canvas_point a, ls_canvas_point b, float side)
{
    float dx = b.x - a.x;
    float dy = b.y - a.y;
    float length = sqrtf(dx * dx + dy * dy);
    float scale = length > 0.0f ? side / length : 0.0f;
    edge between = {-dy * scale, dx * scale, 0.0f};
    between.base = -(a.x * between.along + a.y * between.down);
    return between;
}

/* `grow`: how far outside the corners its edges lie, pixels. */
static outline outline_of(const ls_canvas_point *corners, uint32_t count, float grow)
{
    outline shape = {.count = count,
                     .top = corners[0].y,
                     .bottom = corners[0].y,
                     .left = corners[0].x,
                     .right = corners[0].x};
    float area = 0.0f;
    for (uint32_t i = 0; i < count; i++) {
        ls_canvas_point a = corners[i];
        ls_canvas_point b = corners[(i + 1) % count];
        area += a.x * b.y - b.x * a.y;
        shape.top = fminf(shape.top, a.y);
        shape.bottom = fmaxf(shape.bottom, a.y);
        shape.left = fminf(shape.left, a.x);
        shape.right = fmaxf(shape.right, a.x);
    }
    for (uint32_t i = 0; i < count; i++) {
        shape.edges[i] =
            edge_between(corners[i], corners[(i + 1) % count], area < 0.0f ? -1.0f : 1.0f);
        shape.edges[i].base += grow;
    }
    shape.top -= grow;
    shape.bottom += grow;
    shape.left -= grow;
    shape.right += grow;
    return shape;
}

/* The part of the row at height y that lies at least `depth` inside all edges; *from >= *end for
 * none of it. */
static void row_part(const outline *shape, float y, float depth, float *from, float *end)
{
    for (uint32_t i = 0; i < shape->count; i++) {
        const edge *side = &shape->edges[i];
        float rest = depth - side->base - y * side->down;
        if (side->along > 1e-6f) {
            *from = fmaxf(*from, rest / side->along);
        } else if (side->along < -1e-6f) {
            *end = fminf(*end, rest / side->along);
        } else if (rest > 0.0f) {
            *end = *from;
        }
    }
}

static void convex_edge(uint32_t *row, int32_t from, int32_t end, float y, const outline *shape,
                        paint with)
{
    for (int32_t x = from; x < end; x++) {
        float share = 1.0f;
        for (uint32_t i = 0; i < shape->count; i++) {
            const edge *side = &shape->edges[i];
            float depth = ((float)x + 0.5f) * side->along + y * side->down + side->base + 0.5f;
            share = LS_MIN(depth, share);
        }
        share = share < 0.0f ? 0.0f : share;
        row[x] = mix(row[x], with.pixel, (uint32_t)(share * (float)with.share));
    }
}

static void fill_outline(ls_canvas *canvas, outline shape, uint32_t colour)
{
    paint with = paint_of(colour);
    int32_t bottom = clip(ceilf(shape.bottom + 0.5f), canvas->height);
    for (int32_t line = clip(shape.top - 0.5f, canvas->height); line < bottom; line++) {
        float y = (float)line + 0.5f;
        float from = fmaxf(shape.left - 0.5f, 0.0f);
        float end = fminf(shape.right + 0.5f, (float)canvas->width);
        row_part(&shape, y, -0.5f, &from, &end);
        if (from >= end) {
            continue;
        }
        float inner_from = from;
        float inner_end = end;
        row_part(&shape, y, 0.5f, &inner_from, &inner_end);
        int32_t first = clip(from, canvas->width);
        int32_t last = clip(end + 1.0f, canvas->width);
        int32_t inner_first = clip(ceilf(inner_from - 0.5f), canvas->width);
        int32_t inner_last = clip(floorf(inner_end + 0.5f), canvas->width);
        if (inner_first >= inner_last || inner_first < first) {
            inner_first = last;
            inner_last = last;
        }
        uint32_t *row = row_of(canvas, line);
        convex_edge(row, first, inner_first, y, &shape, with);
        fill_span(row, inner_first, inner_last, with);
        convex_edge(row, inner_last, last, y, &shape, with);
    }
}

void ls_canvas_convex(ls_canvas *canvas, const ls_canvas_point *corners, uint32_t count,
                      uint32_t colour)
{
    fill_outline(canvas, outline_of(corners, count, 0.0f), colour);
}

void ls_canvas_facet(ls_canvas *canvas, const ls_canvas_point *corners, uint32_t colour)
{
    fill_outline(canvas, outline_of(corners, 3, 0.5f), colour);
}

void ls_canvas_line(ls_canvas *canvas, ls_canvas_point from, ls_canvas_point to,
                    float half_thickness, uint32_t colour)
{
    float dx = to.x - from.x;
    float dy = to.y - from.y;
    float length = sqrtf(dx * dx + dy * dy);
    if (!(length > 0.0f)) {
        return;
    }
    float half = LS_MAX(half_thickness, 0.5f);
    float across_x = -dy / length * half;
    float across_y = dx / length * half;
    ls_canvas_point corners[] = {{from.x + across_x, from.y + across_y},
                                 {to.x + across_x, to.y + across_y},
                                 {to.x - across_x, to.y - across_y},
                                 {from.x - across_x, from.y - across_y}};
    ls_canvas_convex(canvas, corners, 4, colour);
}

/* ---- rectangles ---- */

void ls_canvas_fill(ls_canvas *canvas, ls_canvas_rect rect, uint32_t colour)
{
    paint with = paint_of(colour);
    int32_t from = clip((float)rect.x, canvas->width);
    int32_t end = clip((float)rect.x + (float)rect.width, canvas->width);
    int32_t bottom = clip((float)rect.y + (float)rect.height, canvas->height);
    for (int32_t y = clip((float)rect.y, canvas->height); y < bottom; y++) {
        fill_span(row_of(canvas, y), from, end, with);
    }
}

void ls_canvas_row(ls_canvas *canvas, int32_t x, int32_t y, const uint32_t *colours, int32_t count)
{
    uint32_t *row = row_of(canvas, y) + x;
    for (int32_t i = 0; i < count; i++) {
        paint with = paint_of(colours[i]);
        row[i] = with.share == COVERED ? with.pixel : mix(row[i], with.pixel, with.share);
    }
}

/* ---- text ---- */

/* Ranges of characters that have glyphs: ASCII, Latin, Greek, Cyrillic. */
static const struct {
    uint32_t first;
    uint32_t count;
} glyph_ranges[] = {{0x20, 95}, {0xA0, 224}, {0x391, 57}, {0x401, 95}, {0x2013, 2}};

_Static_assert(95 + 224 + 57 + 95 + 2 == LS_CANVAS_GLYPHS, "every glyph is in a range");

enum {
    GLYPH_RANGES = sizeof glyph_ranges / sizeof glyph_ranges[0]
};

uint32_t ls_canvas_glyph_code(uint32_t glyph)
{
    for (uint32_t i = 0; i < GLYPH_RANGES; i++) {
        if (glyph < glyph_ranges[i].count) {
            return glyph_ranges[i].first + glyph;
        }
        glyph -= glyph_ranges[i].count;
    }
    return '?';
}

/* The number of the first character: of two or three bytes as UTF-8 has them, whatever comes. */
static uint32_t code_of(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if ((bytes[0] & 0xE0u) == 0xC0u && bytes[1]) {
        return (bytes[0] & 0x1Fu) << 6 | (bytes[1] & 0x3Fu);
    }
    if ((bytes[0] & 0xF0u) == 0xE0u && bytes[1] && bytes[2]) {
        return (bytes[0] & 0x0Fu) << 12 | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu);
    }
    return bytes[0];
}

static uint32_t glyph_of(const char *text)
{
    uint32_t code = code_of(text);
    uint32_t before = 0;
    for (uint32_t i = 0; i < GLYPH_RANGES; i++) {
        if (code >= glyph_ranges[i].first && code - glyph_ranges[i].first < glyph_ranges[i].count) {
            return before + code - glyph_ranges[i].first;
        }
        before += glyph_ranges[i].count;
    }
    return '?' - 0x20u;
}

static const uint8_t *coverage_of(const ls_canvas_font *font, uint32_t glyph)
{
    return font->coverage + (size_t)glyph * font->width * font->height;
}

static void draw_glyph(ls_canvas *canvas, const ls_canvas_font *font, int32_t x, int32_t y,
                       paint with, const uint8_t *coverage)
{
    for (uint32_t row = 0; row < font->height; row++) {
        int32_t at_y = y + (int32_t)row;
        if (at_y < 0 || at_y >= (int32_t)canvas->height) {
            continue;
        }
        uint32_t *pixels = row_of(canvas, at_y);
        for (uint32_t column = 0; column < font->width; column++) {
            int32_t at_x = x + (int32_t)column;
            uint32_t covered = coverage[row * font->width + column];
            if (covered > 0 && at_x >= 0 && at_x < (int32_t)canvas->width) {
                uint32_t share = (covered + (covered >> 7)) * with.share / COVERED;
                pixels[at_x] = mix(pixels[at_x], with.pixel, share);
            }
        }
    }
}

void ls_canvas_text(ls_canvas *canvas, const ls_canvas_font *font, int32_t x, int32_t y,
                    uint32_t colour, const char *text)
{
    paint with = paint_of(colour);
    for (; *text && x < (int32_t)canvas->width;
         text += ls_text_fit(text, 1), x += (int32_t)font->width) {
        draw_glyph(canvas, font, x, y, with, coverage_of(font, glyph_of(text)));
    }
}

/* The smallest font that need not be made larger, or the largest. */
static const ls_canvas_font *font_for(const ls_canvas_fonts *fonts, float height)
{
    const ls_canvas_font *sizes[] = {&fonts->figures, &fonts->text, &fonts->title, &fonts->world};
    uint32_t i = 0;
    while (i < 3 && (float)sizes[i]->height < height) {
        i++;
    }
    return sizes[i];
}

/* Blends the four samples round a place in a glyph; what lies outside of it is blank. */
static float covered_at(const ls_canvas_font *font, const uint8_t *coverage, float x, float y)
{
    int32_t left = (int32_t)floorf(x - 0.5f);
    int32_t top = (int32_t)floorf(y - 0.5f);
    float right_share = x - 0.5f - (float)left;
    float low_share = y - 0.5f - (float)top;
    float sum = 0.0f;
    for (int32_t i = 0; i < 4; i++) {
        int32_t column = left + i % 2;
        int32_t row = top + i / 2;
        float share =
            (i % 2 ? right_share : 1.0f - right_share) * (i / 2 ? low_share : 1.0f - low_share);
        if (column >= 0 && row >= 0 && column < (int32_t)font->width &&
            row < (int32_t)font->height) {
            sum += share * (float)coverage[(uint32_t)row * font->width + (uint32_t)column];
        }
    }
    return sum;
}

static void stretch_glyph(ls_canvas *canvas, const ls_canvas_font *font, ls_canvas_point at,
                          float scale, paint with, const uint8_t *coverage)
{
    int32_t bottom = clip(at.y + (float)font->height / scale + 1.0f, canvas->height);
    int32_t right = clip(at.x + (float)font->width / scale + 1.0f, canvas->width);
    for (int32_t y = clip(at.y, canvas->height); y < bottom; y++) {
        uint32_t *row = row_of(canvas, y);
        for (int32_t x = clip(at.x, canvas->width); x < right; x++) {
            float covered = covered_at(font, coverage, ((float)x + 0.5f - at.x) * scale,
                                       ((float)y + 0.5f - at.y) * scale);
            row[x] = mix(row[x], with.pixel, (uint32_t)(covered * (float)with.share / 255.0f));
        }
    }
}

void ls_canvas_text_stretched(ls_canvas *canvas, const ls_canvas_fonts *fonts,
                              ls_canvas_point top_left, float height, uint32_t colour,
                              const char *text)
{
    const ls_canvas_font *font = font_for(fonts, height);
    paint with = paint_of(colour);
    float scale = (float)font->height / height;
    for (ls_canvas_point at = top_left; *text && at.x < (float)canvas->width;
         text += ls_text_fit(text, 1), at.x += (float)font->width / scale) {
        stretch_glyph(canvas, font, at, scale, with, coverage_of(font, glyph_of(text)));
    }
}
