/* Font writer: writes letters that the font of even width has no glyphs for, with other fonts of
 * this machine, for a canvas. Keeps fonts open, and the pictures of letters, within bounds. One
 * thread at a time uses it. */
#ifndef LOCKSTEP_CLIENT_WINDOW_FONT_WRITER_H
#define LOCKSTEP_CLIENT_WINDOW_FONT_WRITER_H

#include "lockstep/client/view/canvas.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* ---- the file of a font that has a letter ---- */

/* The path of the font nearest to DejaVu Sans Mono. NOT_FOUND when there is no font at all. */
ls_status ls_font_file_find(char *path, size_t capacity);

/* The path of the nth font (from 0 on) that may have these characters: it has to be read to find
 * out. NOT_FOUND when there is none, or no further one. */
ls_status ls_font_file_find_with(const uint32_t *codes, size_t count, uint32_t nth, char *path,
                                 size_t capacity);

typedef struct ls_font_writer ls_font_writer;

/* NULL: no memory. */
ls_font_writer *ls_font_writer_create(const ls_allocator *allocator);
void ls_font_writer_destroy(ls_font_writer *writer); /* NULL: nothing happens */

/* For the fonts of a canvas; lives as long as the writer. */
ls_canvas_writer *ls_font_writer_canvas(ls_font_writer *writer);

/* Before each picture: forgets what it has kept if that has become too much. */
void ls_font_writer_begin(ls_font_writer *writer);

#endif
