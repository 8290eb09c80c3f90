/* Page memory: an allocator that gives every block pages of its own with a forbidden page before
 * and one behind, at addresses that can be chosen, and that can take a block's pages the right to
 * be written. Called by the perturbed process; the state of its simulation lives here. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_PAGE_MEMORY_H
#define LOCKSTEP_TOOLS_SYNCTEST_PAGE_MEMORY_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/simulation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Noise: what memory holds that nobody has written: zeroes in the reference, in other
 * perturbations bytes that differ from each other and from run to run. Pure. Called by the player,
 * by page memory and by the shims ---- */

/* With AddressSanitizer and its kin the heap is theirs, and so are the bytes around a block: they
 * find more than noise does. */
#define SYNCTEST_IS_SANITIZED LS_IS_SANITIZED

/* Names the bytes that memory holds which nobody has written: 0, for zeroes, in the reference; in
 * other perturbations random ones, other for each variant, tick and place. */
uint64_t synctest_noise(bool is_moved, uint32_t variant, uint32_t tick, uint32_t place);
void synctest_noise_fill(void *bytes, size_t byte_count, uint64_t noise);

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

/* ---- Laid inputs: the inputs of a tick, copied to where a step that reads past their end is found
 * out: against a forbidden page, or before random bytes. In the reference zeroes follow them. Owns
 * that memory. Called by the player, before every step ---- */

typedef enum synctest_inputs_layout {
    SYNCTEST_INPUTS_BEFORE_ZEROES,
    SYNCTEST_INPUTS_BEFORE_FENCE, /* the last byte, and the last slot, end at a forbidden page */
    SYNCTEST_INPUTS_BEFORE_NOISE,
} synctest_inputs_layout;

typedef struct synctest_laid_inputs {
    synctest_inputs_layout layout;
    size_t room_bytes; /* of one slot's input, and of the table of slots: whole pages */
    uint8_t *rooms;    /* each with a forbidden page behind it; the first holds the table */
} synctest_laid_inputs;

/* NO_MEMORY leaves nothing to give back. */
ls_status synctest_laid_inputs_init(synctest_laid_inputs *laid, synctest_inputs_layout layout);

/* The same inputs, valid until the next call. */
ls_tick_inputs synctest_laid_inputs_set(synctest_laid_inputs *laid, const ls_tick_inputs *inputs);

#endif
