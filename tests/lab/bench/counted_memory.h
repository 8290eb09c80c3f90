/* Counted memory: the C heap, with a count of the bytes that whoever was given it holds now. Called
 * by the sections that tell what something takes. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_COUNTED_MEMORY_H
#define LOCKSTEP_TESTS_LAB_BENCH_COUNTED_MEMORY_H

#include "lockstep/common/base/allocator.h"

#include <stdint.h>

typedef struct bench_counted_memory {
    ls_allocator allocator; /* what to pass on */
    uint64_t bytes;         /* that are held, without what the heap itself adds */
} bench_counted_memory;

/* In the caller's storage, which must not move afterwards. */
void bench_counted_memory_init(bench_counted_memory *counted);

#endif
