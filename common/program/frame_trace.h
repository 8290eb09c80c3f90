/* Frame trace: how long each frame of a program lasted, as a text file: one frame a line, its
 * length in nanoseconds as a decimal number. Empty lines and what stands behind a # mean nothing.
 * Reads whole files, and writes frame by frame; knows nothing of what a frame is.
 * Written by lockstep-client --record-frames, read by lockstep-timestep --trace. */
#ifndef LOCKSTEP_COMMON_PROGRAM_FRAME_TRACE_H
#define LOCKSTEP_COMMON_PROGRAM_FRAME_TRACE_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdint.h>
#include <stdio.h>

#define LS_FRAME_TRACE_BYTES_MAX (UINT64_C(64) << 20)
#define LS_FRAME_TRACE_FRAME_MAX_NS UINT64_C(3600000000000) /* an hour */

/* ---- reading ---- */

typedef struct ls_frame_trace {
    uint64_t *frames_ns; /* 1 .. LS_FRAME_TRACE_FRAME_MAX_NS each */
    uint32_t count;      /* > 0 */
} ls_frame_trace;

/* From text that need not end with NUL; BAD_ARGUMENT with the line's number in `why`, NO_MEMORY.
 * `name` of the text stands in the sentence. */
ls_status ls_frame_trace_parse(const char *text, size_t size, const char *name,
                               const ls_allocator *allocator, ls_frame_trace *out, ls_text *why);

/* From a file of at most LS_FRAME_TRACE_BYTES_MAX; as above, and IO or FULL. */
ls_status ls_frame_trace_read(const char *path, const ls_allocator *allocator, ls_frame_trace *out,
                              ls_text *why);

void ls_frame_trace_release(ls_frame_trace *trace, const ls_allocator *allocator);

/* ---- writing ---- */

/* Holds a stream's buffer and nothing that grows, so that a whole evening can be recorded. */
typedef struct ls_frame_recorder {
    FILE *file;       /* NULL: not recording */
    const char *path; /* borrowed */
    uint64_t last_ns; /* when the newest frame began; 0: there was none yet */
} ls_frame_recorder;

/* Replaces the file. IO with the reason. */
ls_status ls_frame_recorder_open(ls_frame_recorder *recorder, const char *path, ls_text *why);

/* A frame begins: the one before it has lasted until now. `now_ns` > 0. Nothing when closed. */
void ls_frame_recorder_begin_frame(ls_frame_recorder *recorder, uint64_t now_ns);

/* IO when anything could not be written. Nothing when it is not open. */
ls_status ls_frame_recorder_close(ls_frame_recorder *recorder, ls_text *why);

#endif
