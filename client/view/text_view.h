/* Text view: a canvas as lines of text for a terminal. In colour a cell shows two pixels, one above
 * the other; without it one, as a character the denser the lighter it is. Writes to memory; knows
 * no terminal. */
#ifndef LOCKSTEP_CLIENT_VIEW_TEXT_VIEW_H
#define LOCKSTEP_CLIENT_VIEW_TEXT_VIEW_H

#include "lockstep/client/view/canvas.h"

#include <stddef.h>

/* Bytes that a canvas takes at most, in either form, with the final NUL. */
size_t ls_text_view_bytes(const ls_canvas *canvas);

/* In 256 colours, from the upper left corner of the terminal on; lines end with "\033[K\r\n". The
 * height of the canvas counts as even. Returns the bytes without the NUL. */
size_t ls_text_view_colour(const ls_canvas *canvas, char *text);

/* Characters alone; lines end with "\n". Every second row of pixels is passed over, since a cell is
 * twice as high as wide. `background` (0xRRGGBBAA) is left blank. */
size_t ls_text_view_plain(const ls_canvas *canvas, uint32_t background, char *text);

#endif
