/* Mapped file: a whole file as bytes. A small one is copied, and on Windows any, so that nothing
 * that another process does with the file changes them: an editor or a copy that writes over a
 * service's configuration cuts it first. A larger one is read from the disk as it is looked at, and
 * ends the program where another process has cut off what is looked at. The only place that maps
 * files. Called by programs. */
#ifndef LOCKSTEP_COMMON_SYSTEM_MAPPED_FILE_H
#define LOCKSTEP_COMMON_SYSTEM_MAPPED_FILE_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stddef.h>
#include <stdint.h>

#define LS_MAPPED_FILE_COPY_MAX ((size_t)16 << 20)

typedef struct ls_mapped_file {
    const uint8_t *bytes; /* NULL: an empty file */
    size_t size;
} ls_mapped_file;

/* IO with the path and the reason. */
ls_status ls_mapped_file_open(const char *path, ls_mapped_file *out, ls_text *why);
/* The same of a file beneath a folder, as ls_file_open_beneath has it: NOT_FOUND when there is none
 * there, BAD_ARGUMENT when the path leaves the folder. */
ls_status ls_mapped_file_open_beneath(const char *folder, const char *path, ls_mapped_file *out,
                                      ls_text *why);
/* The same of a file that is open already, and stays so; `name` stands for its path. */
ls_status ls_mapped_file_of(int file, const char *name, ls_mapped_file *out, ls_text *why);
void ls_mapped_file_close(ls_mapped_file *file);

#endif
