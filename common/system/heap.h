/* Heap: what malloc's memory holds and where it lies, for runs that change it, and memory for
 * blocks that are large. A call does nothing where the system cannot do it. Called by rerun_helper,
 * synctest and the server. */
#ifndef LOCKSTEP_COMMON_SYSTEM_HEAP_H
#define LOCKSTEP_COMMON_SYSTEM_HEAP_H

#include "lockstep/common/base/allocator.h"

/* Starts this program anew with the one argument, unless it was started so already: such that all
 * that malloc gives out can be filled. */
void ls_heap_begin_plain(const char *argument);

/* From now on malloc's memory is full of a byte when it is given out, and of another one when it is
 * given back. */
void ls_heap_fill(int byte);

/* From now on the heap keeps what it was given back, and has of its own all blocks up to so many
 * bytes. */
void ls_heap_keep(int bytes);

/* From now on blocks of so many bytes or more come from the system and go back to it: what is not
 * written takes no memory, and costs pages at its first use each time. */
void ls_heap_return(int bytes);

/* Memory that is mapped later lies so much further on. */
void ls_heap_leave_hole(size_t bytes);

/* A heap for few blocks that are many pages: each page of a common size costs as much as copying it
 * twice. Smaller ones, and more, are of the C heap. */
const ls_allocator *ls_allocator_large(void);

#endif
