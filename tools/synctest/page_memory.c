#define _DEFAULT_SOURCE
#include "lockstep/tools/synctest/page_memory.h"

#include "lockstep/common/base/assert.h"

#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

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
    size_t page = page_size();
    if (!block || bytes > SIZE_MAX / 2) {
        return NULL;
    }
    size_t page_bytes = (memory->shift + bytes + page - 1) / page * page;
    void *pages = mmap((void *)memory->hint, page_bytes + page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return NULL;
    }
    mprotect((uint8_t *)pages + page_bytes, page, PROT_NONE);
    memory->hint += memory->hint ? page_bytes + page : 0;
    *block = (synctest_page_block){pages, page_bytes, (uint8_t *)pages + memory->shift};
    return block->bytes;
}

static void release(void *user, void *bytes)
{
    synctest_page_memory *memory = user;
    for (size_t i = 0; bytes && i < SYNCTEST_PAGE_BLOCKS_MAX; i++) {
        synctest_page_block *block = &memory->blocks[i];
        if (block->pages && block->bytes == bytes) {
            munmap(block->pages, block->page_bytes + page_size());
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
    uint64_t hint = layouts[layout % count].hint;
    *memory = (synctest_page_memory){
        .allocator = {allocate, release, memory},
        .hint = hint <= UINTPTR_MAX / 2 ? (uintptr_t)hint : 0,
        .shift = layouts[layout % count].shift,
    };
}

void synctest_page_memory_set_writable(synctest_page_memory *memory, const void *inside,
                                       bool is_writable)
{
    const uint8_t *byte = inside;
    for (size_t i = 0; i < SYNCTEST_PAGE_BLOCKS_MAX; i++) {
        synctest_page_block *block = &memory->blocks[i];
        if (block->pages && byte >= block->pages && byte < block->pages + block->page_bytes) {
            int rights = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
            int changed = mprotect(block->pages, block->page_bytes, rights);
            LS_ASSERT(changed == 0);
            return;
        }
    }
    LS_ASSERT(!"the block is not from this memory");
}
