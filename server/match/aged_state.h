/* Aged state: a copy of a running simulation's state that is at least so many ticks old, for those
 * who may not see newer ones. Two copies take turns: one can be given out while the other comes of
 * age. Of a simulation that cannot save it notes how far the history of its ticks went by then.
 * Copies only; nothing is compressed here. */
#ifndef LOCKSTEP_SERVER_MATCH_AGED_STATE_H
#define LOCKSTEP_SERVER_MATCH_AGED_STATE_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/encoding/tick_block.h"
#include "lockstep/common/simulation/sim_instance.h"

/* ---- Tick history: every closed tick of a match from tick 0 on, as blocks
 * (common/encoding/tick_block.h), for simulations whose state cannot be saved: a player or
 * spectator who comes simulates all of it. Memory grows by a piece of 1 MiB now and then, up to the
 * largest blob; then the history ends, and no player can join any more. Never drops a tick from the
 * middle. Owned by tick_log; read by aged_state, spectator_states and join_service ---- */

typedef struct ls_tick_history ls_tick_history;

/* NO_MEMORY. */
ls_status ls_tick_history_create(uint32_t slot_count, uint32_t input_bytes_max,
                                 const ls_allocator *allocator, ls_tick_history **out);
void ls_tick_history_destroy(ls_tick_history *history);

/* The next closed tick; `state hash` of the state that it makes, 0: not hashed; `chain`: the tick
 * chain behind it. */
void ls_tick_history_add(ls_tick_history *history, const ls_tick_inputs *inputs,
                         uint64_t state_hash, uint64_t chain);

/* Completes the newest block. Returns the size of all of them, each behind its own size as four
 * bytes, little-endian; 0 when there is no tick, or when memory was out. */
uint32_t ls_tick_history_flush(ls_tick_history *history);

/* Writes so many bytes, or as many as an earlier flush returned: the ticks up to that one. */
void ls_tick_history_write(const ls_tick_history *history, uint8_t *bytes, uint32_t size);

/* A state and what goes with it. */
typedef struct ls_state_copy {
    ls_tick tick;
    uint64_t state_hash;
    ls_tick chain_tick;  /* the newest hashed state up to there */
    uint64_t chain;      /* of the state hashes up to that one */
    uint64_t tick_chain; /* before `tick` */
    uint32_t size;       /* of the bytes, or of the history up to there; 0: state 0 */
    uint8_t *bytes;      /* as saved; NULL for state 0, and when the simulation cannot save */
} ls_state_copy;

typedef struct ls_aged_state_config {
    ls_sim_instance *instance; /* its state is copied */
    ls_tick_history *history;  /* its ticks, when it cannot save; else NULL */
    uint32_t age_ticks;
    uint32_t pause_min_ticks; /* between two copies; age_ticks if that is longer */
} ls_aged_state_config;

typedef struct ls_aged_state {
    ls_aged_state_config config;
    size_t bytes;         /* of a copy; 0: the simulation cannot save */
    bool has_copies;      /* false: none is made, or none any more */
    uint32_t pause_ticks; /* between two copies */
    ls_state_copy ready;  /* the one that is old enough */
    ls_state_copy coming;
    bool is_coming;
    uint8_t *rooms[2]; /* the next copy goes into the first */
} ls_aged_state;

/* Holds state 0 then, whose digests are the instance's. A state too large for a blob is not copied.
 * NO_MEMORY. */
ls_status ls_aged_state_init(ls_aged_state *aged, const ls_aged_state_config *config,
                             const ls_allocator *allocator);
void ls_aged_state_deinit(ls_aged_state *aged, const ls_allocator *allocator);

/* Whether ls_aged_state_advance has something to do once the live state is `tick`. */
bool ls_aged_state_is_due(const ls_aged_state *aged, ls_tick tick);

/* The live state is `live`, but for its state hash, size and bytes, which are taken from the
 * instance when it is time to: makes a copy of it, or gives out the one that has come of age. */
void ls_aged_state_advance(ls_aged_state *aged, const ls_state_copy *live);

#endif
