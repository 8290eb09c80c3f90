#include "lockstep/client/session/tick_parts.h"

#include <string.h>

/* The most that a coded tick can take: per slot two event bits and a change of 3 bits, a size of at
 * most 15 and the bytes; three flags for the whole tick. */
static uint32_t largest_tick_bytes(uint32_t slot_count, uint32_t input_bytes_max)
{
    uint32_t bits = 3 + slot_count * (2 + 3 + 15 + 8 * input_bytes_max);
    return (bits + 7) / 8;
}

ls_status ls_tick_parts_init(ls_tick_parts *parts, uint32_t slot_count, uint32_t input_bytes_max,
                             const ls_allocator *allocator)
{
    parts->allocator = allocator;
    parts->capacity_bytes = largest_tick_bytes(slot_count, input_bytes_max);
    parts->bytes = ls_allocate_array(allocator, LS_TICK_PARTS_AHEAD, parts->capacity_bytes);
    return parts->bytes ? LS_OK : LS_NO_MEMORY;
}

void ls_tick_parts_deinit(ls_tick_parts *parts)
{
    if (parts->bytes) {
        ls_release(parts->allocator, parts->bytes);
        parts->bytes = NULL;
    }
}

void ls_tick_parts_forget(ls_tick_parts *parts)
{
    memset(parts->ticks, 0, sizeof parts->ticks);
}

static uint8_t *bytes_of(const ls_tick_parts *parts, ls_tick tick)
{
    return parts->bytes + (size_t)(tick % LS_TICK_PARTS_AHEAD) * parts->capacity_bytes;
}

ls_status ls_tick_parts_add(ls_tick_parts *parts, const ls_tick_part *part, ls_tick next)
{
    if (part->total_bytes > parts->capacity_bytes) {
        return LS_MALFORMED;
    }
    if (part->tick < next || part->tick - next >= LS_TICK_PARTS_AHEAD) {
        return LS_OK;
    }
    ls_tick_whole *whole = &parts->ticks[part->tick % LS_TICK_PARTS_AHEAD];
    if (whole->tick != part->tick || whole->total_bytes != part->total_bytes) {
        *whole = (ls_tick_whole){.tick = part->tick, .total_bytes = part->total_bytes};
    }
    memcpy(bytes_of(parts, part->tick) + part->index * LS_TICK_PART_BYTES, part->bytes, part->size);
    whole->received |= UINT32_C(1) << part->index;
    return LS_OK;
}

const uint8_t *ls_tick_parts_pop(ls_tick_parts *parts, ls_tick tick, uint32_t *size)
{
    ls_tick_whole *whole = &parts->ticks[tick % LS_TICK_PARTS_AHEAD];
    if (whole->tick != tick || whole->total_bytes == 0) {
        return NULL;
    }
    uint32_t all = UINT32_MAX >> (LS_TICK_PARTS_MAX - ls_tick_part_count(whole->total_bytes));
    if (whole->received != all) {
        return NULL;
    }
    *size = whole->total_bytes;
    whole->total_bytes = 0;
    return bytes_of(parts, tick);
}
