/* Allocators: every object that owns heap memory gets it through one of these, passed in at
 * create. No tick of a running match allocates; tests prove it with a counting allocator. An
 * allocator is borrowed and must outlive what it made. */
#ifndef LOCKSTEP_COMMON_BASE_ALLOCATOR_H
#define LOCKSTEP_COMMON_BASE_ALLOCATOR_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

struct ls_pair_memory;

/* A block and a copy of it, both whole pages. A page of the block may be shared: then it has no
 * memory of its own, but lies in the copy's until somebody writes to it. So what is written to a
 * page of the copy shows in the block where that page is shared: copy_sharing.h has the rules. */
typedef struct ls_block_pair {
    uint8_t *block;
    uint8_t *copy;
    size_t bytes; /* of either */
    size_t page_bytes;
    const struct ls_pair_memory *memory; /* where it comes from; NULL: this is no pair */
} ls_block_pair;

typedef struct ls_pair_memory {
    /* Both full of zeros; false: memory is out. */
    bool (*acquire)(size_t bytes, ls_block_pair *out);
    /* Whole pages of the block, which hold what the copy does, give their own memory back; or get
     * some, if they have none. */
    void (*share)(const ls_block_pair *pair, size_t first, size_t bytes);
    void (*part)(const ls_block_pair *pair, size_t first, size_t bytes);
    void (*release)(const ls_block_pair *pair);
} ls_pair_memory;

typedef struct ls_allocator {
    /* Returns `bytes` zeroed bytes aligned for any type, or NULL. bytes > 0. */
    void *(*allocate)(void *user, size_t bytes);
    /* Takes back what allocate returned; NULL is allowed. */
    void (*release)(void *user, void *memory);
    void *user;
    const ls_pair_memory *pairs; /* NULL: it has none */
} ls_allocator;

/* The C heap. */
const ls_allocator *ls_allocator_heap(void);

/* Zeroed memory for `count` elements of `element_bytes`, or NULL when memory is out, when the
 * product overflows or when it is 0. */
void *ls_allocate_array(const ls_allocator *allocator, size_t count, size_t element_bytes);
void *ls_allocate(const ls_allocator *allocator, size_t bytes);
void ls_release(const ls_allocator *allocator, void *memory);

/* False when the allocator has no pairs, or memory is out. */
bool ls_allocate_pair(const ls_allocator *allocator, size_t bytes, ls_block_pair *out);
void ls_release_pair(ls_block_pair *pair); /* no effect on one that is none */

LS_C_END

#endif
