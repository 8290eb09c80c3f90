#include "lockstep/tools/synctest/page_memory.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/tools/synctest/noise.h"

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
