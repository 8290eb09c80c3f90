/* File writes: has the system refuse what this process would write to files, and tells to which.
 * For a copy of a process that runs foreign code once more, and whose files nobody wants. On Linux,
 * and of x86-64 alone it tells which; elsewhere files are written. Called by helpers that run ticks
 * again. */
#ifndef LOCKSTEP_COMMON_SYSTEM_FILE_WRITES_H
#define LOCKSTEP_COMMON_SYSTEM_FILE_WRITES_H

#include <stdbool.h>
#include <stddef.h>

/* From now on and until the process ends. Streams of the C library write before what they hold. */
void ls_file_writes_refuse(void);

/* The name, without folders, of the first file that was written to since the last call, by the
 * system's calls or streams of the C library; false: none was. */
bool ls_file_writes_next(char *name, size_t capacity);

#endif
