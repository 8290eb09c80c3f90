/* Input buffer: a ring of ticks, each with one input per slot, in memory fixed at create. Holds
 * what a server received, what it closed, what a client has not had acknowledged and what it has
 * had confirmed. Knows nothing of packets or time. */
#ifndef LOCKSTEP_COMMON_SIMULATION_INPUT_BUFFER_H
#define LOCKSTEP_COMMON_SIMULATION_INPUT_BUFFER_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulation/simulation.h"

#include <string.h>

LS_C_BEGIN

/* The same bytes, whatever the events. */
static inline bool ls_slot_input_is_same(const ls_slot_input *a, const ls_slot_input *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

/* A slot's events of one tick are bits of a byte: here, in journals and on the wire. */
#define LS_INPUT_EVENTS_MAX 255u

typedef struct ls_input_buffer ls_input_buffer;

typedef struct ls_input_buffer_config {
    uint32_t slots;           /* 1 .. LS_PLAYERS_MAX */
    uint32_t input_bytes_max; /* 0 .. LS_INPUT_BYTES_MAX */
    uint32_t window_ticks;    /* a power of two; the ring holds [first, first + window) */
} ls_input_buffer_config;

ls_status ls_input_buffer_create(const ls_input_buffer_config *config,
                                 const ls_allocator *allocator, ls_input_buffer **out);
void ls_input_buffer_destroy(ls_input_buffer *buffer);

/* The oldest tick that can be held. Starts at 0; only grows, but for a restart. */
ls_tick ls_input_buffer_first(const ls_input_buffer *buffer);

/* Forgets every tick before `first`; no effect when that is not forward. */
void ls_input_buffer_forget_before(ls_input_buffer *buffer, ls_tick first);

/* Forgets everything; the window begins at `first`, which may be any tick. */
void ls_input_buffer_restart(ls_input_buffer *buffer, ls_tick first);

/* Copies an input in; `bytes` may be NULL when `size` is 0. slot < slots, here and below. STALE
 * before the window, FUTURE behind it, BAD_ARGUMENT when size is above input_bytes_max or events
 * are above LS_INPUT_EVENTS_MAX; FULL when the slot already has an input for the tick, which stays
 * as it was: the first one counts. */
ls_status ls_input_buffer_put(ls_input_buffer *buffer, ls_tick tick, uint32_t slot,
                              const uint8_t *bytes, uint32_t size, uint32_t events);

/* The same for each slot of a tick, up to the first that fails. */
ls_status ls_input_buffer_put_tick(ls_input_buffer *buffer, const ls_tick_inputs *inputs);

bool ls_input_buffer_has(const ls_input_buffer *buffer, ls_tick tick, uint32_t slot);

/* The input, borrowed until the tick is forgotten; NOT_FOUND when there is none. */
ls_status ls_input_buffer_get(const ls_input_buffer *buffer, ls_tick tick, uint32_t slot,
                              ls_slot_input *out);

/* Every slot's input at `tick` into slots[]; NOT_FOUND when one is missing. */
ls_status ls_input_buffer_tick(const ls_input_buffer *buffer, ls_tick tick,
                               ls_slot_input slots[LS_PLAYERS_MAX]);

/* Asks for the memory of a tick and of those around it, before it is used. */
void ls_input_buffer_prefetch(const ls_input_buffer *buffer, ls_tick tick);

/* ---- masks: which bits of a simulation's inputs are edges and which are buttons (ls_input_bits),
 * and an input without its edges ---- */

typedef struct ls_input_masks {
    uint32_t bytes; /* of each mask: input_bytes_max */
    uint8_t *edges;
    uint8_t *buttons; /* none of them an edge */
    bool has_buttons;
} ls_input_masks;

/* *out is NULL when the simulation says nothing of its inputs. NO_MEMORY. */
ls_status ls_input_masks_create(const ls_sim_instance *instance, const ls_allocator *allocator,
                                ls_input_masks **out);

/* An input of edges alone is one as a whole. */
bool ls_input_masks_is_whole(const ls_input_masks *masks, uint32_t size);
bool ls_input_masks_has_edges(const ls_input_masks *masks, const ls_slot_input *input);

/* Leaves out edges; returns the size that is left. */
uint32_t ls_input_masks_leave_out_edges(const ls_input_masks *masks, uint8_t *bytes, uint32_t size);

LS_C_END

#endif
