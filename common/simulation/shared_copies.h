/* Shared copies: several copies of one block of bytes as it changes, in memory fixed at create. A
 * chunk that is the same as in the copy before is kept once for both, so that taking a copy of a
 * large block of which little changes reads it and hardly writes: nothing is taken on trust, chunks
 * are compared. Where all changes, each copy has chunks of its own. */
#ifndef LOCKSTEP_COMMON_SIMULATION_SHARED_COPIES_H
#define LOCKSTEP_COMMON_SIMULATION_SHARED_COPIES_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"

#include <stdint.h>

typedef struct ls_shared_copies ls_shared_copies;

/* Room for `count` copies, at least 1, of up to bytes_max each, at least 1. NO_MEMORY. */
ls_status ls_shared_copies_create(uint32_t count, size_t bytes_max, const ls_allocator *allocator,
                                  ls_shared_copies **out);
void ls_shared_copies_destroy(ls_shared_copies *copies);

/* Makes copy `place` (below count) one of these bytes, at most bytes_max: what it was before is
 * gone. */
void ls_shared_copies_store(ls_shared_copies *copies, uint32_t place, const uint8_t *bytes,
                            size_t size);

/* The bytes of a copy that was taken, in one piece: borrowed until the next call. */
const uint8_t *ls_shared_copies_read(ls_shared_copies *copies, uint32_t place);

/* Chunks that are kept, each once: what the copies take, in units of LS_HASH_CHUNK_BYTES. */
size_t ls_shared_copies_chunks(const ls_shared_copies *copies);

#endif
