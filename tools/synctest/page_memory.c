#include "lockstep/tools/synctest/page_memory.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/memory.h"

#include <string.h>

/* ---- noise ---- */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t *seed)
{
    uint64_t word = *seed += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

uint64_t synctest_noise(bool is_moved, uint32_t variant, uint32_t tick, uint32_t place)
{
    uint64_t seed = (uint64_t)variant << 56 ^ (uint64_t)place << 32 ^ tick;
    return is_moved ? mix(&seed) | 1 : 0;
}

void synctest_noise_fill(void *bytes, size_t byte_count, uint64_t noise)
{
    uint8_t *at = bytes;
    if (!noise) {
        memset(bytes, 0, byte_count);
        return;
    }
    for (size_t left = byte_count; left >= sizeof noise; left -= sizeof noise) {
        uint64_t word = mix(&noise);
        memcpy(at, &word, sizeof word);
        at += sizeof word;
    }
    uint64_t last = mix(&noise);
    memcpy(at, &last, byte_count % sizeof last);
}

enum {
    ALIGNMENT_BYTES = 16, /* of every type */
};

static synctest_page_block *unused_block(synctest_page_memory *memory)
{
    for (size_t i = 0; i < SYNCTEST_PAGE_BLOCKS_MAX; i++) {
        if (!memory->blocks[i].pages) {
            return &memory->blocks[i];
        }
    }
    return NULL;
}

/* The pages come zeroed. */
static void *allocate(void *user, size_t bytes)
{
    synctest_page_memory *memory = user;
    synctest_page_block *block = unused_block(memory);
    size_t page = ls_pages_size();
    if (!block || bytes > SIZE_MAX / 2) {
        return NULL;
    }
    size_t page_bytes = (memory->shift + bytes + page - 1) / page * page;
    size_t block_bytes = (bytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    size_t shift = memory->is_at_end ? page_bytes - block_bytes : memory->shift;
    uint8_t *fence = ls_pages_acquire(memory->hint, page_bytes + 2 * page);
    if (!fence || !ls_pages_allow(fence + page, page_bytes, LS_PAGES_WRITTEN)) {
        return NULL;
    }
    uint8_t *pages = fence + page;
    memory->hint += memory->hint ? page_bytes + 2 * page : 0;
    *block = (synctest_page_block){pages, page_bytes, pages + shift};
    if (memory->noise) {
        synctest_noise_fill(pages, shift, memory->noise);
        synctest_noise_fill(block->bytes + bytes, page_bytes - shift - bytes, memory->noise);
    }
    return block->bytes;
}

static void release(void *user, void *bytes)
{
    synctest_page_memory *memory = user;
    for (size_t i = 0; bytes && i < SYNCTEST_PAGE_BLOCKS_MAX; i++) {
        synctest_page_block *block = &memory->blocks[i];
        if (block->pages && block->bytes == bytes) {
            size_t page = ls_pages_size();
            ls_pages_release(block->pages - page, block->page_bytes + 2 * page);
            *block = (synctest_page_block){NULL, 0, NULL};
        }
    }
}

void synctest_page_memory_init(synctest_page_memory *memory, uint32_t layout)
{
    /* The reference's; low, so that a pointer fits 32 bits; high; and where the system likes. */
    static const struct {
        uint64_t hint;
        size_t shift;
    } layouts[] = {{UINT64_C(0x100000000000), 0},
                   {0x20000000, 64},
                   {UINT64_C(0x700000000000), 1984},
                   {0, 2752}};
    const uint32_t count = sizeof layouts / sizeof layouts[0];
    bool is_fenced = layout == SYNCTEST_PAGE_LAYOUT_END || layout == SYNCTEST_PAGE_LAYOUT_BEGINNING;
    bool is_at_end = layout == SYNCTEST_PAGE_LAYOUT_END;
    layout = is_fenced ? 0 : layout % count;
    uint64_t hint = layouts[layout].hint;
    *memory = (synctest_page_memory){
        .allocator = {allocate, release, memory, NULL},
        .hint = hint <= UINTPTR_MAX / 2 ? (uintptr_t)hint : 0,
        .shift = layouts[layout].shift,
        .is_at_end = is_at_end,
        .noise = is_fenced ? synctest_noise(true, 0, 0, 0) : 0,
    };
}

static synctest_page_block *block_of(synctest_page_memory *memory, const uint8_t *byte)
{
    for (size_t i = 0; i < SYNCTEST_PAGE_BLOCKS_MAX; i++) {
        synctest_page_block *block = &memory->blocks[i];
        if (block->pages && byte >= block->pages && byte < block->pages + block->page_bytes) {
            return block;
        }
    }
    LS_ASSERT(!"the block is not from this memory");
    return NULL;
}

void synctest_page_memory_surround(synctest_page_memory *memory, const void *used,
                                   size_t used_bytes)
{
    if (memory->noise) {
        synctest_page_block *block = block_of(memory, used);
        size_t before = (size_t)((const uint8_t *)used - block->pages);
        uint8_t *behind = block->pages + before + used_bytes;
        synctest_noise_fill(block->pages, before, memory->noise);
        synctest_noise_fill(behind, block->page_bytes - before - used_bytes, memory->noise);
    }
}

void synctest_page_memory_set_writable(synctest_page_memory *memory, const void *inside,
                                       bool is_writable)
{
    synctest_page_block *block = block_of(memory, inside);
    bool is_done = ls_pages_allow(block->pages, block->page_bytes,
                                  is_writable ? LS_PAGES_WRITTEN : LS_PAGES_READ);
    LS_ASSERT(is_done);
}

/* ---- laid inputs ---- */

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
