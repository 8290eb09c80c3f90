/* State history: the newest state of a match whole, and of the states before it the blocks that
 * have changed since: as many ticks as the memory holds, which is fixed at create. Some ticks are
 * snapshots: they are kept whatever changes, until newer snapshots follow. Adding a state compares
 * it with the one before, by the hashes of its chunks where those are known, and never allocates.
 * Knows nothing of simulations and inputs.
 * Called by the replay window alone. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_STATE_HISTORY_H
#define LOCKSTEP_COMMON_DIAGNOSIS_STATE_HISTORY_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/state_hash.h"

LS_C_BEGIN

#define LS_HISTORY_BLOCK_BYTES_MIN 64u
#define LS_HISTORY_SNAPSHOTS_MAX 16u

typedef struct ls_state_history_config {
    size_t state_bytes;
    uint32_t block_bytes;  /* a power of two, at least LS_HISTORY_BLOCK_BYTES_MIN */
    uint32_t old_blocks;   /* of states before the newest; at least `snapshots` whole states */
    uint32_t snapshots;    /* 2 .. LS_HISTORY_SNAPSHOTS_MAX */
    uint32_t recent_ticks; /* older states are dropped even where there is room for them */
} ls_state_history_config;

/* Blocks of one state. */
uint32_t ls_state_history_blocks(const ls_state_history_config *config);

/* All memory that create asks for. */
size_t ls_state_history_bytes(const ls_state_history_config *config);

/* The part of it that one old block takes. */
size_t ls_state_history_old_block_bytes(const ls_state_history_config *config);

typedef struct ls_state_history ls_state_history;

/* BAD_ARGUMENT, NO_MEMORY. */
ls_status ls_state_history_create(const ls_state_history_config *config,
                                  const ls_allocator *allocator, ls_state_history **out);
void ls_state_history_destroy(ls_state_history *history);

/* Forgets everything; this state, of any tick, is the first one and a snapshot. */
void ls_state_history_start(ls_state_history *history, ls_tick tick, const uint8_t *state);

typedef struct ls_history_state {
    const uint8_t *bytes;
    const uint8_t *chunk_hashes; /* of LS_HASH_CHUNK_BYTES each; NULL: not known */
} ls_history_state;

/* The state of a later tick than the newest; those that were left out between are not asked for. */
void ls_state_history_add(ls_state_history *history, ls_tick tick, ls_history_state state,
                          bool is_snapshot);

/* Whether a state that was added is still there. */
bool ls_state_history_has(const ls_state_history *history, ls_tick tick);

/* Such a state, made out of the newest one in its place: borrowed until the next call of this
 * function, of add or of start. NULL when it is not there any more. */
const uint8_t *ls_state_history_state(ls_state_history *history, ls_tick tick);

/* The newest snapshot not after `tick`; false when there is none. */
bool ls_state_history_snapshot(const ls_state_history *history, ls_tick tick, ls_tick *out);

LS_C_END

#endif
