/* Loop file: the few calls of files that a job of the event loop makes, through libuv. They wait
 * for the disk: never called in the loop's own thread while a match runs, but of a file in memory.
 * Called by stores and by rerun_process. */
#ifndef LOCKSTEP_COMMON_RUNTIME_LOOP_FILE_H
#define LOCKSTEP_COMMON_RUNTIME_LOOP_FILE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

typedef enum ls_loop_file_mode {
    LS_LOOP_FILE_NEW,     /* must not be there yet; mode 0600 */
    LS_LOOP_FILE_PRESENT, /* must be there */
} ls_loop_file_mode;

/* IO, with the reason of the system in `why`: here and below. The file is this process's until it
 * is closed: ALREADY_STARTED while another one, or another opening of it, has it. */
ls_status ls_loop_file_open(const char *path, ls_loop_file_mode mode, int *file, ls_text *why);
void ls_loop_file_close(int file);

/* All of the bytes, or IO: then some of them may be there. */
ls_status ls_loop_file_write(int file, const uint8_t *bytes, size_t size, uint64_t offset,
                             ls_text *why);

/* Everything written so far survives the loss of power. */
ls_status ls_loop_file_synchronise(int file, ls_text *why);

/* Whether the open file has no name any more: it was deleted, and ends with its closing. False when
 * the system does not say. */
bool ls_loop_file_is_deleted(int file);

/* Cuts the file, or leaves it as it is. */
ls_status ls_loop_file_cut(int file, uint64_t size, ls_text *why);

LS_C_END

#endif
