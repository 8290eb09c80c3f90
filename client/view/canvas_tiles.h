/* Canvas tiles: what each tile of a picture was made of, so that of the next picture only the tiles
 * are painted, copied and shown that are made of something else. The painter says everything twice:
 * first to compare, when nothing is painted, and then to paint, when what lies in other tiles is
 * left out. A tile holds the same pixels as if the whole picture were painted. */
#ifndef LOCKSTEP_CLIENT_VIEW_CANVAS_TILES_H
#define LOCKSTEP_CLIENT_VIEW_CANVAS_TILES_H

#include "lockstep/client/view/canvas.h"
#include "lockstep/common/base/allocator.h"

#include <stdbool.h>
#include <stdint.h>

#define LS_CANVAS_TILE 16 /* pixels of a side */

#define LS_CANVAS_PARTS_MAX 512u

/* Columns of pixels: from `from` to before `end`. */
typedef struct ls_canvas_run {
    int32_t from;
    int32_t end;
} ls_canvas_run;

typedef struct ls_canvas_runs {
    const ls_canvas_run *first;
    const ls_canvas_run *end; /* behind the last */
} ls_canvas_runs;

/* NULL: there is no memory for it. At first nothing is known of the canvas. */
ls_canvas_tiles *ls_canvas_tiles_create(uint32_t width, uint32_t height,
                                        const ls_allocator *allocator);
void ls_canvas_tiles_destroy(ls_canvas_tiles *tiles, const ls_allocator *allocator);

/* The canvas is painted as a whole next. */
void ls_canvas_tiles_forget(ls_canvas_tiles *tiles);

/* A new picture: what is painted from now on is compared. */
void ls_canvas_tiles_compare(ls_canvas_tiles *tiles);

/* The same picture again, of which the tiles that differ are painted. False: none does. */
bool ls_canvas_tiles_repaint(ls_canvas_tiles *tiles);

/* Of something within `rect` with the hash `key`: whether some of it is to be painted now. */
bool ls_canvas_tiles_take(ls_canvas_tiles *tiles, ls_canvas_rect rect, uint64_t key);

/* The same of a rectangle of one colour. The pixels that an opaque one hides of a tile count no
 * more. */
bool ls_canvas_tiles_take_fill(ls_canvas_tiles *tiles, ls_canvas_rect rect, uint32_t colour);

bool ls_canvas_tiles_compares(const ls_canvas_tiles *tiles);

/* The runs of row `y` (of pixels) that are painted, from the left. */
ls_canvas_runs ls_canvas_tiles_runs(const ls_canvas_tiles *tiles, int32_t y);

/* The parts of the last picture that were painted; returns how many there are. */
uint32_t ls_canvas_tiles_parts(const ls_canvas_tiles *tiles,
                               ls_canvas_rect parts[LS_CANVAS_PARTS_MAX]);

#endif
