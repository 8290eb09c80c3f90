/* Counting allocator: an allocator over the C heap that counts, and fails when it is told to.
 * Proves that running code never allocates, that everything is given back, and that every failed
 * allocation is survived. Beside it stands a count of all heap calls of our code, so that nothing
 * escapes by calling malloc itself. For tests only. */
#ifndef LOCKSTEP_TESTS_SUPPORT_COUNTING_ALLOCATOR_H
#define LOCKSTEP_TESTS_SUPPORT_COUNTING_ALLOCATOR_H

#include "lockstep/common/base/allocator.h"

#include <stdint.h>

typedef struct counting_allocator {
    ls_allocator allocator; /* what to pass on */
    uint64_t allocations;   /* that succeeded */
    uint64_t refusals;
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t peak_bytes;
    uint64_t allowed; /* allocations that still succeed; UINT64_MAX for no end */
} counting_allocator;

/* In the caller's storage, which must not move afterwards. */
void counting_allocator_init(counting_allocator *counting);

/* Calls of malloc, calloc, realloc and aligned_alloc by any code that is linked into the test
 * (not by shared libraries) since the program began. */
uint64_t heap_calls(void);

#endif
