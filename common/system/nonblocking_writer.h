/* Non-blocking writer: an open descriptor that is written to without ever waiting for its reader: a
 * terminal that was stopped or a pipe that is not drained takes as much as it has room for. Other
 * users of the descriptor, a shell say, do not notice. Keeps no bytes. Called by console and
 * terminal. */
#ifndef LOCKSTEP_COMMON_SYSTEM_NONBLOCKING_WRITER_H
#define LOCKSTEP_COMMON_SYSTEM_NONBLOCKING_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
