/* Page memory: an allocator that gives every block pages of its own with a forbidden page before
 * and one behind, at addresses that can be chosen, and that can take a block's pages the right to
 * be written. Called by the perturbed process; the state of its simulation lives here. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_PAGE_MEMORY_H
#define LOCKSTEP_TOOLS_SYNCTEST_PAGE_MEMORY_H

#include "lockstep/common/base/allocator.h"

#include <stdbool.h>
#include <stdint.h>

#define SYNCTEST_PAGE_BLOCKS_MAX 256u

typedef struct synctest_page_block {
    uint8_t *pages; /* NULL: unused */
    size_t page_bytes;
    uint8_t *bytes; /* what the caller got */
} synctest_page_block;

typedef struct synctest_page_memory {
    ls_allocator allocator;
    uintptr_t hint; /* where blocks are wanted; 0: anywhere */
    size_t shift;   /* bytes from the start of a page to a block */
    bool is_at_end; /* a block ends where its pages do, if not for its alignment */
    uint64_t noise; /* of the bytes around a block; 0: zeroes */
    synctest_page_block blocks[SYNCTEST_PAGE_BLOCKS_MAX];
} synctest_page_memory;

/* Layouts whose blocks end and begin at a forbidden page, with noise in what is left of the page.
 */
#define SYNCTEST_PAGE_LAYOUT_END 4u
#define SYNCTEST_PAGE_LAYOUT_BEGINNING 5u

/* `layout` 0 is the reference's; others lie elsewhere, and elsewhere within a page. `memory` must
 * stay where it is while its allocator is used. */
void synctest_page_memory_init(synctest_page_memory *memory, uint32_t layout);

/* Noise in the pages of the block around `used_bytes` bytes from `used` on, in a layout that has
 * noise: a block is a little bigger than what its owner lays into it. */
void synctest_page_memory_surround(synctest_page_memory *memory, const void *used,
                                   size_t used_bytes);

/* Forbids or allows writing to the pages of the block that holds this byte. */
void synctest_page_memory_set_writable(synctest_page_memory *memory, const void *inside,
                                       bool is_writable);

#endif
