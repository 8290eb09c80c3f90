/* Input file: a whole file as bytes in memory, up to a stated size. Called by programs that read
 * formats which the core keeps as bytes. */
#ifndef LOCKSTEP_COMMON_PROGRAM_INPUT_FILE_H
#define LOCKSTEP_COMMON_PROGRAM_INPUT_FILE_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdint.h>

/* The bytes are the caller's to release; an empty file gives NULL and 0. IO with the path and the
 * reason, FULL when it is larger than `size_max`, NO_MEMORY. */
ls_status ls_input_file_read(const char *path, uint64_t size_max, const ls_allocator *allocator,
                             uint8_t **out, size_t *out_size, ls_text *why);

#endif
