#include "lockstep/tools/synctest/laid_inputs.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/tools/synctest/noise.h"

#include <string.h>

#define TABLE_BYTES (LS_PLAYERS_MAX * sizeof(ls_slot_input))

static uint8_t *room(const synctest_laid_inputs *laid, uint32_t index)
{
    return laid->rooms + index * (laid->room_bytes + ls_pages_size());
}

ls_status synctest_laid_inputs_init(synctest_laid_inputs *laid, synctest_inputs_layout layout)
{
    size_t page = ls_pages_size(), most = LS_MAX(TABLE_BYTES, LS_INPUT_BYTES_MAX);
    size_t room_bytes = (most + page - 1) / page * page;
    size_t all_bytes = (LS_PLAYERS_MAX + 1) * (room_bytes + page);
    uint8_t *rooms = ls_pages_acquire(0, all_bytes);
    bool is_open = rooms != NULL;
    *laid = (synctest_laid_inputs){layout, room_bytes, rooms};
    for (uint32_t i = 0; i <= LS_PLAYERS_MAX && is_open; i++) {
        is_open = ls_pages_allow(room(laid, i), room_bytes, LS_PAGES_WRITTEN);
    }
    return is_open ? LS_OK : LS_NO_MEMORY;
}

/* Copies bytes into a room, with what comes behind them there. A simulation sees at most
 * `bytes_max` of a room without a fault of the processor, so no more is filled. */
static uint8_t *lay(const synctest_laid_inputs *laid, uint32_t index, const void *bytes,
                    size_t byte_count, size_t bytes_max, ls_tick tick)
{
    uint8_t *start = room(laid, index);
    LS_ASSERT(byte_count <= bytes_max && bytes_max <= laid->room_bytes);
    if (laid->layout == SYNCTEST_INPUTS_BEFORE_FENCE) {
        start += laid->room_bytes - byte_count;
    } else {
        bool is_noise = laid->layout == SYNCTEST_INPUTS_BEFORE_NOISE;
        synctest_noise_fill(start + byte_count, bytes_max - byte_count,
                            synctest_noise(is_noise, 0, tick, index));
    }
    if (byte_count > 0) {
        memcpy(start, bytes, byte_count);
    }
    return start;
}

ls_tick_inputs synctest_laid_inputs_set(synctest_laid_inputs *laid, const ls_tick_inputs *inputs)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    LS_ASSERT(inputs->slot_count <= LS_PLAYERS_MAX);
    for (uint32_t i = 0; i < inputs->slot_count; i++) {
        const ls_slot_input *slot = &inputs->slots[i];
        slots[i] = *slot;
        slots[i].bytes =
            lay(laid, i + 1, slot->bytes, slot->size, LS_INPUT_BYTES_MAX, inputs->tick);
    }
    void *table =
        lay(laid, 0, slots, inputs->slot_count * sizeof slots[0], TABLE_BYTES, inputs->tick);
    return (ls_tick_inputs){inputs->tick, inputs->slot_count, table};
}
