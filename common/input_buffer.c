#include "lockstep/common/input_buffer.h"

#include "lockstep/common/base/assert.h"

#include <string.h>

typedef struct input_record {
    uint32_t size;
    uint32_t events;
} input_record;

/* A tick's place in the ring is its row; row r holds tick t when t % window = r. */
struct ls_input_buffer {
    const ls_allocator *allocator;
    ls_input_buffer_config config;
    ls_tick first;
    uint32_t *held;        /* [window] bit s is set when slot s has an input */
    input_record *records; /* [window][slots] */
    uint8_t *bytes;        /* [window][slots][input_bytes_max], NULL when that is 0 */
};

_Static_assert(LS_PLAYERS_MAX == 32, "a row's slots are the bits of one uint32_t");

static size_t row_of(const ls_input_buffer *buffer, ls_tick tick)
{
    return tick & (buffer->config.window_ticks - 1);
}

static size_t record_index(const ls_input_buffer *buffer, ls_tick tick, uint32_t slot)
{
    LS_ASSERT(slot < buffer->config.slots);
    return row_of(buffer, tick) * buffer->config.slots + slot;
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

static bool allocate_rings(ls_input_buffer *buffer)
{
    const ls_input_buffer_config *config = &buffer->config;
    const ls_allocator *allocator = buffer->allocator;
    buffer->held = ls_allocate_array(allocator, config->window_ticks, sizeof buffer->held[0]);
    buffer->records = ls_allocate_array(allocator, config->window_ticks,
                                        config->slots * sizeof buffer->records[0]);
    if (config->input_bytes_max > 0) {
        buffer->bytes = ls_allocate_array(allocator, config->window_ticks,
                                          (size_t)config->slots * config->input_bytes_max);
    }
    return buffer->held && buffer->records && (buffer->bytes || config->input_bytes_max == 0);
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
    if (!allocate_rings(buffer)) {
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
    ls_release(buffer->allocator, buffer->bytes);
    ls_release(buffer->allocator, buffer->records);
    ls_release(buffer->allocator, buffer->held);
    ls_release(buffer->allocator, buffer);
}

ls_tick ls_input_buffer_first(const ls_input_buffer *buffer)
{
    return buffer->first;
}

void ls_input_buffer_forget_before(ls_input_buffer *buffer, ls_tick first)
{
    if (first <= buffer->first) {
        return;
    }
    uint32_t forgotten = first - buffer->first;
    uint32_t rows =
        forgotten < buffer->config.window_ticks ? forgotten : buffer->config.window_ticks;
    for (uint32_t i = 0; i < rows; i++) {
        buffer->held[row_of(buffer, buffer->first + i)] = 0;
    }
    buffer->first = first;
}

ls_status ls_input_buffer_put(ls_input_buffer *buffer, ls_tick tick, uint32_t slot,
                              const uint8_t *bytes, uint32_t size, uint32_t events)
{
    if (size > buffer->config.input_bytes_max) {
        return LS_BAD_ARGUMENT;
    }
    if (tick < buffer->first) {
        return LS_STALE;
    }
    if (!is_in_window(buffer, tick)) {
        return LS_FUTURE;
    }
    if (ls_input_buffer_has(buffer, tick, slot)) {
        return LS_FULL;
    }
    size_t index = record_index(buffer, tick, slot);
    buffer->records[index] = (input_record){size, events};
    if (size > 0) {
        memcpy(buffer->bytes + index * buffer->config.input_bytes_max, bytes, size);
    }
    buffer->held[row_of(buffer, tick)] |= UINT32_C(1) << slot;
    return LS_OK;
}

bool ls_input_buffer_has(const ls_input_buffer *buffer, ls_tick tick, uint32_t slot)
{
    LS_ASSERT(slot < buffer->config.slots);
    return is_in_window(buffer, tick) &&
           (buffer->held[row_of(buffer, tick)] & (UINT32_C(1) << slot)) != 0;
}

static ls_slot_input input_at(const ls_input_buffer *buffer, ls_tick tick, uint32_t slot)
{
    /* An input of no bytes has a place to point at as well. */
    static const uint8_t nothing[1];
    size_t index = record_index(buffer, tick, slot);
    const uint8_t *bytes =
        buffer->bytes ? buffer->bytes + index * buffer->config.input_bytes_max : nothing;
    return (ls_slot_input){bytes, buffer->records[index].size, buffer->records[index].events};
}

ls_status ls_input_buffer_get(const ls_input_buffer *buffer, ls_tick tick, uint32_t slot,
                              ls_slot_input *out)
{
    if (!ls_input_buffer_has(buffer, tick, slot)) {
        return LS_NOT_FOUND;
    }
    *out = input_at(buffer, tick, slot);
    return LS_OK;
}

ls_status ls_input_buffer_tick(const ls_input_buffer *buffer, ls_tick tick,
                               ls_slot_input slots[LS_PLAYERS_MAX])
{
    uint32_t slot_count = buffer->config.slots;
    uint32_t all = UINT32_MAX >> (LS_PLAYERS_MAX - slot_count);
    if (!is_in_window(buffer, tick) || buffer->held[row_of(buffer, tick)] != all) {
        return LS_NOT_FOUND;
    }
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        slots[slot] = input_at(buffer, tick, slot);
    }
    return LS_OK;
}
