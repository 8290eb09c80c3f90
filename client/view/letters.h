/* Letters: how a text is cut into letters, and how many columns each takes in type of even width,
 * in a window and on a terminal alike. A letter is a character with the marks that stand on it, or
 * several that are joined into one. Any bytes may come: a text ends at its NUL. */
#ifndef LOCKSTEP_CLIENT_VIEW_LETTERS_H
#define LOCKSTEP_CLIENT_VIEW_LETTERS_H

#include "lockstep/client/view/canvas.h"
#include "lockstep/common/base/allocator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ls_letter {
    size_t bytes;     /* > 0, but at the end of the text */
    uint32_t columns; /* 1; 2 for letters of East Asia and for emoji; 0 for marks alone */
    uint32_t code;    /* the first character's number in Unicode */
    bool is_alone;    /* it is one character, without marks */
} ls_letter;

/* The first letter of a text in UTF-8. */
ls_letter ls_letter_first(const char *text);

/* Columns of all letters. */
uint32_t ls_letters_columns(const char *text);

/* Bytes of the letters that fit into so many columns, from the first one on. */
size_t ls_letters_fit(const char *text, size_t columns);

/* ---- Letter pictures: the writer of a canvas that keeps what it has written, within bounds. The
 * owner paints the letters: with fonts of a machine, or in a page of a browser. */

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
