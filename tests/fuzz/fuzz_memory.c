#define _DEFAULT_SOURCE
#include "lockstep/tests/fuzz/fuzz_memory.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/language.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if LS_HAS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#define FORBID(at, bytes) __asan_poison_memory_region(at, bytes)
#define ALLOW(at, bytes) __asan_unpoison_memory_region(at, bytes)
#define IS_FORBIDDEN(at) __asan_address_is_poisoned(at)
#else
#define FORBID(at, bytes) ((void)(at), (void)(bytes))
#define ALLOW(at, bytes) ((void)(at), (void)(bytes))
#define IS_FORBIDDEN(at) ((void)(at), 0)
#endif

enum {
    PAGE_BYTES = 4096,
    SMALL_BYTES = 128 << 10, /* blocks that are looked through together */
    BLOCKS_MAX = 4096,
    BLOCK_BYTES_MAX = 64 << 20,
    GAP_BYTES = 64,           /* behind a block, where nobody may look */
    EDGE_BYTES = 64,          /* of either end of a block that its owner may forbid itself */
    PROTOTYPES_MAX = 2048,    /* a power of two */
    WRITTEN_PAGES_MAX = 1024, /* that are kept, as zeros, between runs */
    CLASS_COUNT = 28,
};

/* A block lies among those of its size class, which is a power of two: so the blocks of one start
 * are at the same places as those of another, and few pages serve all. */
#define CLASS_BYTES ((size_t)256 << 20)
#define CLASS_PAGES (CLASS_BYTES / PAGE_BYTES)

/* Before each block. */
typedef struct block_head {
    _Alignas(max_align_t) uint32_t index;
} block_head;

typedef struct block {
    size_t at, bytes;
    uint8_t before, behind; /* bytes at its ends that its owner forbids */
    bool is_live;
} block;

/* The region without its bytes. */
typedef struct region_layout {
    uint64_t calls;
    uint32_t live_blocks;
    uint32_t class_blocks[CLASS_COUNT];
    uint32_t block_count;
    block blocks[BLOCKS_MAX];
} region_layout;

/* The pages that are not all zero, and the layout. */
typedef struct prototype {
    uint32_t key;
    uint32_t page_count, page_capacity;
    uint32_t *pages; /* ascending */
    uint8_t *content;
    region_layout *layout;
} prototype;

static uint8_t *region;
static region_layout layout;
static prototype prototypes[PROTOTYPES_MAX];
static unsigned char is_resident[CLASS_PAGES]; /* in one extent, as mincore() says */

/* ---- where nobody may look ---- */

static void forbid_edges(const block *of)
{
    uint8_t *bytes = region + of->at;
    FORBID(bytes + of->bytes - of->behind, GAP_BYTES + of->behind);
    FORBID(bytes, of->is_live ? of->before : LS_MIN(of->bytes, (size_t)EDGE_BYTES));
}

static void forbid_all(void)
{
    for (uint32_t i = 0; i < layout.block_count; i++) {
        forbid_edges(&layout.blocks[i]);
    }
}

static void allow_all(void)
{
    for (uint32_t i = 0; i < layout.block_count; i++) {
        const block *of = &layout.blocks[i];
        size_t end = (of->at + of->bytes + GAP_BYTES) | 7u; /* a shadow byte stands for 8 */
        size_t edge = of->bytes > EDGE_BYTES ? of->at + of->bytes - EDGE_BYTES : of->at;
        edge &= ~(size_t)7;
        ALLOW(region + of->at, LS_MIN(end - of->at, (size_t)EDGE_BYTES));
        ALLOW(region + edge, end + 1 - edge);
    }
}

/* The edges that the owners of the blocks forbid are kept with them. */
static void note_edges(void)
{
    for (uint32_t i = 0; i < layout.block_count; i++) {
        block *of = &layout.blocks[i];
        const uint8_t *bytes = region + of->at;
        size_t most = of->is_live ? LS_MIN(of->bytes, (size_t)EDGE_BYTES) : 0;
        of->before = of->behind = 0;
        while (of->before < most && IS_FORBIDDEN(bytes + of->before)) {
            of->before++;
        }
        while (of->behind < most && IS_FORBIDDEN(bytes + of->bytes - of->behind - 1)) {
            of->behind++;
        }
    }
}

/* ---- the allocator ---- */

static uint32_t class_of(size_t bytes)
{
    uint32_t size_class = 4;
    while ((size_t)1 << size_class < sizeof(block_head) + bytes + GAP_BYTES + 8) {
        size_class++;
    }
    return size_class;
}

static void *allocate(void *user, size_t bytes)
{
    (void)user;
    LS_ASSERT(bytes > 0);
    layout.calls++;
    if (bytes > BLOCK_BYTES_MAX || layout.block_count == BLOCKS_MAX) {
        return NULL;
    }
    uint32_t size_class = class_of(bytes);
    size_t start = (size_t)layout.class_blocks[size_class] << size_class;
    size_t end = start + ((size_t)1 << size_class);
    if (end > CLASS_BYTES) {
        return NULL;
    }
    size_t at = size_class * CLASS_BYTES + start + sizeof(block_head);
    block_head *head = (block_head *)(void *)(region + at) - 1;
    head->index = layout.block_count;
    layout.blocks[layout.block_count++] = (block){.at = at, .bytes = bytes, .is_live = true};
    layout.class_blocks[size_class]++;
    layout.live_blocks++;
    FORBID(region + at + bytes, GAP_BYTES);
    return region + at;
}

static void release(void *user, void *memory)
{
    (void)user;
    if (!memory) {
        return;
    }
    const block_head *head = (const block_head *)memory - 1;
    LS_ASSERT(head->index < layout.block_count);
    block *of = &layout.blocks[head->index];
    LS_ASSERT(region + of->at == memory && of->is_live);
    of->is_live = false;
    layout.live_blocks--;
    FORBID(memory, LS_MIN(of->bytes, (size_t)EDGE_BYTES));
}

const ls_allocator *fuzz_memory_allocator(void)
{
    static const ls_allocator allocator = {allocate, release, NULL, NULL};
    return &allocator;
}

uint32_t fuzz_memory_live_blocks(void)
{
    return layout.live_blocks - 1;
}

uint64_t fuzz_memory_calls(void)
{
    return layout.calls;
}

/* ---- the pages ---- */

static void open_region(void)
{
    region = mmap(NULL, CLASS_COUNT * CLASS_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    LS_ASSERT(region != MAP_FAILED);
    (void)madvise(region, CLASS_COUNT * CLASS_BYTES, MADV_NOHUGEPAGE);
}

static uint8_t *page_at(uint32_t page)
{
    return region + (size_t)page * PAGE_BYTES;
}

/* Pages where blocks of the region lie: all others are zero. */
typedef struct extent {
    uint32_t first, end;
} extent;

static extent extents[BLOCKS_MAX + CLASS_COUNT]; /* as find_extents has found them */

static extent pages_between(size_t from, size_t to)
{
    return (extent){(uint32_t)(from / PAGE_BYTES), (uint32_t)((to + PAGE_BYTES - 1) / PAGE_BYTES)};
}

/* Ascending in each class, and the classes follow each other: blocks that are smaller than a page
 * in one extent, each larger one in an extent of its own. Returns how many. */
static uint32_t find_extents(void)
{
    uint32_t count = 0;
    uint32_t next[CLASS_COUNT];
    for (uint32_t size_class = 0; size_class < CLASS_COUNT; size_class++) {
        next[size_class] = count;
        size_t start = size_class * CLASS_BYTES;
        size_t bytes = (size_t)layout.class_blocks[size_class] << size_class;
        bool is_small = (size_t)1 << size_class <= SMALL_BYTES;
        if (is_small && bytes > 0) {
            extents[count++] = pages_between(start, start + bytes);
        } else if (!is_small) {
            count += layout.class_blocks[size_class];
        }
    }
    for (uint32_t i = 0; i < layout.block_count; i++) {
        const block *of = &layout.blocks[i];
        uint32_t size_class = (uint32_t)(of->at / CLASS_BYTES);
        if ((size_t)1 << size_class > SMALL_BYTES) {
            extents[next[size_class]++] =
                pages_between(of->at - sizeof(block_head), of->at + of->bytes);
        }
    }
    return count;
}

/* Fills is_resident; a page that is not resident is zero. */
static void find_resident(extent of)
{
    LS_ASSERT(mincore(page_at(of.first), (size_t)(of.end - of.first) * PAGE_BYTES, is_resident) ==
              0);
}

/* Zeroes the pages of an extent, from the end or none of the prototype's on which *kept stands.
 * Pages that were written in earlier runs stay resident while they are few: to zero one is faster
 * than to have it given anew. */
static void zero_pages(extent among, const prototype *of, uint32_t *kept, uint32_t *written)
{
    find_resident(among);
    for (uint32_t page = among.first; page < among.end; page++) {
        while (of && *kept < of->page_count && of->pages[*kept] < page) {
            ++*kept;
        }
        bool is_kept = of && *kept < of->page_count && of->pages[*kept] == page;
        if (is_kept || !(is_resident[page - among.first] & 1u)) {
            continue;
        }
        if (++*written <= WRITTEN_PAGES_MAX) {
            memset(page_at(page), 0, PAGE_BYTES);
        } else {
            LS_ASSERT(madvise(page_at(page), PAGE_BYTES, MADV_DONTNEED) == 0);
        }
    }
}

/* Makes the region the prototype's, or empty for NULL. */
static void reset_pages(const prototype *of)
{
    uint32_t kept = 0;
    uint32_t written = 0;
    uint32_t count = find_extents();
    for (uint32_t i = 0; i < count; i++) {
        zero_pages(extents[i], of, &kept, &written);
    }
    for (uint32_t i = 0; of && i < of->page_count; i++) {
        memcpy(page_at(of->pages[i]), of->content + (size_t)i * PAGE_BYTES, PAGE_BYTES);
    }
}

static bool is_page_zero(const uint8_t *page)
{
    return page[0] == 0 && memcmp(page, page + 1, PAGE_BYTES - 1) == 0;
}

static void keep_page(prototype *of, uint32_t page)
{
    if (of->page_count == of->page_capacity) {
        of->page_capacity += 256;
        of->pages = realloc(of->pages, of->page_capacity * sizeof *of->pages);
        of->content = realloc(of->content, (size_t)of->page_capacity * PAGE_BYTES);
        LS_ASSERT(of->pages && of->content);
    }
    of->pages[of->page_count] = page;
    memcpy(of->content + (size_t)of->page_count * PAGE_BYTES, page_at(page), PAGE_BYTES);
    of->page_count++;
}

static void keep_pages(prototype *of)
{
    of->page_count = 0;
    uint32_t count = find_extents();
    for (uint32_t i = 0; i < count; i++) {
        find_resident(extents[i]);
        for (uint32_t page = extents[i].first; page < extents[i].end; page++) {
            if ((is_resident[page - extents[i].first] & 1u) && !is_page_zero(page_at(page))) {
                keep_page(of, page);
            }
        }
    }
}

/* ---- runs ---- */

static void copy_layout(region_layout *to, const region_layout *from)
{
    memcpy(to, from, offsetof(region_layout, blocks) + from->block_count * sizeof from->blocks[0]);
}

static prototype *prototype_of(uint32_t key)
{
    return &prototypes[(key * 2654435761u >> 16) % PROTOTYPES_MAX];
}

void *fuzz_memory_start(size_t run_bytes)
{
    if (!region) {
        open_region();
    }
    allow_all();
    reset_pages(NULL);
    memset(&layout, 0, offsetof(region_layout, blocks));
    return allocate(NULL, run_bytes);
}

void fuzz_memory_keep(uint32_t key)
{
    prototype *of = prototype_of(key);
    if (!of->layout) {
        of->layout = malloc(sizeof *of->layout);
    }
    LS_ASSERT(of->layout != NULL);
    of->key = key;
    note_edges();
    copy_layout(of->layout, &layout);
    allow_all();
    keep_pages(of);
    forbid_all();
}

void *fuzz_memory_restore(uint32_t key)
{
    const prototype *of = prototype_of(key);
    if (!of->layout || of->key != key) {
        return NULL;
    }
    allow_all();
    reset_pages(of);
    copy_layout(&layout, of->layout);
    forbid_all();
    return region + layout.blocks[0].at;
}
