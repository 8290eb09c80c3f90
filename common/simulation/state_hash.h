/* State hash: the state hash of a state, and the chains of state hashes and of closed ticks that a
 * match compares.
 * Canonical: the same state gives the same state hash on either byte order, with any compiler. The
 * state hash is a hash over the hashes of LS_HASH_CHUNK_BYTES chunks, so that a differing chunk can
 * be found without sending the state. Called by instances, match and session; never by a
 * simulation. */
#ifndef LOCKSTEP_COMMON_SIMULATION_STATE_HASH_H
#define LOCKSTEP_COMMON_SIMULATION_STATE_HASH_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/common/simulation/state_schema.h"

LS_C_BEGIN

#define LS_HASH_CHUNK_BYTES LS_WRITE_CHUNK_BYTES

typedef struct ls_state_hasher ls_state_hasher;

/* Borrows the schema. Holds the memory for chunk hashes (and, on big-endian machines, for a
 * canonical copy), so that hashing never allocates. */
ls_status ls_state_hasher_create(const ls_schema *schema, const ls_allocator *allocator,
                                 ls_state_hasher **out);
void ls_state_hasher_destroy(ls_state_hasher *hasher);

/* The state hash of a state of the schema's size. */
uint64_t ls_state_hash(ls_state_hasher *hasher, const void *state);

/* The same of a state whose chunks are those of the one that was hashed last, but for the written
 * ones: only these are read. */
uint64_t ls_state_hash_written(ls_state_hasher *hasher, const void *state,
                               const ls_written *written);

/* As ls_state_hash, and finds the first chunk that differs from that of the state that was hashed
 * last and was not written; written->count: there is none. */
uint64_t ls_state_hash_check(ls_state_hasher *hasher, const void *state, const ls_written *written,
                             size_t *unnamed);

/* The hashes of the chunks of the state that was hashed last, 8 bytes each. */
const uint8_t *ls_state_hasher_chunk_hashes(const ls_state_hasher *hasher);

/* The chain over state hashes: c(0) = chain_start(state hash 0), c(t) = chain_next(c(t-1), state
 * hash t). Equal chains mean equal state hashes for every tick up to there, so comparing the newest
 * compares them all. */
uint64_t ls_hash_chain_start(uint64_t state_hash);
uint64_t ls_hash_chain_next(uint64_t chain, uint64_t state_hash);

/* ---- tick chain: a digest of all the closed ticks of a match up to a tick. Equal chains mean the
 * same inputs and events on every tick before it, whatever was simulated with them: so a server
 * that comes back from its journal recognises the closed ticks that a client still holds. Knows
 * nothing of states ---- */

/* The chain before tick 0. */
#define LS_TICK_CHAIN_START UINT64_C(0x7469636b63686169)

/* The chain before tick inputs->tick + 1, from the one before inputs->tick: XXH3 (seed 0) over
 * le64(chain), le32(tick) and per slot le32(size << 8 | events), le64(XXH3 of the input). */
uint64_t ls_tick_chain_next(uint64_t chain, const ls_tick_inputs *inputs);

LS_C_END

#endif
