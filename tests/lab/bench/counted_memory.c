#include "lockstep/tests/lab/bench/counted_memory.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

/* Stands before each block, padded to keep the block aligned for any type. */
typedef union block_head {
    size_t bytes;
    max_align_t alignment;
} block_head;

static void *allocate(void *user, size_t bytes)
{
    bench_counted_memory *counted = user;
    block_head *head = calloc(1, sizeof *head + bytes);
    if (!head) {
        return NULL;
    }
    head->bytes = bytes;
    counted->bytes += bytes;
    return head + 1;
}

static void release(void *user, void *memory)
{
    bench_counted_memory *counted = user;
    block_head *head = memory;
    if (memory) {
        counted->bytes -= head[-1].bytes;
        free(head - 1);
    }
}

void bench_counted_memory_init(bench_counted_memory *counted)
{
    *counted = (bench_counted_memory){.allocator = {allocate, release, counted}};
}
