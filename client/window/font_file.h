/* Font file: finds fonts on this machine, and reads none. The only module that knows
 * fontconfig; font_file_none.c does without. */
#ifndef LOCKSTEP_CLIENT_WINDOW_FONT_FILE_H
#define LOCKSTEP_CLIENT_WINDOW_FONT_FILE_H

#include "lockstep/common/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* The path of the font nearest to DejaVu Sans Mono. NOT_FOUND when there is no font at all. */
ls_status ls_font_file_find(char *path, size_t capacity);

/* The path of the nth font (from 0 on) that may have these characters: it has to be read to find
 * out. NOT_FOUND when there is none, or no further one. */
ls_status ls_font_file_find_with(const uint32_t *codes, size_t count, uint32_t nth, char *path,
                                 size_t capacity);

#endif
