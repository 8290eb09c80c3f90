/* Copy sharing: which pages of a live state share memory with its copy in a state history, so that
 * the two take little more than one state. A page that holds still for some ticks is shared; one
 * that is written to gets memory of its own from the system. Two rules make that safe whatever the
 * caller knows: a page is shared only when both hold the same bytes at that moment, and before the
 * copy changes the live state's pages there get memory of their own. So sharing never changes a
 * byte of the live state. Called by the state history alone. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_COPY_SHARING_H
#define LOCKSTEP_COMMON_DIAGNOSIS_COPY_SHARING_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"

LS_C_BEGIN

typedef struct ls_copy_sharing ls_copy_sharing;

/* The pair is borrowed, and may be gone when the sharing is destroyed. NO_MEMORY. */
ls_status ls_copy_sharing_create(const ls_block_pair *pair, const ls_allocator *allocator,
                                 ls_copy_sharing **out);
void ls_copy_sharing_destroy(ls_copy_sharing *sharing);

/* The copy is about to change, the live state perhaps has. */
void ls_copy_sharing_before_write(ls_copy_sharing *sharing, size_t first, size_t bytes);

/* Once a tick: shares pages that have not changed for LS_COPY_SHARING_TICKS to twice as many. */
#define LS_COPY_SHARING_TICKS 16u
void ls_copy_sharing_turn(ls_copy_sharing *sharing);

LS_C_END

#endif
