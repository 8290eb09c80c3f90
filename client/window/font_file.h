/* Font file: finds a font of even width on this machine, and reads none. The only module that knows
 * fontconfig; font_file_none.c does without. */
#ifndef LOCKSTEP_CLIENT_WINDOW_FONT_FILE_H
#define LOCKSTEP_CLIENT_WINDOW_FONT_FILE_H

#include "lockstep/common/base/status.h"

#include <stddef.h>

/* The path of the font nearest to DejaVu Sans Mono. NOT_FOUND when there is no font at all. */
ls_status ls_font_file_find(char *path, size_t capacity);

#endif
