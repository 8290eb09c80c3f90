/* PNG file: writes a canvas into a file, without its alpha. The only module that knows
 * libpng. */
#ifndef LOCKSTEP_CLIENT_WINDOW_PNG_FILE_H
#define LOCKSTEP_CLIENT_WINDOW_PNG_FILE_H

#include "lockstep/client/view/canvas.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

/* IO with the path and the reason, or NO_MEMORY. */
ls_status ls_png_file_write(const char *path, const ls_canvas *canvas,
                            const ls_allocator *allocator, ls_text *why);

#endif
