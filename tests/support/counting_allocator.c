#include "lockstep/tests/support/counting_allocator.h"

#include "lockstep/common/base/assert.h"

#include <stdalign.h>
#include <stdlib.h>

/* ---- all heap calls: the linker renames malloc to __wrap_malloc (tests/CMakeLists.txt) ---- */

static uint64_t heap_call_count;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    heap_call_count++;
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    heap_call_count++;
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    heap_call_count++;
    return __real_realloc(memory, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    heap_call_count++;
    return __real_aligned_alloc(alignment, bytes);
}

uint64_t heap_calls(void)
{
    return heap_call_count;
}

/* ---- the allocator ---- */

/* Stands before each block, padded to keep the block aligned for any type. */
typedef union block_header {
    uint64_t bytes;
    max_align_t alignment;
} block_header;

static void *counting_allocate(void *user, size_t bytes)
{
    counting_allocator *counting = user;
    LS_ASSERT(bytes > 0);
    block_header *header = counting->allowed > 0 ? calloc(1, sizeof *header + bytes) : NULL;
    if (!header) {
        counting->refusals++;
        return NULL;
    }
    if (counting->allowed != UINT64_MAX) {
        counting->allowed--;
    }
    header->bytes = bytes;
    counting->allocations++;
    counting->live_blocks++;
    counting->live_bytes += bytes;
    if (counting->live_bytes > counting->peak_bytes) {
        counting->peak_bytes = counting->live_bytes;
    }
    return header + 1;
}

static void counting_release(void *user, void *memory)
{
    counting_allocator *counting = user;
    if (!memory) {
        return;
    }
    block_header *header = (block_header *)memory - 1;
    LS_ASSERT(counting->live_blocks > 0);
    counting->live_blocks--;
    counting->live_bytes -= header->bytes;
    free(header);
}

void counting_allocator_init(counting_allocator *counting)
{
    *counting = (counting_allocator){
        .allocator = {counting_allocate, counting_release, counting, NULL},
        .allowed = UINT64_MAX,
    };
}
