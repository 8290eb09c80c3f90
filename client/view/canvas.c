#include "lockstep/client/view/canvas.h"

#include "lockstep/client/view/canvas_tiles.h"
#include "lockstep/client/view/letters.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/language.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

/* The pixels of a canvas between two places. */
static ls_canvas_rect rect_between(const ls_canvas *canvas, ls_canvas_point low,
                                   ls_canvas_point high)
{
    int32_t x = clip(low.x, canvas->width);
    int32_t y = clip(low.y, canvas->height);
    return (ls_canvas_rect){x, y, clip(high.x, canvas->width) - x,
                            clip(high.y, canvas->height) - y};
}

/* ---- the parts of a canvas that are painted now ---- */

/* Something is painted within `rect` that is made of these bytes: whether some of it is to be
 * painted now. */
static bool begin_painting(ls_canvas *canvas, ls_canvas_rect rect, const void *what, size_t bytes)
{
    ls_canvas_tiles *tiles = canvas->tiles;
    if (!tiles) {
        return true;
    }
    uint64_t key = ls_canvas_tiles_compares(tiles) ? ls_hash_bytes(what, bytes, 0) : 0;
    return ls_canvas_tiles_take(tiles, rect, key);
}

/* The parts of a row that are painted, from the left. */
static ls_canvas_runs runs_of(const ls_canvas *canvas, int32_t y)
{
    static const ls_canvas_run whole = {0, INT32_MAX};
    return canvas->tiles ? ls_canvas_tiles_runs(canvas->tiles, y)
                         : (ls_canvas_runs){&whole, &whole + 1};
}

/* A span of a row, cut to a run. */
typedef ls_canvas_run span;

static span cut(span whole, ls_canvas_run run)
{
    return (span){LS_MAX(whole.from, run.from), LS_MIN(whole.end, run.end)};
}

static void fill_span(uint32_t *row, span at, paint with)
{
    if (with.share == COVERED) {
        for (int32_t x = at.from; x < at.end; x++) {
            row[x] = with.pixel;
        }
        return;
    }
    for (int32_t x = at.from; x < at.end; x++) {
        row[x] = mix(row[x], with.pixel, with.share);
    }
}

/* ---- discs ---- */

/* Pixels whose share is that of a circle's edge through them: near it, (r^2 - d^2) / 2r is the
 * distance to it. */
static void disc_edge(uint32_t *row, span at, float centre_x, float inside, float scale, paint with)
{
    for (int32_t x = at.from; x < at.end; x++) {
        float dx = (float)x + 0.5f - centre_x;
        float share = 0.5f + (inside - dx * dx) * scale;
        share = share < 0.0f ? 0.0f : share > 1.0f ? 1.0f : share;
        row[x] = mix(row[x], with.pixel, (uint32_t)(int32_t)(share * (float)with.share));
    }
}

static float half_span(float radius, float dy)
{
    float square = radius * radius - dy * dy;
    return radius > 0.0f && square > 0.0f ? sqrtf(square) : 0.0f;
}

static void disc_row(ls_canvas *canvas, int32_t y, ls_canvas_point centre, float radius, paint with)
{
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
    ls_canvas_runs runs = runs_of(canvas, y);
    for (const ls_canvas_run *run = runs.first; run < runs.end; run++) {
        disc_edge(row, cut((span){from, inner_from}, *run), centre.x, inside, scale, with);
        fill_span(row, cut((span){inner_from, inner_end}, *run), with);
        disc_edge(row, cut((span){inner_end, end}, *run), centre.x, inside, scale, with);
    }
}

void ls_canvas_disc(ls_canvas *canvas, ls_canvas_point centre, float radius, uint32_t colour)
{
    const struct {
        ls_canvas_point centre;
        float radius;
        uint32_t colour;
    } key = {centre, radius, colour};
    paint with = paint_of(colour);
    if (radius < DISC_RADIUS_MIN) {
        float smaller = radius / DISC_RADIUS_MIN;
        with.share = (uint32_t)((float)with.share * smaller * smaller);
        radius = DISC_RADIUS_MIN;
    }
    ls_canvas_rect round =
        rect_between(canvas, (ls_canvas_point){centre.x - radius - 1.5f, centre.y - radius - 0.5f},
                     (ls_canvas_point){centre.x + radius + 2.5f, ceilf(centre.y + radius + 0.5f)});
    if (begin_painting(canvas, round, &key, sizeof key)) {
        for (int32_t y = round.y; y < round.y + round.height; y++) {
            disc_row(canvas, y, centre, radius, with);
        }
    }
}

/* ---- convex shapes ---- */

/* The distance of (x, y) inside an edge is x*along + y*down + base, in pixels. */
typedef struct edge {
    float along;
    float down;
    float base;
} edge;

#define FAR_INSIDE 1e6f /* pixels: an edge that cuts nothing off */

typedef struct outline {
    edge edges[LS_CANVAS_CORNERS_MAX]; /* those behind `count` are FAR_INSIDE */
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
        shape.top = LS_MIN(a.y, shape.top);
        shape.bottom = LS_MAX(a.y, shape.bottom);
        shape.left = LS_MIN(a.x, shape.left);
        shape.right = LS_MAX(a.x, shape.right);
    }
    for (uint32_t i = 0; i < count; i++) {
        shape.edges[i] =
            edge_between(corners[i], corners[(i + 1) % count], area < 0.0f ? -1.0f : 1.0f);
        shape.edges[i].base += grow;
    }
    for (uint32_t i = count; i < LS_CANVAS_CORNERS_MAX; i++) {
        shape.edges[i] = (edge){.base = FAR_INSIDE};
    }
    shape.top -= grow;
    shape.bottom += grow;
    shape.left -= grow;
    shape.right += grow;
    return shape;
}

/* From one place of a row to before another. */
typedef struct stretch {
    float from;
    float end;
} stretch;

static void narrow(stretch *part, const edge *side, float rest)
{
    if (side->along > 1e-6f) {
        part->from = LS_MAX(part->from, rest / side->along);
    } else if (side->along < -1e-6f) {
        part->end = LS_MIN(part->end, rest / side->along);
    } else if (rest > 0.0f) {
        part->end = part->from;
    }
}

/* The parts of the row at height y that the shape touches, and that it covers; from >= end for none
 * of it. */
static stretch row_parts(const ls_canvas *canvas, const outline *shape, float y, stretch *covered)
{
    stretch touched = {LS_MAX(shape->left - 0.5f, 0.0f),
                       LS_MIN(shape->right + 0.5f, (float)canvas->width)};
    *covered = touched;
    for (uint32_t i = 0; i < shape->count; i++) {
        const edge *side = &shape->edges[i];
        float down = y * side->down;
        narrow(&touched, side, -0.5f - side->base - down);
        narrow(covered, side, 0.5f - side->base - down);
    }
    return touched;
}

static void convex_edge(uint32_t *row, span at, float y, const outline *shape, paint with)
{
    for (int32_t x = at.from; x < at.end; x++) {
        float share = 1.0f;
        for (uint32_t i = 0; i < LS_CANVAS_CORNERS_MAX; i++) { /* of all: a loop is slower */
            const edge *side = &shape->edges[i];
            float depth = ((float)x + 0.5f) * side->along + y * side->down + side->base + 0.5f;
            share = LS_MIN(depth, share);
        }
        share = share < 0.0f ? 0.0f : share;
        row[x] = mix(row[x], with.pixel, (uint32_t)(int32_t)(share * (float)with.share));
    }
}

static void outline_row(ls_canvas *canvas, const outline *shape, int32_t line, paint with)
{
    float y = (float)line + 0.5f;
    stretch covered;
    ls_canvas_runs runs = runs_of(canvas, line);
    if (runs.first == runs.end) {
        return;
    }
    stretch touched = row_parts(canvas, shape, y, &covered);
    if (touched.from >= touched.end) {
        return;
    }
    int32_t first = clip(touched.from, canvas->width);
    int32_t last = clip(touched.end + 1.0f, canvas->width);
    span inner = {clip(ceilf(covered.from - 0.5f), canvas->width),
                  clip(floorf(covered.end + 0.5f), canvas->width)};
    if (inner.from >= inner.end || inner.from < first) {
        inner = (span){last, last};
    }
    uint32_t *row = row_of(canvas, line);
    for (const ls_canvas_run *run = runs.first; run < runs.end; run++) {
        convex_edge(row, cut((span){first, inner.from}, *run), y, shape, with);
        fill_span(row, cut(inner, *run), with);
        convex_edge(row, cut((span){inner.end, last}, *run), y, shape, with);
    }
}

/* A shape as it is painted: its corners, and how far outside of them its edges lie, pixels. */
typedef struct convex {
    ls_canvas_point corners[LS_CANVAS_CORNERS_MAX];
    uint32_t count;
    uint32_t colour;
    float grow;
} convex;

/* A large shape that lies askew touches few of the tiles round it: those of each of their rows are
 * taken by themselves. */
static bool take_outline(ls_canvas *canvas, const outline *shape, ls_canvas_rect round,
                         const convex *key)
{
    bool is_small = round.width <= 2 * LS_CANVAS_TILE || round.height <= 2 * LS_CANVAS_TILE;
    if (!canvas->tiles || !ls_canvas_tiles_compares(canvas->tiles) || is_small) {
        return begin_painting(canvas, round, key, sizeof *key);
    }
    int32_t bottom = round.y + round.height;
    for (int32_t y = round.y; y < bottom;) {
        int32_t next = LS_MIN((y / LS_CANVAS_TILE + 1) * LS_CANVAS_TILE, bottom);
        float left = (float)canvas->width;
        float right = 0.0f;
        for (int32_t line = y; line < next; line++) {
            stretch covered;
            stretch touched = row_parts(canvas, shape, (float)line + 0.5f, &covered);
            if (touched.from < touched.end) {
                left = LS_MIN(left, touched.from);
                right = LS_MAX(right, touched.end + 1.0f);
            }
        }
        begin_painting(canvas,
                       rect_between(canvas, (ls_canvas_point){left, (float)y},
                                    (ls_canvas_point){right, (float)next}),
                       key, sizeof *key);
        y = next;
    }
    return false;
}

static void fill_convex(ls_canvas *canvas, const convex *of)
{
    outline shape = outline_of(of->corners, of->count, of->grow);
    ls_canvas_rect round =
        rect_between(canvas, (ls_canvas_point){shape.left - 1.5f, shape.top - 0.5f},
                     (ls_canvas_point){shape.right + 2.5f, ceilf(shape.bottom + 0.5f)});
    if (take_outline(canvas, &shape, round, of)) {
        for (int32_t line = round.y; line < round.y + round.height; line++) {
            outline_row(canvas, &shape, line, paint_of(of->colour));
        }
    }
}

void ls_canvas_convex(ls_canvas *canvas, const ls_canvas_point *corners, uint32_t count,
                      uint32_t colour)
{
    convex shape = {.count = count, .colour = colour};
    memcpy(shape.corners, corners, count * sizeof *corners);
    fill_convex(canvas, &shape);
}

void ls_canvas_facet(ls_canvas *canvas, const ls_canvas_point *corners, uint32_t colour)
{
    convex shape = {.count = 3, .colour = colour, .grow = 0.5f};
    memcpy(shape.corners, corners, 3 * sizeof *corners);
    fill_convex(canvas, &shape);
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
    ls_canvas_rect part = rect_between(
        canvas, (ls_canvas_point){(float)rect.x, (float)rect.y},
        (ls_canvas_point){(float)rect.x + (float)rect.width, (float)rect.y + (float)rect.height});
    if (canvas->tiles && !ls_canvas_tiles_take_fill(canvas->tiles, part, colour)) {
        return;
    }
    for (int32_t y = part.y; y < part.y + part.height; y++) {
        ls_canvas_runs runs = runs_of(canvas, y);
        for (const ls_canvas_run *run = runs.first; run < runs.end; run++) {
            fill_span(row_of(canvas, y), cut((span){part.x, part.x + part.width}, *run), with);
        }
    }
}

/* `count` pixels, each of a colour of its own, all of them within the canvas: from (x, y) on. */
static void paint_pixels(ls_canvas *canvas, int32_t x, int32_t y, const uint32_t *colours,
                         int32_t count)
{
    uint32_t *row = row_of(canvas, y);
    ls_canvas_runs runs = runs_of(canvas, y);
    for (const ls_canvas_run *run = runs.first; run < runs.end; run++) {
        span at = cut((span){x, x + count}, *run);
        for (int32_t k = at.from; k < at.end; k++) {
            paint with = paint_of(colours[k - x]);
            row[k] = with.share == COVERED ? with.pixel : mix(row[k], with.pixel, with.share);
        }
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

#define NO_GLYPH UINT32_MAX

static uint32_t glyph_of(const ls_letter *letter)
{
    uint32_t code = letter->code;
    uint32_t before = 0;
    for (uint32_t i = 0; letter->is_alone && i < GLYPH_RANGES; i++) {
        if (code >= glyph_ranges[i].first && code - glyph_ranges[i].first < glyph_ranges[i].count) {
            return before + code - glyph_ranges[i].first;
        }
        before += glyph_ranges[i].count;
    }
    return NO_GLYPH;
}

/* The next part of a text: a glyph, or letters that are written together. */
typedef struct piece {
    size_t bytes;
    uint32_t columns;
    uint64_t key;        /* of what it looks like */
    ls_canvas_font cell; /* as wide as its picture */
} piece;

static piece glyph_piece(const ls_canvas_font *font, const ls_letter *letter, uint32_t glyph)
{
    piece next = {letter->bytes, letter->columns, 0, *font};
    next.cell.coverage += (size_t)glyph * font->width * font->height;
    next.key = (uintptr_t)next.cell.coverage;
    return next;
}

/* Bytes from the first letter to the last one that is written with it: blanks between them, too. */
static size_t written_bytes(const char *text, const ls_letter *first, uint32_t *columns)
{
    size_t size = first->bytes;
    *columns = first->columns;
    size_t at = size;
    uint32_t passed = *columns;
    for (ls_letter next = ls_letter_first(text + at);
         next.bytes > 0 && at + next.bytes <= LS_CANVAS_WRITTEN_BYTES_MAX &&
         (next.code == ' ' || (next.columns == first->columns && glyph_of(&next) == NO_GLYPH));
         next = ls_letter_first(text + at)) {
        at += next.bytes;
        passed += next.columns;
        if (next.code != ' ') {
            size = at;
            *columns = passed;
        }
    }
    return size;
}

/* False: no font has all of these letters. */
static bool is_written(const ls_canvas_font *font, const char *text, piece *next)
{
    uint32_t width = next->columns * font->width;
    const uint8_t *coverage =
        font->writer->write(font->writer->user, font, text, next->bytes, width);
    if (coverage) {
        next->key = ls_hash_bytes(text, next->bytes, next->key);
        next->cell.width = width;
        next->cell.coverage = coverage;
    }
    return coverage != NULL;
}

static piece next_piece(const ls_canvas_font *font, const char *text)
{
    ls_letter first = ls_letter_first(text);
    uint32_t glyph = glyph_of(&first);
    piece next = glyph_piece(font, &first, glyph != NO_GLYPH ? glyph : '?' - 0x20u);
    if (glyph != NO_GLYPH || !font->writer) {
        return next;
    }
    piece many = next;
    many.bytes = written_bytes(text, &first, &many.columns);
    if (many.bytes > first.bytes && is_written(font, text, &many)) {
        return many;
    }
    (void)is_written(font, text, &next);
    return next;
}

/* A piece at its place: what decides about its pixels. */
typedef struct piece_key {
    uint64_t key;
    ls_canvas_point at;
    float height;
    uint32_t colour;
} piece_key;

static void draw_piece(ls_canvas *canvas, const piece *drawn, int32_t x, int32_t y, uint32_t colour)
{
    const ls_canvas_font *cell = &drawn->cell;
    const piece_key key = {drawn->key, {(float)x, (float)y}, 0.0f, colour};
    paint with = paint_of(colour);
    ls_canvas_rect part = rect_between(
        canvas, key.at,
        (ls_canvas_point){(float)x + (float)cell->width, (float)y + (float)cell->height});
    if (!begin_painting(canvas, part, &key, sizeof key)) {
        return;
    }
    for (int32_t at_y = part.y; at_y < part.y + part.height; at_y++) {
        uint32_t *pixels = row_of(canvas, at_y);
        const uint8_t *row = cell->coverage + (size_t)(at_y - y) * cell->width;
        ls_canvas_runs runs = runs_of(canvas, at_y);
        for (const ls_canvas_run *run = runs.first; run < runs.end; run++) {
            span at = cut((span){part.x, part.x + part.width}, *run);
            for (int32_t at_x = at.from; at_x < at.end; at_x++) {
                uint32_t covered = row[at_x - x];
                uint32_t share = (covered + (covered >> 7)) * with.share / COVERED;
                pixels[at_x] = mix(pixels[at_x], with.pixel, share);
            }
        }
    }
}

void ls_canvas_text(ls_canvas *canvas, const ls_canvas_font *font, int32_t x, int32_t y,
                    uint32_t colour, const char *text)
{
    while (*text && x < (int32_t)canvas->width) {
        piece next = next_piece(font, text);
        draw_piece(canvas, &next, x, y, colour);
        text += next.bytes;
        x += (int32_t)(next.columns * font->width);
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
static float covered_at(const ls_canvas_font *cell, float x, float y)
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
        if (column >= 0 && row >= 0 && column < (int32_t)cell->width &&
            row < (int32_t)cell->height) {
            sum += share * (float)cell->coverage[(uint32_t)row * cell->width + (uint32_t)column];
        }
    }
    return sum;
}

static void stretch_piece(ls_canvas *canvas, const ls_canvas_font *cell, const piece_key *key)
{
    paint with = paint_of(key->colour);
    ls_canvas_point place = key->at;
    float scale = (float)cell->height / key->height;
    ls_canvas_rect part =
        rect_between(canvas, place,
                     (ls_canvas_point){place.x + (float)cell->width / scale + 1.0f,
                                       place.y + (float)cell->height / scale + 1.0f});
    if (!begin_painting(canvas, part, key, sizeof *key)) {
        return;
    }
    for (int32_t y = part.y; y < part.y + part.height; y++) {
        uint32_t *row = row_of(canvas, y);
        ls_canvas_runs runs = runs_of(canvas, y);
        for (const ls_canvas_run *run = runs.first; run < runs.end; run++) {
            span at = cut((span){part.x, part.x + part.width}, *run);
            for (int32_t x = at.from; x < at.end; x++) {
                float covered = covered_at(cell, ((float)x + 0.5f - place.x) * scale,
                                           ((float)y + 0.5f - place.y) * scale);
                row[x] = mix(row[x], with.pixel, (uint32_t)(covered * (float)with.share / 255.0f));
            }
        }
    }
}

void ls_canvas_text_stretched(ls_canvas *canvas, const ls_canvas_fonts *fonts,
                              ls_canvas_point top_left, float height, uint32_t colour,
                              const char *text)
{
    const ls_canvas_font *font = font_for(fonts, height);
    float scale = (float)font->height / height;
    ls_canvas_point at = top_left;
    while (*text && at.x < (float)canvas->width) {
        piece next = next_piece(font, text);
        const piece_key key = {next.key, at, height, colour};
        stretch_piece(canvas, &next.cell, &key);
        text += next.bytes;
        at.x += (float)(next.columns * font->width) / scale;
    }
}

/* ---- bitmap ---- */

/* Where a pixel of the canvas looks: from a column or row of the bitmap to before another. */
typedef struct reach {
    uint32_t from;
    uint32_t end; /* > from */
} reach;

/* Of canvas pixel `at`, when `count` pixels lie between `low` and `high`. */
static reach reach_of(int32_t at, float low, float high, uint32_t count)
{
    float scale = (float)count / (high - low);
    float first = ((float)at - low) * scale;
    if (scale <= 1.0f) { /* larger: the one under the pixel's middle */
        first += 0.5f * scale;
    }
    float last = scale <= 1.0f ? first : first + scale;
    uint32_t from = first > 0.0f ? LS_MIN((uint32_t)first, count - 1) : 0;
    uint32_t end = last > 0.0f ? LS_MIN((uint32_t)ceilf(last), count) : 0;
    return (reach){from, LS_MAX(end, from + 1)};
}

/* The mean; what cannot be seen has no part in its colour. */
static uint32_t mean_of(const ls_bitmap *bitmap, reach columns, reach rows)
{
    uint64_t red = 0, green = 0, blue = 0, alpha = 0, count = 0;
    if (rows.end - rows.from == 1 && columns.end - columns.from == 1) {
        return bitmap->pixels[(size_t)rows.from * bitmap->columns + columns.from];
    }
    for (uint32_t y = rows.from; y < rows.end; y++) {
        const uint32_t *row = bitmap->pixels + (size_t)y * bitmap->columns;
        for (uint32_t x = columns.from; x < columns.end; x++, count++) {
            uint32_t share = row[x] & 0xFFu;
            red += (row[x] >> 24) * share;
            green += (row[x] >> 16 & 0xFFu) * share;
            blue += (row[x] >> 8 & 0xFFu) * share;
            alpha += share;
        }
    }
    if (alpha == 0) {
        return 0;
    }
    return (uint32_t)(red / alpha) << 24 | (uint32_t)(green / alpha) << 16 |
           (uint32_t)(blue / alpha) << 8 | (uint32_t)(alpha / count);
}

/* Of pixels whose middle lies between two places: the first, or the one behind the last. */
static int32_t first_within(float low, uint32_t end)
{
    float first = ceilf(low - 0.5f);
    return first > 0.0f ? (int32_t)LS_MIN(first, (float)end) : 0;
}

/* Whether some of it is to be painted now. */
static bool take(ls_canvas *canvas, ls_canvas_rect part, const ls_bitmap *bitmap,
                 ls_canvas_point top_left, ls_canvas_point bottom_right)
{
    size_t bytes = (size_t)bitmap->columns * bitmap->rows * sizeof *bitmap->pixels;
    const struct {
        uint64_t pixels;
        ls_canvas_point corners[2];
        uint32_t columns;
        uint32_t rows;
    } key = {canvas->tiles ? ls_hash_bytes(bitmap->pixels, bytes, 0) : 0,
             {top_left, bottom_right},
             bitmap->columns,
             bitmap->rows};
    return begin_painting(canvas, part, &key, sizeof key);
}

void ls_bitmap_paint(ls_canvas *canvas, const ls_bitmap *bitmap, ls_canvas_point top_left,
                     ls_canvas_point bottom_right)
{
    if (!(bottom_right.x > top_left.x && bottom_right.y > top_left.y)) {
        return;
    }
    uint32_t colours[LS_CANVAS_SIDE_MAX];
    reach made = {0, 0};
    int32_t left = first_within(top_left.x, canvas->width);
    int32_t right = first_within(bottom_right.x, canvas->width);
    int32_t bottom = first_within(bottom_right.y, canvas->height);
    int32_t top = first_within(top_left.y, canvas->height);
    ls_canvas_rect part = {left, top, right - left, bottom - top};
    if (!take(canvas, part, bitmap, top_left, bottom_right)) {
        return;
    }
    for (int32_t y = top; y < bottom; y++) {
        reach rows = reach_of(y, top_left.y, bottom_right.y, bitmap->rows);
        bool is_new = rows.from != made.from || rows.end != made.end;
        for (int32_t x = left; is_new && x < right; x++) {
            reach columns = reach_of(x, top_left.x, bottom_right.x, bitmap->columns);
            colours[x - left] = mean_of(bitmap, columns, rows);
        }
        made = rows;
        paint_pixels(canvas, left, y, colours, right - left);
    }
}
