/* Build fingerprint: what a machine and a build are made of, item by item, so that two of them can
 * be compared when they compute different results. Texts only, for people and for equality. The
 * one of this machine comes from common/system/machine_fingerprint.h. */
#ifndef LOCKSTEP_COMMON_BASE_BUILD_FINGERPRINT_H
#define LOCKSTEP_COMMON_BASE_BUILD_FINGERPRINT_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* X(NAME, what a person reads, what it is of). New ones are added at the end. Those of the build
 * are of the plug-in's file where a plug-in is played, and of the program for a built-in. */
#define LS_PRINT_ITEM_MAP(X)                                                                       \
    X(LOCKSTEP, "lockstep", BUILD) /* version */                                                   \
    X(COMPILER, "compiler", BUILD)                                                                 \
    X(FLAGS, "flags", BUILD)                /* the compiler's */                                   \
    X(ARCHITECTURE, "architecture", BUILD)  /* instruction set, byte order, size of a pointer */   \
    X(FLOAT, "floating point", ENVIRONMENT) /* evaluation method, rounding and denormals now */    \
    X(CPU, "cpu", ENVIRONMENT)                                                                     \
    X(SYSTEM, "system", ENVIRONMENT)                                                               \
    X(LIBC, "libc", ENVIRONMENT)                                                                   \
    X(LIBRARIES, "libraries", ENVIRONMENT)                                                         \
    X(SIMULATION, "simulation", BUILD) /* hash, size and file of the plug-in, or "built in" */     \
    X(LOCALE, "locale", ENVIRONMENT)   /* language and time zone in force */                       \
    X(CPU_FEATURES, "cpu features", ENVIRONMENT) /* in force, and a hash of what libm computes */  \
    X(CORES, "number of cores", ENVIRONMENT)     /* online, and those that this process may use */ \
    X(PRELOADS, "preloaded libraries", ENVIRONMENT)                                                \
    X(DIRECTORY, "working directory", ENVIRONMENT)     /* last part, and a hash of the path */     \
    X(VARIABLES, "environment variables", ENVIRONMENT) /* that the plug-in's file names */         \
    X(FILES, "data files", ENVIRONMENT)                /* likewise */

typedef enum ls_fingerprint_item {
#define LS_PRINT_ITEM_ENUM(name, text, kind) LS_PRINT_##name,
    LS_PRINT_ITEM_MAP(LS_PRINT_ITEM_ENUM)
#undef LS_PRINT_ITEM_ENUM
    LS_PRINT_ITEM_COUNT,
} ls_fingerprint_item;

#define LS_PRINT_TEXT_BYTES_MAX 96u /* with the final NUL */

/* Empty texts are not known. */
typedef struct ls_build_fingerprint {
    char items[LS_PRINT_ITEM_COUNT][LS_PRINT_TEXT_BYTES_MAX];
} ls_build_fingerprint;

typedef enum ls_fingerprint_kind {
    LS_FINGERPRINT_OF_BUILD,
    LS_FINGERPRINT_OF_ENVIRONMENT,
} ls_fingerprint_kind;

const char *ls_fingerprint_item_name(ls_fingerprint_item item);
ls_fingerprint_kind ls_fingerprint_item_kind(ls_fingerprint_item item);

/* Cut when too long, bytes outside printable ASCII replaced. */
void ls_build_fingerprint_set(ls_build_fingerprint *print, ls_fingerprint_item item,
                              const char *text);

/* Both know the item, and it is not the same. Equal bytes in another file are the same simulation.
 */
bool ls_build_fingerprint_differs(const ls_build_fingerprint *a, const ls_build_fingerprint *b,
                                  ls_fingerprint_item item);

/* One string: each item's text and a NUL, in order; where that would be too long for one message,
 * the longest texts are cut, and end in '~'. Reading takes what is there, however many items the
 * writer knew, and never looks past `size`. */
#define LS_PRINT_BYTES_MAX 1144u
size_t ls_build_fingerprint_write(const ls_build_fingerprint *print,
                                  uint8_t bytes[LS_PRINT_BYTES_MAX]);
void ls_build_fingerprint_read(const uint8_t *bytes, size_t size, ls_build_fingerprint *out);

LS_C_END

#endif
