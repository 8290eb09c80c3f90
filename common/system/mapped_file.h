/* Mapped file: a whole file as bytes that are read from the disk as they are looked at, for formats
 * that may be large. The only place that maps files. A file that another process cuts meanwhile
 * ends the program when what is gone is looked at. Called by programs. */
#ifndef LOCKSTEP_COMMON_SYSTEM_MAPPED_FILE_H
#define LOCKSTEP_COMMON_SYSTEM_MAPPED_FILE_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stddef.h>
#include <stdint.h>

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
