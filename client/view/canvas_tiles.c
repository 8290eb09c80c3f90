#include "lockstep/client/view/canvas_tiles.h"

#include "lockstep/common/base/language.h"

#include <string.h>

enum {
    /* Runs with fewer tiles between them are one: a part that is shown has a cost of its own. */
    GAP_TILES = 4,
};

#define NOTHING UINT64_C(0) /* of a tile of which nothing is known */
#define BLANK UINT64_C(0x9E3779B97F4A7C15)
#define COVERED UINT64_C(0xD6E8FEB86659FD93)

struct ls_canvas_tiles {
    int32_t width; /* of the canvas, pixels */
    int32_t height;
    uint32_t columns;
    uint32_t rows;
    bool compares;
    uint64_t *shown;      /* [rows][columns] hashes of all that lies in a tile */
    uint64_t *wanted;     /* likewise, of the picture that is compared */
    ls_canvas_run *runs;  /* [rows][columns] in pixels, those of a row first */
    uint32_t *run_counts; /* [rows] */
};

/* ---- life ---- */

ls_canvas_tiles *ls_canvas_tiles_create(uint32_t width, uint32_t height,
                                        const ls_allocator *allocator)
{
    ls_canvas_tiles *tiles = ls_allocate(allocator, sizeof *tiles);
    if (!tiles) {
        return NULL;
    }
    *tiles = (ls_canvas_tiles){.width = (int32_t)width,
                               .height = (int32_t)height,
                               .columns = (width + LS_CANVAS_TILE - 1) / LS_CANVAS_TILE,
                               .rows = (height + LS_CANVAS_TILE - 1) / LS_CANVAS_TILE};
    size_t count = (size_t)tiles->columns * tiles->rows;
    tiles->shown = ls_allocate_array(allocator, count, sizeof *tiles->shown);
    tiles->wanted = ls_allocate_array(allocator, count, sizeof *tiles->wanted);
    tiles->runs = ls_allocate_array(allocator, count, sizeof *tiles->runs);
    tiles->run_counts = ls_allocate_array(allocator, tiles->rows, sizeof *tiles->run_counts);
    if (!tiles->shown || !tiles->wanted || !tiles->runs || !tiles->run_counts) {
        ls_canvas_tiles_destroy(tiles, allocator);
        return NULL;
    }
    ls_canvas_tiles_forget(tiles);
    return tiles;
}

void ls_canvas_tiles_destroy(ls_canvas_tiles *tiles, const ls_allocator *allocator)
{
    if (tiles) {
        ls_release(allocator, tiles->shown);
        ls_release(allocator, tiles->wanted);
        ls_release(allocator, tiles->runs);
        ls_release(allocator, tiles->run_counts);
        ls_release(allocator, tiles);
    }
}

void ls_canvas_tiles_forget(ls_canvas_tiles *tiles)
{
    for (uint32_t i = 0; i < tiles->columns * tiles->rows; i++) {
        tiles->shown[i] = NOTHING;
    }
}

/* ---- pictures ---- */

void ls_canvas_tiles_compare(ls_canvas_tiles *tiles)
{
    tiles->compares = true;
    for (uint32_t i = 0; i < tiles->columns * tiles->rows; i++) {
        tiles->wanted[i] = BLANK;
    }
}

static void add_tile(const ls_canvas_tiles *tiles, uint32_t row, uint32_t column)
{
    ls_canvas_run *runs = tiles->runs + (size_t)row * tiles->columns;
    uint32_t *count = &tiles->run_counts[row];
    int32_t from = (int32_t)column * LS_CANVAS_TILE;
    int32_t end = LS_MIN(from + LS_CANVAS_TILE, tiles->width);
    if (*count > 0 && from - runs[*count - 1].end < GAP_TILES * LS_CANVAS_TILE) {
        runs[*count - 1].end = end;
    } else {
        runs[(*count)++] = (ls_canvas_run){from, end};
    }
}

bool ls_canvas_tiles_repaint(ls_canvas_tiles *tiles)
{
    bool differs = false;
    tiles->compares = false;
    for (uint32_t row = 0; row < tiles->rows; row++) {
        const uint64_t *shown = tiles->shown + (size_t)row * tiles->columns;
        const uint64_t *wanted = tiles->wanted + (size_t)row * tiles->columns;
        tiles->run_counts[row] = 0;
        for (uint32_t column = 0; column < tiles->columns; column++) {
            if (shown[column] != wanted[column]) {
                add_tile(tiles, row, column);
                differs = true;
            }
        }
    }
    uint64_t *shown = tiles->wanted;
    tiles->wanted = tiles->shown;
    tiles->shown = shown;
    return differs;
}

/* ---- what lies in them ---- */

/* The tiles that a rectangle touches: `end` lies behind the last. */
typedef struct tile_range {
    uint32_t left, right_end;
    uint32_t top, bottom_end;
} tile_range;

static uint32_t tile_end(int64_t end, int32_t pixels)
{
    int64_t within = LS_MIN(end, (int64_t)pixels);
    return within > 0 ? (uint32_t)(within + LS_CANVAS_TILE - 1) / LS_CANVAS_TILE : 0;
}

static tile_range range_of(const ls_canvas_tiles *tiles, ls_canvas_rect rect)
{
    return (tile_range){
        .left = (uint32_t)LS_MAX(rect.x, 0) / LS_CANVAS_TILE,
        .right_end = tile_end((int64_t)rect.x + rect.width, tiles->width),
        .top = (uint32_t)LS_MAX(rect.y, 0) / LS_CANVAS_TILE,
        .bottom_end = tile_end((int64_t)rect.y + rect.height, tiles->height),
    };
}

static void mix(uint64_t *hash, uint64_t key)
{
    uint64_t turned = *hash << 23 | *hash >> 41;
    *hash = (turned ^ key) * BLANK;
}

static bool is_painted(const ls_canvas_tiles *tiles, const tile_range *range)
{
    int32_t from = (int32_t)range->left * LS_CANVAS_TILE;
    int32_t end = (int32_t)range->right_end * LS_CANVAS_TILE;
    for (uint32_t row = range->top; row < range->bottom_end; row++) {
        const ls_canvas_run *runs = tiles->runs + (size_t)row * tiles->columns;
        for (uint32_t i = 0; i < tiles->run_counts[row]; i++) {
            if (runs[i].from < end && from < runs[i].end) {
                return true;
            }
        }
    }
    return false;
}

bool ls_canvas_tiles_take(ls_canvas_tiles *tiles, ls_canvas_rect rect, uint64_t key)
{
    tile_range range = range_of(tiles, rect);
    if (!tiles->compares) {
        return is_painted(tiles, &range);
    }
    for (uint32_t row = range.top; row < range.bottom_end; row++) {
        uint64_t *wanted = tiles->wanted + (size_t)row * tiles->columns;
        for (uint32_t column = range.left; column < range.right_end; column++) {
            mix(&wanted[column], key);
        }
    }
    return false;
}

/* Where a span begins and ends in a tile, 0 .. LS_CANVAS_TILE each. */
static uint64_t part_in(int32_t first, int32_t from, int64_t end)
{
    int64_t begins = LS_MAX((int64_t)from - first, 0);
    int64_t ends = LS_MIN(end - first, LS_CANVAS_TILE);
    return (uint64_t)begins << 8 | (uint64_t)ends;
}

bool ls_canvas_tiles_take_fill(ls_canvas_tiles *tiles, ls_canvas_rect rect, uint32_t colour)
{
    tile_range range = range_of(tiles, rect);
    if (!tiles->compares) {
        return is_painted(tiles, &range);
    }
    const uint64_t whole = (uint64_t)LS_CANVAS_TILE << 16 | LS_CANVAS_TILE;
    bool is_opaque = (colour & 0xFFu) == 0xFFu;
    for (uint32_t row = range.top; row < range.bottom_end; row++) {
        uint64_t *wanted = tiles->wanted + (size_t)row * tiles->columns;
        uint64_t rows =
            part_in((int32_t)row * LS_CANVAS_TILE, rect.y, (int64_t)rect.y + rect.height);
        for (uint32_t column = range.left; column < range.right_end; column++) {
            uint64_t part = rows << 16 | part_in((int32_t)column * LS_CANVAS_TILE, rect.x,
                                                 (int64_t)rect.x + rect.width);
            if (part == whole && is_opaque) {
                wanted[column] = COVERED;
            }
            mix(&wanted[column], part << 32 | colour);
        }
    }
    return false;
}

bool ls_canvas_tiles_compares(const ls_canvas_tiles *tiles)
{
    return tiles->compares;
}

/* ---- what is painted ---- */

ls_canvas_runs ls_canvas_tiles_runs(const ls_canvas_tiles *tiles, int32_t y)
{
    uint32_t row = (uint32_t)y / LS_CANVAS_TILE;
    const ls_canvas_run *runs = tiles->runs + (size_t)row * tiles->columns;
    return (ls_canvas_runs){runs, runs + tiles->run_counts[row]};
}

uint32_t ls_canvas_tiles_parts(const ls_canvas_tiles *tiles,
                               ls_canvas_rect parts[LS_CANVAS_PARTS_MAX])
{
    uint32_t count = 0;
    for (int32_t y = 0; y < tiles->height; y += LS_CANVAS_TILE) {
        ls_canvas_runs runs = ls_canvas_tiles_runs(tiles, y);
        for (const ls_canvas_run *run = runs.first; run < runs.end; run++) {
            if (count == LS_CANVAS_PARTS_MAX) {
                parts[0] = (ls_canvas_rect){0, 0, tiles->width, tiles->height};
                return 1;
            }
            parts[count++] = (ls_canvas_rect){run->from, y, run->end - run->from,
                                              LS_MIN(LS_CANVAS_TILE, tiles->height - y)};
        }
    }
    return count;
}
