/* Tick backlog: closed ticks that have come and wait to be stepped, because the state that they
 * follow is still on its way. First in, first out, coded as tick blocks (tick_block.h) in chained
 * chunks of 64 KiB: a quiet tick takes a byte. Grows up to a stated limit and gives back what was
 * taken out. Knows nothing of packets or time. */
#ifndef LOCKSTEP_CLIENT_SESSION_TICK_BACKLOG_H
#define LOCKSTEP_CLIENT_SESSION_TICK_BACKLOG_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/simulation/simulation.h"

#define LS_TICK_BACKLOG_CHUNK_BYTES 65536u

typedef struct ls_tick_backlog_config {
    uint32_t slot_count;      /* 1 .. LS_PLAYERS_MAX */
    uint32_t input_bytes_max; /* 0 .. LS_INPUT_BYTES_MAX */
    uint32_t bytes_max;       /* of chunks: LS_TICK_BACKLOG_CHUNK_BYTES .. */
} ls_tick_backlog_config;

typedef struct ls_tick_backlog ls_tick_backlog;

ls_status ls_tick_backlog_create(const ls_tick_backlog_config *config,
                                 const ls_allocator *allocator, ls_tick_backlog **out);
/* NULL is allowed. */
void ls_tick_backlog_destroy(ls_tick_backlog *backlog);

/* Copies the tick behind the others; while there are others, it is the one after them. FULL beyond
 * the limit, NO_MEMORY; then nothing has changed. */
ls_status ls_tick_backlog_add(ls_tick_backlog *backlog, const ls_tick_inputs *inputs);

/* Takes out the oldest tick; its inputs are in slots[], borrowed until the next call of take.
 * NOT_FOUND when there is none. */
ls_status ls_tick_backlog_pop(ls_tick_backlog *backlog, ls_slot_input slots[LS_PLAYERS_MAX],
                              ls_tick_inputs *out);

/* Ticks held, and bytes of the chunks that they lie in. */
uint32_t ls_tick_backlog_count(const ls_tick_backlog *backlog);
uint32_t ls_tick_backlog_bytes(const ls_tick_backlog *backlog);

#endif
