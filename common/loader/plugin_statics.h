/* Plugin statics: the variables of a loaded plug-in that outlive a step, those of this thread among
 * them, watched for changes: what a pass writes there is neither saved nor hashed. In the format of
 * the system: plugin_statics_elf.c, or plugin_none.c, where none are watched. Never in a
 * process that plays a match. Called by helpers that run ticks again. */
#ifndef LOCKSTEP_COMMON_LOADER_PLUGIN_STATICS_H
#define LOCKSTEP_COMMON_LOADER_PLUGIN_STATICS_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define LS_PLUGIN_STATICS_SEGMENTS_MAX 32u
/* A plug-in with more is not watched, nor is a program that a sanitizer has put its own into. */
#define LS_PLUGIN_STATICS_BYTES_MAX ((LS_HAS_ADDRESS_SANITIZER ? 2u : 16u) << 20)

/* Of an address: that of a thread-local variable, counted from the beginning of these; and in
 * which of the objects it lies. */
#define LS_PLUGIN_STATICS_THREAD_LOCAL (UINT64_C(1) << 63)
#define LS_PLUGIN_STATICS_OBJECT_SHIFT 56u
#define LS_PLUGIN_STATICS_OBJECTS_MAX 16u
#define LS_PLUGIN_STATICS_PROGRAM "/proc/self/exe" /* the path of the program's own file */

typedef struct ls_plugin_statics_segment {
    uint64_t *words;
    uint64_t *first; /* a copy as it was at the beginning, */
    uint64_t *kept;  /* and when it was looked at last */
    size_t word_count;
    uint64_t address; /* as the file has it, with the object's number */
} ls_plugin_statics_segment;

typedef struct ls_plugin_statics {
    const ls_allocator *allocator;
    uint32_t object_count;
    const char *paths[LS_PLUGIN_STATICS_OBJECTS_MAX]; /* of the objects' files */
    ls_plugin_statics_segment segments[LS_PLUGIN_STATICS_SEGMENTS_MAX];
    uint32_t segment_count;
} ls_plugin_statics;

/* Notes what the writable memory of the object holds in which `code` lies: a plug-in, or the
 * program that the simulation is linked into. `with_libraries`: and that of those that came with a
 * plug-in, but for the languages' own. Nothing is watched when there is no such object, or no
 * memory for a copy. The allocator is borrowed until the end. */
void ls_plugin_statics_begin(ls_plugin_statics *statics, const void *code, bool with_libraries,
                             const ls_allocator *allocator);
void ls_plugin_statics_end(ls_plugin_statics *statics);

/* Gives these bytes from such an address on, and the rest of their words, the values that they had
 * at the beginning. */
void ls_plugin_statics_reset(const ls_plugin_statics *statics, uint64_t address, uint64_t size);

/* The addresses of up to `capacity` runs of words that have changed since the last call; returns
 * how many there are. */
uint32_t ls_plugin_statics_changes(ls_plugin_statics *statics, uint64_t *addresses,
                                   uint32_t capacity);

/* Copies the name that a symbol of C++ or Rust has in the source, cut to the capacity. */
typedef void ls_plugin_symbol_reader(char *name, size_t capacity, const char *symbol);

typedef struct ls_plugin_variable {
    char name[LS_NAME_BYTES_MAX];
    uint64_t address; /* of its beginning, as above */
    uint64_t size;
} ls_plugin_variable;

/* The variable at such an address, as the symbols of its object's file have it, without what a
 * compiler adds to the name of a function's own; false: they do not say. A NULL reader leaves
 * symbols of C++ and Rust as they are. */
bool ls_plugin_statics_variable(const char *path, uint64_t address, ls_plugin_symbol_reader *reader,
                                ls_plugin_variable *out);

/* The file of the object that such an address lies in. */
const char *ls_plugin_statics_path(const ls_plugin_statics *statics, uint64_t address);

#endif
