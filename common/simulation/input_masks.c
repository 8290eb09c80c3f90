#include "lockstep/common/simulation/input_masks.h"

#include <string.h>

ls_status ls_input_masks_create(const ls_sim_instance *instance, const ls_allocator *allocator,
                                ls_input_masks **out)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    uint32_t bytes = simulation->input_bytes_max;
    *out = NULL;
    if (!simulation->input_bits || bytes == 0) {
        return LS_OK;
    }
    ls_input_masks *masks = ls_allocate(allocator, sizeof *masks + 2 * (size_t)bytes);
    if (!masks) {
        return LS_NO_MEMORY;
    }
    uint8_t *memory = (uint8_t *)(masks + 1);
    memset(memory, 0, 2 * (size_t)bytes);
    *masks = (ls_input_masks){.bytes = bytes, .edges = memory, .buttons = memory + bytes};
    ls_sim_instance_input_bits(instance, &(ls_input_bits){masks->edges, masks->buttons});
    for (uint32_t i = 0; i < bytes; i++) {
        masks->buttons[i] &= (uint8_t)~masks->edges[i];
        masks->has_buttons = masks->has_buttons || masks->buttons[i];
    }
    *out = masks;
    return LS_OK;
}

bool ls_input_masks_is_whole(const ls_input_masks *masks, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        if (masks->edges[i] != 0xFF) {
            return false;
        }
    }
    return size > 0;
}

bool ls_input_masks_has_edges(const ls_input_masks *masks, const ls_slot_input *input)
{
    for (uint32_t i = 0; i < input->size; i++) {
        if (input->bytes[i] & masks->edges[i]) {
            return true;
        }
    }
    return ls_input_masks_is_whole(masks, input->size);
}

uint32_t ls_input_masks_leave_out_edges(const ls_input_masks *masks, uint8_t *bytes, uint32_t size)
{
    if (ls_input_masks_is_whole(masks, size)) {
        return 0;
    }
    for (uint32_t i = 0; i < size; i++) {
        bytes[i] &= (uint8_t)~masks->edges[i];
    }
    return size;
}
