/* Lost presses: which edges and presses of buttons (ls_input_bits) the ticks were closed without,
 * since the inputs came too late or not at all, so that a later input brings them. A press that a
 * tick was closed with is never brought again. */
#ifndef LOCKSTEP_CLIENT_SESSION_LOST_PRESSES_H
#define LOCKSTEP_CLIENT_SESSION_LOST_PRESSES_H

#include "lockstep/common/simulation/input_buffer.h"

/* Inputs whose edges can wait for a later input; those of more are lost. */
#define LS_LOST_PRESSES_MAX 16u

typedef struct ls_lost_presses ls_lost_presses;

/* *out is NULL when the simulation says nothing of its inputs. `made` holds this player's inputs.
 * NO_MEMORY. */
ls_status ls_lost_presses_create(const ls_sim_instance *instance, const ls_input_buffer *made,
                                 const ls_allocator *allocator, ls_lost_presses **out);
/* NULL is allowed. */
void ls_lost_presses_destroy(ls_lost_presses *lost);

/* Inputs made so far are not for this match or slot. */
void ls_lost_presses_forget(ls_lost_presses *lost);

/* `tick`, for which the player made `input`, was closed with another one or the same. Called for
 * each tick that has one, in order. */
void ls_lost_presses_settle(ls_lost_presses *lost, ls_tick tick, const ls_slot_input *input,
                            const ls_slot_input *closed);

/* Whether `closed` is `before` once more, without its edges. NULL: there are none. */
bool ls_lost_presses_is_repeat(const ls_lost_presses *lost, const ls_slot_input *before,
                               const ls_slot_input *closed);

/* The input of `tick` is `size` bytes; `bytes` has room for LS_INPUT_BYTES_MAX. Adds what was lost,
 * at most a second ago, and returns the new size. Edges keep their order: those of this input wait
 * while older ones do. */
uint32_t ls_lost_presses_bring(ls_lost_presses *lost, ls_tick tick, uint8_t *bytes, uint32_t size);

#endif
