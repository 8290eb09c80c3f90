/* Plugin statics: the variables of a loaded plug-in that outlive a step, those of this thread among
 * them, watched for changes: what a pass writes there is neither saved nor hashed. In the format of
 * the system: plugin_statics_elf.c, or plugin_statics_none.c, where none are watched. Never in a
 * process that plays a match. Called by helpers that run ticks again. */
#ifndef LOCKSTEP_COMMON_LOADER_PLUGIN_STATICS_H
#define LOCKSTEP_COMMON_LOADER_PLUGIN_STATICS_H

#include "lockstep/common/base/allocator.h"

#include <stdbool.h>
#include <stdint.h>

#define LS_PLUGIN_STATICS_SEGMENTS_MAX 8u
#define LS_PLUGIN_STATICS_BYTES_MAX (16u << 20) /* a plug-in with more is not watched */

/* Of an address: that of a thread-local variable, counted from the beginning of these. */
#define LS_PLUGIN_STATICS_THREAD_LOCAL (UINT64_C(1) << 63)

typedef struct ls_plugin_statics_segment {
    const uint64_t *words;
    uint64_t *kept; /* a copy */
    size_t word_count;
    uint64_t address; /* as the file has it */
} ls_plugin_statics_segment;

typedef struct ls_plugin_statics {
    const ls_allocator *allocator;
    ls_plugin_statics_segment segments[LS_PLUGIN_STATICS_SEGMENTS_MAX];
    uint32_t segment_count;
} ls_plugin_statics;

/* Notes what the writable memory of the shared object with this path holds. Nothing is watched when
 * there is no such object, or no memory for a copy. The allocator is borrowed until the end. */
void ls_plugin_statics_begin(ls_plugin_statics *statics, const char *path,
                             const ls_allocator *allocator);
void ls_plugin_statics_end(ls_plugin_statics *statics);

/* The addresses of up to `capacity` runs of words that have changed since the last call; returns
 * how many there are. */
uint32_t ls_plugin_statics_changes(ls_plugin_statics *statics, uint64_t *addresses,
                                   uint32_t capacity);

/* Copies the name that a symbol of C++ or Rust has in the source, cut to the capacity. */
typedef void ls_plugin_symbol_reader(char *name, size_t capacity, const char *symbol);

/* The name of the variable at such an address, as the file's symbols have it, without what a
 * compiler adds to that of a function's own; false: they do not say. A NULL reader leaves symbols
 * of C++ and Rust as they are. */
bool ls_plugin_statics_name(const char *path, uint64_t address, ls_plugin_symbol_reader *reader,
                            char *name, size_t capacity);

#endif
