/* Canvas changes: what of a picture differs from the one that is shown, so that no more than that
 * is copied to a screen. */
#ifndef LOCKSTEP_CLIENT_VIEW_CANVAS_CHANGES_H
#define LOCKSTEP_CLIENT_VIEW_CANVAS_CHANGES_H

#include "lockstep/client/view/canvas.h"

#include <stddef.h>
#include <stdint.h>

#define LS_CANVAS_BAND_ROWS 16u
#define LS_CANVAS_BANDS_MAX (LS_CANVAS_SIDE_MAX / LS_CANVAS_BAND_ROWS + 1)

/* In pixels. */
typedef struct ls_canvas_part {
    uint32_t x, y, width, height;
} ls_canvas_part;

/* Copies what differs to `shown`: pixels of four bytes, as many as the canvas has, with `pitch`
 * bytes from one row to the next. Returns how many parts were copied, at most one for each band of
 * LS_CANVAS_BAND_ROWS rows. */
uint32_t ls_canvas_copy_changes(const ls_canvas *canvas, uint8_t *shown, size_t pitch,
                                ls_canvas_part parts[LS_CANVAS_BANDS_MAX]);

#endif
