/* Shared memory: memory that this process and its children see, filled with zeros at first: with
 * copies of this process, or by a descriptor that another program gets. Called by programs. */
#ifndef LOCKSTEP_COMMON_SYSTEM_SHARED_MEMORY_H
#define LOCKSTEP_COMMON_SYSTEM_SHARED_MEMORY_H

#include <stddef.h>

/* NULL: memory is out. */
void *ls_shared_memory_acquire(size_t bytes);

/* The same by a descriptor: make gives one, or -1 with errno; map gives the memory, or NULL. */
int ls_shared_memory_make(const char *name, size_t bytes);
void *ls_shared_memory_map(int descriptor, size_t bytes);

void ls_shared_memory_release(void *memory, size_t bytes); /* NULL is allowed */
void ls_shared_memory_close(int descriptor);

#endif
