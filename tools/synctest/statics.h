/* Statics: the variables of a loaded plug-in that outlive a step, those of this thread among them,
 * watched for changes: what a pass writes there is neither saved nor hashed. Knows addresses; their
 * names are in the file, which lint reads. Called by the player for one perturbation. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_STATICS_H
#define LOCKSTEP_TOOLS_SYNCTEST_STATICS_H

#include "lockstep/common/base/allocator.h"

#include <stdbool.h>
#include <stdint.h>

#define SYNCTEST_STATICS_SEGMENTS_MAX 8u
#define SYNCTEST_STATICS_BYTES_MAX (16u << 20) /* a plug-in with more is not watched */

/* Of an address: that of a thread-local variable, counted from the beginning of these. */
#define SYNCTEST_STATICS_THREAD_LOCAL (UINT64_C(1) << 63)

typedef struct synctest_statics_segment {
    const volatile uint64_t *words;
    uint64_t *kept; /* a copy */
    size_t word_count;
    uint64_t address; /* as the file has it */
} synctest_statics_segment;

typedef struct synctest_statics {
    const ls_allocator *allocator;
    synctest_statics_segment segments[SYNCTEST_STATICS_SEGMENTS_MAX];
    uint32_t segment_count;
} synctest_statics;

/* Notes what the writable memory of the shared object with this path holds. Nothing is watched when
 * there is no such object, or no memory for a copy. The allocator is borrowed until the end. */
void synctest_statics_begin(synctest_statics *statics, const char *path,
                            const ls_allocator *allocator);
void synctest_statics_end(synctest_statics *statics);

/* The addresses of up to `capacity` runs of words that have changed since the last call; returns
 * how many there are. */
uint32_t synctest_statics_changes(synctest_statics *statics, uint64_t *addresses,
                                  uint32_t capacity);

#endif
