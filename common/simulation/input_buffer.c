#include "lockstep/common/simulation/input_buffer.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/prefetch.h"

#include <string.h>

/* A tick's place in the ring; row r holds tick t when t % window = r. All that is known of a tick
 * stands together, in as few bytes as there can be: a server of many matches finds none of it in a
 * cache. Four pads of four bytes are half a cache line. */
typedef struct input_row {
    uint32_t held;    /* slots that have an input */
    uint16_t sizes[]; /* [slots], and 1; 0: it has none. And then events, a byte each, and bytes:
                         [slots][bytes max] */
} input_row;

struct ls_input_buffer {
    const ls_allocator *allocator;
    ls_input_buffer_config config;
    ls_tick first;
    uint32_t used_rows; /* ticks from the first on, behind which no row has an input */
    size_t row_bytes;
    uint8_t *rows; /* [window] */
};

_Static_assert(LS_INPUT_BYTES_MAX < UINT16_MAX, "a row has the size of an input in a uint16_t");

static input_row *row_of(const ls_input_buffer *buffer, ls_tick tick)
{
    size_t index = tick & (buffer->config.window_ticks - 1);
    return (input_row *)(void *)(buffer->rows + index * buffer->row_bytes);
}

static uint8_t *events_of(const ls_input_buffer *buffer, input_row *row)
{
    return (uint8_t *)&row->sizes[buffer->config.slots];
}

static uint8_t *bytes_of(const ls_input_buffer *buffer, input_row *row, uint32_t slot)
{
    LS_ASSERT(slot < buffer->config.slots);
    uint8_t *bytes = events_of(buffer, row) + buffer->config.slots;
    return bytes + (size_t)slot * buffer->config.input_bytes_max;
}

static bool is_in_window(const ls_input_buffer *buffer, ls_tick tick)
{
    return tick >= buffer->first && tick - buffer->first < buffer->config.window_ticks;
}

static bool is_config_valid(const ls_input_buffer_config *config)
{
    return config->slots >= 1 && config->slots <= LS_PLAYERS_MAX &&
           config->input_bytes_max <= LS_INPUT_BYTES_MAX && config->window_ticks != 0 &&
           (config->window_ticks & (config->window_ticks - 1)) == 0;
}

static size_t row_bytes_of(const ls_input_buffer_config *config)
{
    size_t slot_bytes = sizeof(uint16_t) + sizeof(uint8_t) + config->input_bytes_max;
    size_t bytes = sizeof(input_row) + config->slots * slot_bytes;
    size_t alignment = _Alignof(input_row);
    return (bytes + alignment - 1) / alignment * alignment;
}

ls_status ls_input_buffer_create(const ls_input_buffer_config *config,
                                 const ls_allocator *allocator, ls_input_buffer **out)
{
    if (!is_config_valid(config)) {
        return LS_BAD_ARGUMENT;
    }
    ls_input_buffer *buffer = ls_allocate(allocator, sizeof *buffer);
    if (!buffer) {
        return LS_NO_MEMORY;
    }
    buffer->allocator = allocator;
    buffer->config = *config;
    buffer->row_bytes = row_bytes_of(config);
    buffer->rows = ls_allocate_array(allocator, config->window_ticks, buffer->row_bytes);
    if (!buffer->rows) {
        ls_input_buffer_destroy(buffer);
        return LS_NO_MEMORY;
    }
    *out = buffer;
    return LS_OK;
}

void ls_input_buffer_destroy(ls_input_buffer *buffer)
{
    if (!buffer) {
        return;
    }
    ls_release(buffer->allocator, buffer->rows);
    ls_release(buffer->allocator, buffer);
}

ls_tick ls_input_buffer_first(const ls_input_buffer *buffer)
{
    return buffer->first;
}

/* Rows that no input came for are left alone: the rows of one player are a megabyte. */
static void clear_rows(ls_input_buffer *buffer, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        input_row *row = row_of(buffer, buffer->first + i);
        row->held = 0;
        memset(row->sizes, 0, buffer->config.slots * sizeof row->sizes[0]);
    }
    buffer->used_rows -= count;
}

LS_TICK_CODE void ls_input_buffer_forget_before(ls_input_buffer *buffer, ls_tick first)
{
    if (first <= buffer->first) {
        return;
    }
    clear_rows(buffer, LS_MIN(first - buffer->first, buffer->used_rows));
    buffer->first = first;
}

void ls_input_buffer_restart(ls_input_buffer *buffer, ls_tick first)
{
    clear_rows(buffer, buffer->used_rows);
    buffer->first = first;
}

/* Whether a tick may be put in at all. */
static ls_status place_of(const ls_input_buffer *buffer, ls_tick tick)
{
    if (tick < buffer->first) {
        return LS_STALE;
    }
    return is_in_window(buffer, tick) ? LS_OK : LS_FUTURE;
}

/* `row` is that of a tick in the window. */
static ls_status put(const ls_input_buffer *buffer, input_row *row, uint32_t slot,
                     const ls_slot_input *input)
{
    if (input->size > buffer->config.input_bytes_max || input->events > LS_INPUT_EVENTS_MAX) {
        return LS_BAD_ARGUMENT;
    }
    if (row->sizes[slot] != 0) {
        return LS_FULL;
    }
    row->sizes[slot] = (uint16_t)(input->size + 1);
    events_of(buffer, row)[slot] = (uint8_t)input->events;
    if (input->size > 0) {
        memcpy(bytes_of(buffer, row, slot), input->bytes, input->size);
    }
    row->held++;
    return LS_OK;
}

static void note_used(ls_input_buffer *buffer, ls_tick tick)
{
    buffer->used_rows = LS_MAX(buffer->used_rows, tick - buffer->first + 1);
}

LS_TICK_CODE ls_status ls_input_buffer_put(ls_input_buffer *buffer, ls_tick tick, uint32_t slot,
                                           const uint8_t *bytes, uint32_t size, uint32_t events)
{
    LS_ASSERT(slot < buffer->config.slots);
    const ls_slot_input input = {bytes, size, events};
    ls_status status = place_of(buffer, tick);
    status = status == LS_OK ? put(buffer, row_of(buffer, tick), slot, &input) : status;
    if (status == LS_OK) {
        note_used(buffer, tick);
    }
    return status;
}

LS_TICK_CODE ls_status ls_input_buffer_put_tick(ls_input_buffer *buffer,
                                                const ls_tick_inputs *inputs)
{
    LS_ASSERT(inputs->slot_count <= buffer->config.slots);
    ls_status status = place_of(buffer, inputs->tick);
    if (status != LS_OK) {
        return status;
    }
    input_row *row = row_of(buffer, inputs->tick);
    note_used(buffer, inputs->tick);
    for (uint32_t slot = 0; status == LS_OK && slot < inputs->slot_count; slot++) {
        status = put(buffer, row, slot, &inputs->slots[slot]);
    }
    return status;
}

LS_TICK_CODE bool ls_input_buffer_has(const ls_input_buffer *buffer, ls_tick tick, uint32_t slot)
{
    LS_ASSERT(slot < buffer->config.slots);
    return is_in_window(buffer, tick) && row_of(buffer, tick)->sizes[slot] != 0;
}

static ls_slot_input input_at(const ls_input_buffer *buffer, ls_tick tick, uint32_t slot)
{
    /* An input of no bytes has a place to point at as well. */
    static const uint8_t nothing[1];
    input_row *row = row_of(buffer, tick);
    const uint8_t *bytes =
        buffer->config.input_bytes_max > 0 ? bytes_of(buffer, row, slot) : nothing;
    return (ls_slot_input){bytes, row->sizes[slot] - 1u, events_of(buffer, row)[slot]};
}

LS_TICK_CODE ls_status ls_input_buffer_get(const ls_input_buffer *buffer, ls_tick tick,
                                           uint32_t slot, ls_slot_input *out)
{
    if (!ls_input_buffer_has(buffer, tick, slot)) {
        return LS_NOT_FOUND;
    }
    *out = input_at(buffer, tick, slot);
    return LS_OK;
}

LS_TICK_CODE ls_status ls_input_buffer_tick(const ls_input_buffer *buffer, ls_tick tick,
                                            ls_slot_input slots[LS_PLAYERS_MAX])
{
    uint32_t slot_count = buffer->config.slots;
    if (!is_in_window(buffer, tick) || row_of(buffer, tick)->held != slot_count) {
        return LS_NOT_FOUND;
    }
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        slots[slot] = input_at(buffer, tick, slot);
    }
    return LS_OK;
}

void ls_input_buffer_prefetch(const ls_input_buffer *buffer, ls_tick tick)
{
    ls_prefetch(row_of(buffer, tick > 0 ? tick - 1 : tick), 2 * buffer->row_bytes);
}

/* ---- masks ---- */

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
