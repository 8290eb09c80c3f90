/* Tick history: every closed tick of a match from tick 0 on, as blocks
 * (common/encoding/tick_block.h), for simulations whose state cannot be saved: a player or
 * spectator who comes simulates all of it. Memory grows by a piece of 1 MiB now and then, up to the
 * largest blob; then the history ends, and no player can join any more. Never drops a tick from the
 * middle. Owned by tick_log; read by aged_state, spectator_states and join_service. */
#ifndef LOCKSTEP_SERVER_MATCH_TICK_HISTORY_H
#define LOCKSTEP_SERVER_MATCH_TICK_HISTORY_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/encoding/tick_block.h"

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

#endif
