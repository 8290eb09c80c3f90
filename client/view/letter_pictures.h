/* Letter pictures: the writer of a canvas that keeps what it has written, within bounds. The
 * owner paints the letters: with fonts of a machine, or in a page of a browser. */
#ifndef LOCKSTEP_CLIENT_VIEW_LETTER_PICTURES_H
#define LOCKSTEP_CLIENT_VIEW_LETTER_PICTURES_H

#include "lockstep/client/view/canvas.h"
#include "lockstep/common/base/allocator.h"

typedef struct ls_letter_pictures ls_letter_pictures;

typedef struct ls_letter_painter {
    void *user;
    /* Paints the line of text into [font->height][width], which is blank. False: there is no font
     * that has all of these letters. */
    bool (*paint)(void *user, const ls_canvas_font *font, const char *text, uint32_t width,
                  uint8_t *coverage);
} ls_letter_painter;

/* NULL: no memory. */
ls_letter_pictures *ls_letter_pictures_create(const ls_letter_painter *painter,
                                              const ls_allocator *allocator);
void ls_letter_pictures_destroy(ls_letter_pictures *pictures); /* NULL: nothing happens */

/* For the fonts of a canvas; lives as long as the pictures. */
ls_canvas_writer *ls_letter_pictures_writer(ls_letter_pictures *pictures);

/* Before each picture of the canvas: forgets all if that has become too much. */
void ls_letter_pictures_begin(ls_letter_pictures *pictures);

#endif
