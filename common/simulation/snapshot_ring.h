/* Snapshot ring: saved states of one running simulation, each with its state hash, in memory fixed
 * at create. A save keeps what has changed since the one before it. Tick t always lies in place t %
 * capacity, so a save takes the place of the state `capacity` ticks before it. Never steps and
 * never hashes; knows nothing of inputs. */
#ifndef LOCKSTEP_COMMON_SIMULATION_SNAPSHOT_RING_H
#define LOCKSTEP_COMMON_SIMULATION_SNAPSHOT_RING_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/simulation/sim_instance.h"

#include <stdint.h>

/* ---- Shared copies: several copies of one block of bytes as it changes, in memory fixed at
 * create. A chunk that is the same as in the copy before is kept once for both, so that taking a
 * copy of a large block of which little changes reads it and hardly writes: nothing is taken on
 * trust, chunks are compared. Where all changes, each copy has chunks of its own ---- */

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

/* ---- snapshot ring ---- */

typedef struct ls_snapshot_ring ls_snapshot_ring;

/* Room for `capacity` (at least 1) states of the instance, which is borrowed. UNSUPPORTED for a
 * simulation that cannot save. Saves of a simulation that hashes by callback may grow: there is
 * room for twice what its state takes now. */
ls_status ls_snapshot_ring_create(ls_sim_instance *instance, uint32_t capacity,
                                  const ls_allocator *allocator, ls_snapshot_ring **out);
void ls_snapshot_ring_destroy(ls_snapshot_ring *ring);

/* Holds nothing any more. */
void ls_snapshot_ring_clear(ls_snapshot_ring *ring);

/* Saves the live state. FULL when it has grown beyond the room, else what ls_sim_instance_save
 * says; after a failure its place is empty. */
ls_status ls_snapshot_ring_save(ls_snapshot_ring *ring, uint64_t state_hash);

/* Makes the saved state of that tick the live one; NOT_FOUND, or what ls_sim_instance_load says. */
ls_status ls_snapshot_ring_load(ls_snapshot_ring *ring, ls_tick tick);

/* The saved state of that tick, borrowed until the next save, load or get; no bytes: it is not
 * held. */
ls_saved_state ls_snapshot_ring_get(ls_snapshot_ring *ring, ls_tick tick);

/* The state hash that it was saved with; NOT_FOUND. */
ls_status ls_snapshot_ring_hash(const ls_snapshot_ring *ring, ls_tick tick, uint64_t *state_hash);

#endif
