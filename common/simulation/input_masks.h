/* Input masks: which bits of a simulation's inputs are edges and which are buttons (ls_input_bits),
 * and an input without its edges. */
#ifndef LOCKSTEP_COMMON_SIMULATION_INPUT_MASKS_H
#define LOCKSTEP_COMMON_SIMULATION_INPUT_MASKS_H

#include "lockstep/common/simulation/sim_instance.h"

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

#endif
