/* Text view: a canvas as lines of text for a terminal. In colour a cell shows two pixels, one above
 * the other; without it one, as a character the denser the lighter it is. Texts of a picture stand
 * in its cells as they are. Writes to memory; knows no terminal. */
#ifndef LOCKSTEP_CLIENT_VIEW_TEXT_VIEW_H
#define LOCKSTEP_CLIENT_VIEW_TEXT_VIEW_H

#include "lockstep/client/view/canvas.h"

#include <stdbool.h>
#include <stddef.h>

/* Cells of a line that are looked at for text. */
#define LS_TEXT_VIEW_COLUMNS_MAX 512u

/* A text on the picture: its first character stands in this cell. */
typedef struct ls_text_run {
    int32_t column;
    int32_t row;
    uint32_t colour; /* 0xRRGGBBAA */
    const char *text;
} ls_text_run;

typedef struct ls_text_page {
    const ls_canvas *canvas;
    uint32_t background;  /* 0xRRGGBBAA: left blank where there are no colours */
    bool has_true_colour; /* the terminal has more than 256 */
    const ls_text_run *runs;
    uint32_t run_count;
} ls_text_page;

/* Bytes that a canvas takes at most, in either form, with the final NUL. */
size_t ls_text_view_bytes(const ls_canvas *canvas);

/* From the upper left corner of the terminal on; lines end with "\033[K\r\n". The height of the
 * canvas counts as even. Returns the bytes without the NUL. */
size_t ls_text_view_colour(const ls_text_page *page, char *text);

/* Characters alone; lines end with "\n". Every second row of pixels is passed over, since a cell is
 * twice as high as wide. */
size_t ls_text_view_plain(const ls_text_page *page, char *text);

#endif
