/* Fuzz memory: one region that all objects of a run live in, which can be kept and put back whole,
 * so that a run begins with a copy of the state that a start like its own led to, instead of with
 * that start. A run whose first bytes were seen before costs what it alone writes.
 *
 *   run = fuzz_memory_restore(key);
 *   if (!run) {
 *       run = fuzz_memory_start(sizeof *run);
 *       ... the start of the run, which depends on the key alone ...
 *       fuzz_memory_keep(key);
 *   }
 *
 * The start may keep nothing outside of the region. Called by the fuzz targets that play. */
#ifndef LOCKSTEP_TESTS_FUZZ_FUZZ_MEMORY_H
#define LOCKSTEP_TESTS_FUZZ_FUZZ_MEMORY_H

#include "lockstep/common/base/allocator.h"

#include <stdint.h>

/* Takes out of the region; refuses a block of more than 64 MiB: a few bytes may ask for 256 MiB,
 * which is legal, and slow. */
const ls_allocator *fuzz_memory_allocator(void);

/* An empty region but for the run's own struct, zeroed, which is returned. */
void *fuzz_memory_start(size_t run_bytes);
void fuzz_memory_keep(uint32_t key);
/* Returns the run's own struct, or NULL when nothing is kept for the key. */
void *fuzz_memory_restore(uint32_t key);

/* Without the run's own struct. */
uint32_t fuzz_memory_live_blocks(void);
/* All that the allocator was asked for since the region was empty, and by the start of a run. */
uint64_t fuzz_memory_calls(void);

#endif
