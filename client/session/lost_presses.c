#include "lockstep/client/session/lost_presses.h"

#include <string.h>

/* An input some of whose edges have to come again. */
typedef struct waiting_edges {
    ls_tick tick;
    uint32_t size;
    uint8_t *bytes; /* the edges alone */
} waiting_edges;

struct ls_lost_presses {
    const ls_allocator *allocator;
    const ls_input_buffer *made;
    ls_input_masks *masks;
    uint32_t ticks_max; /* that edges can wait */

    waiting_edges waiting[LS_LOST_PRESSES_MAX]; /* the oldest first */
    uint32_t count;

    uint8_t *unseen;  /* buttons that are down, and no tick was closed so since they went down */
    uint8_t *pressed; /* buttons that are up again, and never were down in a closed tick */
    bool has_pressed;
};

/* ---- life ---- */

static ls_status take_memory(ls_lost_presses *lost)
{
    uint32_t bytes = lost->masks->bytes;
    uint8_t *memory =
        ls_allocate_array(lost->allocator, LS_LOST_PRESSES_MAX + 2, bytes * sizeof *memory);
    lost->unseen = memory;
    if (!memory) {
        return LS_NO_MEMORY;
    }
    lost->pressed = memory + bytes;
    for (uint32_t i = 0; i < LS_LOST_PRESSES_MAX; i++) {
        lost->waiting[i].bytes = memory + (2 + i) * (size_t)bytes;
    }
    ls_lost_presses_forget(lost);
    return LS_OK;
}

ls_status ls_lost_presses_create(const ls_sim_instance *instance, const ls_input_buffer *made,
                                 const ls_allocator *allocator, ls_lost_presses **out)
{
    ls_input_masks *masks = NULL;
    ls_status status = ls_input_masks_create(instance, allocator, &masks);
    *out = NULL;
    if (status != LS_OK || !masks) {
        return status;
    }
    ls_lost_presses *lost = ls_allocate(allocator, sizeof *lost);
    if (!lost) {
        ls_release(allocator, masks);
        return LS_NO_MEMORY;
    }
    *lost = (ls_lost_presses){.allocator = allocator,
                              .made = made,
                              .masks = masks,
                              .ticks_max = ls_sim_instance_config(instance)->tick_rate_hz};
    status = take_memory(lost);
    if (status != LS_OK) {
        ls_lost_presses_destroy(lost);
        return status;
    }
    *out = lost;
    return LS_OK;
}

void ls_lost_presses_destroy(ls_lost_presses *lost)
{
    if (lost) {
        ls_release(lost->allocator, lost->unseen);
        ls_release(lost->allocator, lost->masks);
        ls_release(lost->allocator, lost);
    }
}

void ls_lost_presses_forget(ls_lost_presses *lost)
{
    lost->count = 0;
    lost->has_pressed = false;
    memset(lost->unseen, 0, 2 * (size_t)lost->masks->bytes);
}

static uint8_t byte_of(const ls_slot_input *input, uint32_t index)
{
    return index < input->size ? input->bytes[index] : 0;
}

/* ---- edges ---- */

bool ls_lost_presses_is_repeat(const ls_lost_presses *lost, const ls_slot_input *before,
                               const ls_slot_input *closed)
{
    if (!lost) {
        return ls_slot_input_is_same(before, closed);
    }
    bool is_left_out = ls_input_masks_is_whole(lost->masks, before->size);
    bool is_repeat = closed->size == (is_left_out ? 0 : before->size);
    for (uint32_t i = 0; is_repeat && i < closed->size; i++) {
        is_repeat = closed->bytes[i] == (before->bytes[i] & (uint8_t)~lost->masks->edges[i]);
    }
    return is_repeat;
}

/* Keeps the edges of an input that `but`, which is another one, does not have. False when there is
 * no room. */
static bool keep_edges(ls_lost_presses *lost, ls_tick tick, const ls_slot_input *input,
                       const ls_slot_input *but)
{
    static const ls_slot_input nothing = {0};
    bool is_lost = ls_input_masks_is_whole(lost->masks, input->size);
    if (lost->count == LS_LOST_PRESSES_MAX) {
        return false;
    }
    waiting_edges *kept = &lost->waiting[lost->count];
    kept->tick = tick;
    kept->size = input->size;
    but = is_lost ? &nothing : but;
    for (uint32_t i = 0; i < input->size; i++) {
        kept->bytes[i] = input->bytes[i] & lost->masks->edges[i] & (uint8_t)~byte_of(but, i);
        is_lost = is_lost || kept->bytes[i];
    }
    lost->count += is_lost;
    return true;
}

static void drop_oldest(ls_lost_presses *lost)
{
    waiting_edges oldest = lost->waiting[0];
    lost->count--;
    memmove(&lost->waiting[0], &lost->waiting[1], lost->count * sizeof lost->waiting[0]);
    lost->waiting[lost->count] = oldest; /* its memory */
}

static uint32_t grow(uint8_t *bytes, uint32_t size, uint32_t to)
{
    if (to > size) {
        memset(bytes + size, 0, to - size);
    }
    return to > size ? to : size;
}

static uint32_t bring_edges(ls_lost_presses *lost, ls_tick tick, uint8_t *bytes, uint32_t size)
{
    static const ls_slot_input nothing = {0};
    const ls_slot_input own = {bytes, size, 0};
    while (lost->count > 0 && tick - lost->waiting[0].tick > lost->ticks_max) {
        drop_oldest(lost);
    }
    if (lost->count == 0) {
        return size;
    }
    if (ls_input_masks_has_edges(lost->masks, &own) && keep_edges(lost, tick, &own, &nothing)) {
        size = ls_input_masks_leave_out_edges(lost->masks, bytes, size);
    }
    const waiting_edges *oldest = &lost->waiting[0];
    size = grow(bytes, size, oldest->size);
    for (uint32_t i = 0; i < oldest->size; i++) {
        bytes[i] |= oldest->bytes[i];
    }
    drop_oldest(lost);
    return size;
}

/* ---- buttons ---- */

static void settle_buttons(ls_lost_presses *lost, ls_tick tick, const ls_slot_input *input,
                           const ls_slot_input *closed)
{
    ls_slot_input before = {0};
    if (tick > 0) {
        (void)ls_input_buffer_get(lost->made, tick - 1, 0, &before);
    }
    for (uint32_t i = 0; i < lost->masks->bytes; i++) {
        uint8_t is_down = byte_of(input, i) & lost->masks->buttons[i];
        lost->unseen[i] |= is_down & (uint8_t)~byte_of(&before, i);
        lost->unseen[i] &= (uint8_t)~byte_of(closed, i);
        uint8_t lost_now = lost->unseen[i] & (uint8_t)~is_down;
        lost->unseen[i] &= is_down;
        lost->pressed[i] |= lost_now;
        lost->has_pressed = lost->has_pressed || lost_now;
    }
}

static uint32_t bring_presses(ls_lost_presses *lost, uint8_t *bytes, uint32_t size)
{
    for (uint32_t i = 0; lost->has_pressed && i < lost->masks->bytes; i++) {
        if (lost->pressed[i]) {
            size = grow(bytes, size, i + 1);
            bytes[i] |= lost->pressed[i];
            lost->pressed[i] = 0;
        }
    }
    lost->has_pressed = false;
    return size;
}

/* ---- ticks ---- */

void ls_lost_presses_settle(ls_lost_presses *lost, ls_tick tick, const ls_slot_input *input,
                            const ls_slot_input *closed)
{
    if (lost->masks->has_buttons) {
        settle_buttons(lost, tick, input, closed);
    }
    if (!ls_slot_input_is_same(input, closed)) {
        (void)keep_edges(lost, tick, input, closed);
    }
}

uint32_t ls_lost_presses_bring(ls_lost_presses *lost, ls_tick tick, uint8_t *bytes, uint32_t size)
{
    size = bring_edges(lost, tick, bytes, size);
    return bring_presses(lost, bytes, size);
}
