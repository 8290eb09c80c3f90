#define _DEFAULT_SOURCE
#include "lockstep/tests/lab/faultsim/match_memory.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/language.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    BLOCK_BYTES = 8 << 20,
    LARGE_BYTES = 512 << 10, /* from here on a piece is mapped: most of it is never touched */
    LARGE_MAX = 8192,
    ALIGNMENT = 64,
};

typedef struct large_piece {
    void *address;
    size_t bytes;
} large_piece;

struct ls_match_memory {
    ls_allocator cores;
    ls_allocator harness;
    uint64_t allocations;
    uint8_t *block; /* zero from `used` on */
    size_t used;
    uint32_t large_count;
    large_piece large[LARGE_MAX];
};

static void *map_pages(size_t bytes)
{
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return address == MAP_FAILED ? NULL : address;
}

static void *allocate_large(ls_match_memory *memory, size_t bytes)
{
    LS_ASSERT(memory->large_count < LARGE_MAX);
    void *address = map_pages(bytes);
    if (address) {
        memory->large[memory->large_count++] = (large_piece){address, bytes};
    }
    return address;
}

static void *allocate(void *user, size_t bytes)
{
    ls_match_memory *memory = user;
    if (LS_HAS_ADDRESS_SANITIZER) {
        return calloc(1, bytes);
    }
    size_t taken = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes >= LARGE_BYTES || taken > BLOCK_BYTES - memory->used) {
        return allocate_large(memory, bytes);
    }
    void *piece = memory->block + memory->used;
    memory->used += taken;
    return piece;
}

static void *allocate_counted(void *user, size_t bytes)
{
    ls_match_memory *memory = user;
    memory->allocations++;
    return allocate(memory, bytes);
}

/* Pieces of the block stay there: a match gives little back before its end but large ones. */
static void release(void *user, void *piece)
{
    ls_match_memory *memory = user;
    if (LS_HAS_ADDRESS_SANITIZER) {
        free(piece);
        return;
    }
    for (uint32_t i = 0; piece && i < memory->large_count; i++) {
        if (memory->large[i].address == piece) {
            munmap(piece, memory->large[i].bytes);
            memory->large[i] = memory->large[--memory->large_count];
            return;
        }
    }
}

ls_match_memory *faultsim_match_memory_create(void)
{
    ls_match_memory *memory = calloc(1, sizeof *memory);
    if (!memory) {
        return NULL;
    }
    memory->cores = (ls_allocator){allocate_counted, release, memory, NULL};
    memory->harness = (ls_allocator){allocate, release, memory, NULL};
    memory->block = map_pages(BLOCK_BYTES);
    if (!memory->block) {
        free(memory);
        return NULL;
    }
    return memory;
}

void faultsim_match_memory_reset(ls_match_memory *memory)
{
    memset(memory->block, 0, memory->used);
    memory->used = 0;
    for (uint32_t i = 0; i < memory->large_count; i++) {
        munmap(memory->large[i].address, memory->large[i].bytes);
    }
    memory->large_count = 0;
}

void faultsim_match_memory_destroy(ls_match_memory *memory)
{
    if (!memory) {
        return;
    }
    faultsim_match_memory_reset(memory);
    munmap(memory->block, BLOCK_BYTES);
    free(memory);
}

const ls_allocator *faultsim_match_memory_of_cores(ls_match_memory *memory)
{
    return &memory->cores;
}

const ls_allocator *faultsim_match_memory_of_harness(ls_match_memory *memory)
{
    return &memory->harness;
}

const uint64_t *faultsim_match_memory_allocations(const ls_match_memory *memory)
{
    return &memory->allocations;
}
