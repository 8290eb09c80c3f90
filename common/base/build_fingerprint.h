/* Build fingerprint: what a machine and a build are made of, item by item, so that two of them can
 * be compared when they compute different results. Texts only, for people and for equality.
 * ls_build_fingerprint_here asks the system and belongs to programs; all else is pure. */
#ifndef LOCKSTEP_COMMON_BASE_BUILD_FINGERPRINT_H
#define LOCKSTEP_COMMON_BASE_BUILD_FINGERPRINT_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* X(NAME, what a person reads). New ones are added at the end. */
#define LS_PRINT_ITEM_MAP(X)                                                                       \
    X(LOCKSTEP, "lockstep") /* version */                                                          \
    X(COMPILER, "compiler")                                                                        \
    X(FLAGS, "flags")               /* the compiler's */                                           \
    X(ARCHITECTURE, "architecture") /* instruction set, byte order, size of a pointer */           \
    X(FLOAT, "floating point")      /* evaluation method, contraction, rounding mode in force */   \
    X(CPU, "cpu")                                                                                  \
    X(SYSTEM, "system")                                                                            \
    X(LIBC, "libc")                                                                                \
    X(LIBRARIES, "libraries")                                                                      \
    X(SIMULATION, "simulation") /* file of the plug-in and a hash of it, or "built in" */          \
    X(LOCALE, "locale")         /* language and time zone in force */

typedef enum ls_fingerprint_item {
#define LS_PRINT_ITEM_ENUM(name, text) LS_PRINT_##name,
    LS_PRINT_ITEM_MAP(LS_PRINT_ITEM_ENUM)
#undef LS_PRINT_ITEM_ENUM
    LS_PRINT_ITEM_COUNT,
} ls_fingerprint_item;

#define LS_PRINT_TEXT_BYTES_MAX 96u /* with the final NUL */

/* Empty texts are not known. */
typedef struct ls_build_fingerprint {
    char items[LS_PRINT_ITEM_COUNT][LS_PRINT_TEXT_BYTES_MAX];
} ls_build_fingerprint;

const char *ls_fingerprint_item_name(ls_fingerprint_item item);

/* Cut when too long, bytes outside printable ASCII replaced. */
void ls_build_fingerprint_set(ls_build_fingerprint *print, ls_fingerprint_item item,
                              const char *text);

/* Everything that this build and this machine know of themselves; not SIMULATION. */
void ls_build_fingerprint_here(ls_build_fingerprint *out);

/* Both know the item, and it is not the same. */
bool ls_build_fingerprint_differs(const ls_build_fingerprint *a, const ls_build_fingerprint *b,
                                  ls_fingerprint_item item);

/* One string: each item's text and a NUL, in order. Reading takes what is there, however many items
 * the writer knew, and never looks past `size`. */
#define LS_PRINT_BYTES_MAX (LS_PRINT_ITEM_COUNT * LS_PRINT_TEXT_BYTES_MAX)
size_t ls_build_fingerprint_write(const ls_build_fingerprint *print,
                                  uint8_t bytes[LS_PRINT_BYTES_MAX]);
void ls_build_fingerprint_read(const uint8_t *bytes, size_t size, ls_build_fingerprint *out);

LS_C_END

#endif
