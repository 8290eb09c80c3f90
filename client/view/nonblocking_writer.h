/* Non-blocking writer: an open descriptor that is written to without ever waiting for who reads it:
 * a terminal that was stopped or a pipe that nobody drains takes what it has room for and no more.
 * Who shares the descriptor, a shell say, is not to notice. Keeps no bytes. Called by terminal. */
#ifndef LOCKSTEP_CLIENT_VIEW_NONBLOCKING_WRITER_H
#define LOCKSTEP_CLIENT_VIEW_NONBLOCKING_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ls_nonblocking_writer {
    int descriptor;
    int flags_before; /* of a descriptor that is not its own; -1: nothing to restore */
    bool is_own;
} ls_nonblocking_writer;

/* The descriptor stays open behind it. What is no terminal, pipe or socket, a file say, never makes
 * anybody wait for long and is written to as it is. */
ls_nonblocking_writer ls_nonblocking_writer_open(int descriptor);
void ls_nonblocking_writer_close(ls_nonblocking_writer *nonblocking_writer);

/* Returns how many bytes went out, fewer than `size` when there is no room now. What cannot be
 * written at all, since nobody is there any more or a disk is full, counts as gone. */
size_t ls_nonblocking_writer_write(ls_nonblocking_writer *nonblocking_writer, const char *bytes,
                                   size_t size);

/* Waits until there may be room; false when there was none in that time. */
bool ls_nonblocking_writer_wait(const ls_nonblocking_writer *nonblocking_writer,
                                uint32_t patience_ms);

#endif
