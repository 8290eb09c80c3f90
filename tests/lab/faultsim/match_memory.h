/* Match memory: where one match after another lives: handed out from one block, taken back all at
 * once, so that a thousand matches cost no page faults. Counts what the cores ask for beside what
 * the harness does. Sanitized builds take every piece from the heap, where a sanitizer watches it.
 * Called by play. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_MATCH_MEMORY_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_MATCH_MEMORY_H

#include "lockstep/common/base/allocator.h"

#include <stdint.h>

typedef struct ls_match_memory ls_match_memory;

/* NULL when memory is out. */
ls_match_memory *faultsim_match_memory_create(void);
void faultsim_match_memory_destroy(ls_match_memory *memory);

/* Takes back everything that was handed out. */
void faultsim_match_memory_reset(ls_match_memory *memory);

/* For the match and its sessions, counted; and for everything around them. */
const ls_allocator *faultsim_match_memory_of_cores(ls_match_memory *memory);
const ls_allocator *faultsim_match_memory_of_harness(ls_match_memory *memory);

/* Allocations by the cores, ever. */
const uint64_t *faultsim_match_memory_allocations(const ls_match_memory *memory);

#endif
