/* Bitmap: paints pictures that belong to the world, such as the screen of an emulator, onto a
 * canvas, at any size: smaller ones by means of what lies under a pixel, larger ones as squares. It
 * keeps nothing. Called by scene. */
#ifndef LOCKSTEP_CLIENT_VIEW_BITMAP_H
#define LOCKSTEP_CLIENT_VIEW_BITMAP_H

#include "lockstep/client/view/canvas.h"

typedef struct ls_bitmap {
    const uint32_t *pixels; /* 0xRRGGBBAA, [rows][columns] */
    uint32_t columns;       /* > 0 */
    uint32_t rows;          /* > 0 */
} ls_bitmap;

/* Stretched between two corners. Every pixel of the canvas has the mean of what lies under it;
 * where the bitmap is made larger its pixels stay squares. */
void ls_bitmap_paint(ls_canvas *canvas, const ls_bitmap *bitmap, ls_canvas_point top_left,
                     ls_canvas_point bottom_right);

#endif
