#include "lockstep/common/base/allocator.h"

#include <stdint.h>
#include <stdlib.h>

static void *heap_allocate(void *user, size_t bytes)
{
    (void)user;
    return calloc(1, bytes);
}

static void heap_release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

const ls_allocator *ls_allocator_heap(void)
{
    static const ls_allocator heap = {heap_allocate, heap_release, NULL, NULL};
    return &heap;
}

void *ls_allocate_array(const ls_allocator *allocator, size_t count, size_t element_bytes)
{
    if (count == 0 || element_bytes == 0 || count > SIZE_MAX / element_bytes) {
        return NULL;
    }
    return allocator->allocate(allocator->user, count * element_bytes);
}

void *ls_allocate(const ls_allocator *allocator, size_t bytes)
{
    return ls_allocate_array(allocator, 1, bytes);
}

void ls_release(const ls_allocator *allocator, void *memory)
{
    allocator->release(allocator->user, memory);
}

bool ls_allocate_pair(const ls_allocator *allocator, size_t bytes, ls_block_pair *out)
{
    return allocator->pairs && allocator->pairs->acquire(bytes, out);
}

void ls_release_pair(ls_block_pair *pair)
{
    if (pair->memory) {
        pair->memory->release(pair);
    }
    *pair = (ls_block_pair){.memory = NULL};
}
