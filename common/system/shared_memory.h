/* Shared memory: memory that this process and its children see, filled with zeros at first: with
 * copies of this process, or by a descriptor that another program gets. Called by programs. */
#ifndef LOCKSTEP_COMMON_SYSTEM_SHARED_MEMORY_H
#define LOCKSTEP_COMMON_SYSTEM_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL: memory is out. */
void *ls_shared_memory_acquire(size_t bytes);

/* The same by a descriptor: make gives one, or -1 with errno; map makes it as long and gives the
 * memory, or NULL. */
int ls_shared_memory_make(const char *name);
void *ls_shared_memory_map(int descriptor, size_t bytes);

/* All of the bytes at this place, by the descriptor; writing behind the end makes it longer. False
 * with errno. */
bool ls_shared_memory_write(int descriptor, const void *bytes, size_t size, uint64_t offset);
bool ls_shared_memory_read(int descriptor, void *bytes, size_t size, uint64_t offset);

void ls_shared_memory_release(void *memory, size_t bytes); /* NULL is allowed */
void ls_shared_memory_close(int descriptor);               /* -1 is allowed */

#endif
