#define _GNU_SOURCE
#include "lockstep/common/system/memory.h"

#include "lockstep/common/system/shared_memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

enum {
    HUGE_PAGE_BYTES = 2 << 20,
    HUGE_BLOCKS_MAX = 16,
};

#if defined(__GLIBC__)
void ls_heap_fill(int byte)
{
    (void)mallopt(M_PERTURB, byte);
}

void ls_heap_return(int bytes)
{
    (void)mallopt(M_MMAP_THRESHOLD, bytes);
}
#else
void ls_heap_fill(int byte)
{
    (void)byte;
}

void ls_heap_return(int bytes)
{
    (void)bytes;
}
#endif

void ls_heap_leave_hole(size_t bytes)
{
    void *hole = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)hole;
}

/* ---- large blocks ---- */

/* Of huge pages, where the system has them. */
typedef struct huge_block {
    void *bytes; /* NULL: free */
    void *mapping;
    size_t size; /* of the mapping */
} huge_block;

static huge_block huge_blocks[HUGE_BLOCKS_MAX];

static huge_block *find_huge_block(const void *bytes)
{
    for (size_t i = 0; i < HUGE_BLOCKS_MAX; i++) {
        if (huge_blocks[i].bytes == bytes) {
            return &huge_blocks[i];
        }
    }
    return NULL;
}

static void *allocate_large(void *user, size_t bytes)
{
    (void)user;
    huge_block *block = bytes >= HUGE_PAGE_BYTES ? find_huge_block(NULL) : NULL;
    if (!block) {
        return ls_allocate(ls_allocator_heap(), bytes);
    }
    block->size = bytes + HUGE_PAGE_BYTES;
    block->mapping =
        mmap(NULL, block->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block->mapping == MAP_FAILED) {
        return NULL;
    }
    uintptr_t first = (uintptr_t)block->mapping;
    block->bytes = (uint8_t *)block->mapping + (HUGE_PAGE_BYTES - first % HUGE_PAGE_BYTES);
#ifdef MADV_HUGEPAGE
    (void)madvise(block->bytes, bytes, MADV_HUGEPAGE);
#endif
    return block->bytes;
}

static void release_large(void *user, void *memory)
{
    (void)user;
    huge_block *block = memory ? find_huge_block(memory) : NULL;
    if (!block) {
        ls_release(ls_allocator_heap(), memory);
        return;
    }
    (void)munmap(block->mapping, block->size);
    *block = (huge_block){0};
}

const ls_allocator *ls_allocator_large(void)
{
    static const ls_allocator allocator = {allocate_large, release_large, NULL, NULL};
    return &allocator;
}

/* ---- pairs ---- */

#if defined(__linux__)
static bool acquire_pair(size_t bytes, ls_block_pair *out);
static void share_pair(const ls_block_pair *pair, size_t first, size_t bytes);
static void part_pair(const ls_block_pair *pair, size_t first, size_t bytes);
static void release_pair(const ls_block_pair *pair);

static const ls_pair_memory pair_memory = {acquire_pair, share_pair, part_pair, release_pair};

/* The block is a private mapping of the copy's file: the system copies a page of it when somebody
 * writes to it, and this system forgets that copy when it is told that it is not needed. */
static bool acquire_pair(size_t bytes, ls_block_pair *out)
{
    size_t page_bytes = ls_pages_size();
    size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    int file = ls_shared_memory_make("lockstep-state");
    void *copy = file >= 0 ? ls_shared_memory_map(file, whole) : NULL;
    void *block =
        copy ? mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0) : MAP_FAILED;
    ls_shared_memory_close(file);
    if (block == MAP_FAILED) {
        ls_shared_memory_release(copy, whole);
        return false;
    }
    *out = (ls_block_pair){block, copy, whole, page_bytes, &pair_memory};
    return true;
}

static void share_pair(const ls_block_pair *pair, size_t first, size_t bytes)
{
    (void)madvise(pair->block + first, bytes, MADV_DONTNEED);
}

/* Writing what is there already is enough. */
static void part_pair(const ls_block_pair *pair, size_t first, size_t bytes)
{
    for (size_t at = first; at < first + bytes; at += pair->page_bytes) {
        volatile uint8_t *byte = pair->block + at;
        *byte = *byte;
    }
}

static void release_pair(const ls_block_pair *pair)
{
    munmap(pair->block, pair->bytes);
    ls_shared_memory_release(pair->copy, pair->bytes);
}

#define PAIRS &pair_memory
#else
#define PAIRS NULL
#endif

static void *allocate_heap(void *user, size_t bytes)
{
    (void)user;
    return ls_allocate(ls_allocator_heap(), bytes);
}

static void release_heap(void *user, void *memory)
{
    (void)user;
    ls_release(ls_allocator_heap(), memory);
}

const ls_allocator *ls_allocator_paired(void)
{
    static const ls_allocator allocator = {allocate_heap, release_heap, NULL, PAIRS};
    return &allocator;
}

/* ---- pages ---- */

size_t ls_pages_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *ls_pages_acquire(uintptr_t wanted, size_t bytes)
{
    void *pages = mmap((void *)wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

bool ls_pages_allow(void *pages, size_t bytes, ls_pages_access access)
{
    static const int rights[] = {
        [LS_PAGES_CLOSED] = PROT_NONE,
        [LS_PAGES_READ] = PROT_READ,
        [LS_PAGES_WRITTEN] = PROT_READ | PROT_WRITE,
    };
    return mprotect(pages, bytes, rights[access]) == 0;
}

void ls_pages_release(void *pages, size_t bytes)
{
    munmap(pages, bytes);
}

#if defined(__linux__)
#if !defined(MADV_COLLAPSE)
#define MADV_COLLAPSE 25
#endif

void ls_pages_enlarge(const void *start, size_t bytes)
{
    const uintptr_t large = 2 << 20;
    uintptr_t first = ((uintptr_t)start + large - 1) / large * large;
    uintptr_t end = ((uintptr_t)start + bytes) / large * large;
    if (end > first) {
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
        (void)madvise((void *)first, end - first, MADV_COLLAPSE); /* now: from Linux 6.1 on */
    }
}
#else
void ls_pages_enlarge(const void *start, size_t bytes)
{
    (void)start;
    (void)bytes;
}
#endif
