/* Tick parts: puts together closed ticks that come in parts (PROTOCOL.md, TICK_PART), several ticks
 * at once and in any order. Holds bytes only: never looks into a tick and never decides which one
 * is next. Allocates at init, never afterwards. */
#ifndef LOCKSTEP_CLIENT_SESSION_TICK_PARTS_H
#define LOCKSTEP_CLIENT_SESSION_TICK_PARTS_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/protocol/wire/tick_packet.h"

/* A tick as far as it has come. */
typedef struct ls_tick_whole {
    ls_tick tick;
    uint32_t total_bytes; /* 0: nothing yet */
    uint32_t received;    /* bit p: part p is there */
} ls_tick_whole;

typedef struct ls_tick_parts {
    const ls_allocator *allocator;
    uint32_t capacity_bytes; /* of one tick */
    uint8_t *bytes;          /* [LS_TICK_PARTS_AHEAD][capacity_bytes] */
    ls_tick_whole ticks[LS_TICK_PARTS_AHEAD];
} ls_tick_parts;

/* Room for ticks of so many slots and bytes of input. `parts` comes zeroed. NO_MEMORY. */
ls_status ls_tick_parts_init(ls_tick_parts *parts, uint32_t slot_count, uint32_t input_bytes_max,
                             const ls_allocator *allocator);
void ls_tick_parts_deinit(ls_tick_parts *parts);

/* Forgets all parts: those of another server may be of other ticks. */
void ls_tick_parts_forget(ls_tick_parts *parts);

/* Takes a part of a tick that is one of the LS_TICK_PARTS_AHEAD from `next` on; others are ignored.
 * MALFORMED when the tick would be larger than any can be. */
ls_status ls_tick_parts_add(ls_tick_parts *parts, const ls_tick_part *part, ls_tick next);

/* The bytes of a tick that is whole, borrowed until the next part is added, and gone from then on;
 * or NULL. */
const uint8_t *ls_tick_parts_pop(ls_tick_parts *parts, ls_tick tick, uint32_t *size);

#endif
