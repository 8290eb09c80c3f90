/* Heap calls: fills each block that loaded code gets from malloc and its kin where the code has not
 * set it: what realloc adds to a block in its place too, and a little past its end. On Linux of
 * x86-64 and aarch64 with glibc; elsewhere nothing is filled. Never in a process that plays a
 * match. Called by helpers that run ticks again. */
#ifndef LOCKSTEP_COMMON_SYSTEM_HEAP_CALLS_H
#define LOCKSTEP_COMMON_SYSTEM_HEAP_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* From now on, of all code that is loaded by now: plug-ins, their libraries, and the program itself
 * where it may lie anywhere in memory. The filler is called by any thread that allocates, and must
 * not allocate. Calls of the C library within itself go past it. */
void ls_heap_calls_fill(void (*filler)(uint8_t *bytes, size_t size));

#endif
