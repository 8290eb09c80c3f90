/* Memory: the heap, and whole pages. A call of the heap does nothing where the system cannot do it.
 * Called by programs. */
#ifndef LOCKSTEP_COMMON_SYSTEM_MEMORY_H
#define LOCKSTEP_COMMON_SYSTEM_MEMORY_H

#include "lockstep/common/base/allocator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Heap: what malloc's memory holds and where it lies, for runs that change it, and memory for
 * blocks that are large ---- */

/* From now on malloc's memory is full of a byte when it is given out, and of another one when it is
 * given back; all of it in a child process that is started so (has_plain_heap). */
void ls_heap_fill(int byte);

/* From now on blocks of so many bytes or more come from the system and go back to it: what is not
 * written takes no memory, and costs pages at its first use each time. */
void ls_heap_return(int bytes);

/* Memory that is mapped later lies so much further on. */
void ls_heap_leave_hole(size_t bytes);

/* A heap for few blocks that are many pages: each page of a common size costs as much as copying it
 * twice. Smaller ones, and more, are of the C heap. */
const ls_allocator *ls_allocator_large(void);

/* The C heap, with pairs where the system can share pages between a block and its copy. */
const ls_allocator *ls_allocator_paired(void);

/* ---- Pages: memory in whole pages, which can be closed to reading and writing, and the size of
 * those that a large block lies in ---- */

typedef enum ls_pages_access {
    LS_PAGES_CLOSED, /* touching them is a crash */
    LS_PAGES_READ,
    LS_PAGES_WRITTEN, /* and read */
} ls_pages_access;

size_t ls_pages_size(void); /* of one, in bytes */

/* Closed pages full of zeros, at about this address if they are free there; 0: anywhere. NULL:
 * memory is out. */
void *ls_pages_acquire(uintptr_t wanted, size_t bytes);

/* Of whole pages of these. False where the system refuses it. */
bool ls_pages_allow(void *pages, size_t bytes, ls_pages_access access);

void ls_pages_release(void *pages, size_t bytes); /* all that acquire gave */

/* Moves what lies here, in any memory, into pages of 2 MiB, which the processor finds faster. Takes
 * about a millisecond for 2 MiB. No effect on less, and where the system has no such pages free. */
void ls_pages_enlarge(const void *start, size_t bytes);

#endif
