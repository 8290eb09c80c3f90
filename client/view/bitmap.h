/* Bitmap: paints pictures and lines of text that belong to the world onto a canvas, at any size.
 * The letters are its own, of 5 by 7 points each, so that they look the same on every machine and
 * in a terminal, which has no font.. */
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

/* A line of text, `height` pixels high (> 0), with its top left corner at a place. Characters
 * other than ASCII 32 to 126 are shown as '?'. */
void ls_bitmap_text(ls_canvas *canvas, ls_canvas_point top_left, float height, uint32_t colour,
                    const char *text);

/* How wide such a line is. */
float ls_bitmap_text_width(float height, const char *text);

#endif
