/* Output: where a program writes its result: a file, or standard output for "-".
 * Called by the writers of summaries, reports and port files. */
#ifndef LOCKSTEP_COMMON_SYSTEM_OUTPUT_H
#define LOCKSTEP_COMMON_SYSTEM_OUTPUT_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether the file can be opened for writing, so that nobody plays a match for nothing. IO with the
 * reason. Changes nothing: what there was stays, and no file is left where there was none. */
ls_status ls_output_check_path(const char *path, ls_text *why);

/* Whether both are names of one file that is there: what is read must not be written over. */
bool ls_output_is_same_file(const char *path, const char *other);

/* Whether files can be made in the directory: IO, with the reason. `what` they would be. */
ls_status ls_output_check_directory(const char *path, const char *what, ls_text *why);

/* Writes the text and a newline. IO, with the path and the reason in `why`: among them that nobody
 * reads a pipe or a terminal for LS_OUTPUT_PATIENCE_MS, in which no signal ends a server. */
#define LS_OUTPUT_PATIENCE_MS 5000u
ls_status ls_output_write(const char *path, const char *text, ls_text *why);

/* A stream that replaces what the file holds, by the rule for links below; standard output for "-".
 * NULL with errno. One that never waits is for what is written while a match runs: a pipe needs its
 * reader at once, and what it has no room for fails, as on a full disk. */
typedef enum ls_output_wait {
    LS_OUTPUT_WAITS_FOR_READER,
    LS_OUTPUT_IS_PATIENT, /* a reader has LS_OUTPUT_PATIENCE_MS to come; what is written fails as
                             in: */
    LS_OUTPUT_NEVER_WAITS,
} ls_output_wait;
FILE *ls_output_open(const char *path, ls_output_wait wait);

/* Closes it, or leaves it open where it is standard output. False with errno when anything that was
 * written to it is lost. */
bool ls_output_close(FILE *file);

/* A file is written as a whole or not at all: after a failure the older one is still there. A link
 * is followed when it is the user's own, or root's, and leads to no other user's file. */

/* Writes the bytes as they are; `what` they are stands in the sentence about a failure. */
ls_status ls_output_write_bytes(const char *path, const char *what, const void *bytes, size_t size,
                                ls_text *why);

/* Writes what `writer` writes to a stream; `what` as above. NO_MEMORY as well. */
typedef void (*ls_output_writer)(FILE *stream, const void *content);
ls_status ls_output_write_by(const char *path, const char *what, ls_output_writer writer,
                             const void *content, ls_text *why);

/* The disk of a directory: what is free for this user, of how much. False, and both 0, where that
 * is not known. */
bool ls_output_space(const char *directory, uint64_t *free_bytes, uint64_t *bytes);

/* Whether so many bytes more fit on the disk of a directory and leave LS_OUTPUT_RESERVE_BYTES for
 * what matters more: a journal. True where that is not known. */
#define LS_OUTPUT_RESERVE_BYTES (UINT64_C(64) << 20)
bool ls_output_has_room(const char *directory, uint64_t bytes);

/* Like write_bytes, to a file that is not there yet, and that its owner alone may read: when it is,
 * "-2", "-3" ... is put before its ending, and `path` (of `capacity` bytes) becomes the name that
 * was taken. */
ls_status ls_output_write_new(char *path, size_t capacity, const char *what, const void *bytes,
                              size_t size, ls_text *why);

/* `path` becomes the name that ls_output_write_new would take now. */
void ls_output_new_name(char *path, size_t capacity);

/* Writes a port, in decimal, and a newline: for scripts, which wait for the file. */
ls_status ls_output_write_port(const char *path, uint16_t port, ls_text *why);

/* ---- Non-blocking writer: an open descriptor that is written to without ever waiting for its
 * reader: a terminal that was stopped or a pipe that is not drained takes as much as it has room
 * for. Other users of the descriptor, a shell say, do not notice. Keeps no bytes ---- */

typedef struct ls_nonblocking_writer {
    int descriptor;
    int kind;        /* how it is written to without waiting */
    bool has_failed; /* the newest bytes could not be written at all */
} ls_nonblocking_writer;

/* The descriptor stays open behind it. A descriptor that is no terminal, pipe or socket, a file
 * say, never makes its writer wait for long and is written to as it is. */
ls_nonblocking_writer ls_nonblocking_writer_open(int descriptor);
void ls_nonblocking_writer_close(ls_nonblocking_writer *writer);

/* Returns how many bytes went out, fewer than `size` when there is no room now. Bytes that cannot
 * be written at all, since the reader is gone or a disk is full, count as gone, and has_failed says
 * so. */
size_t ls_nonblocking_writer_write(ls_nonblocking_writer *writer, const char *bytes, size_t size);

/* Waits until there may be room; false when there was none in that time. */
bool ls_nonblocking_writer_wait(const ls_nonblocking_writer *writer, uint32_t patience_ms);

#endif
