#include "lockstep/client/view/bitmap.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/language.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

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
    return ls_canvas_take(canvas, part, &key, sizeof key);
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
        ls_canvas_row(canvas, left, y, colours, right - left);
    }
}
