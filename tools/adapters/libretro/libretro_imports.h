/* Libretro imports: the functions that a loaded library takes from others, replaced in this copy of
 * it alone, before the first of its own has run. Knows the tables of ELF, and not what is replaced
 * by what. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_IMPORTS_H
#define LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_IMPORTS_H

#include "lockstep/common/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Ways to get memory in C++ that a library had, by their symbols; NULL: it has not. The sanitizers
 * want memory back by the way that it came. */
typedef struct libretro_originals {
    void *(*one)(size_t bytes);                         /* _Znwm */
    void *(*array)(size_t bytes);                       /* _Znam */
    void *(*one_or_null)(size_t bytes, const void *);   /* _ZnwmRKSt9nothrow_t */
    void *(*array_or_null)(size_t bytes, const void *); /* _ZnamRKSt9nothrow_t */
} libretro_originals;

#define LIBRETRO_START_CHANGES_MAX 4u

typedef struct libretro_change {
    uint64_t place; /* in the file */
    uint32_t number;
} libretro_change;

/* A library runs some functions when it is loaded, such as constructors of C++. Other numbers in
 * the places of its file that say where they are keep the linker from that; and another one keeps
 * it from making the tables of imports read-only. */
typedef struct libretro_start {
    libretro_change changes[LIBRETRO_START_CHANGES_MAX];
    uint32_t change_count;
    uint64_t addresses[2]; /* of a function, and of an array of them; 0: there is none */
    uint64_t array_bytes;
} libretro_start;

/* Reads it from a library's file. All zero for one that cannot be read: the linker says why. */
libretro_start libretro_start_read(const uint8_t *file, size_t size);

/* Runs what was held. */
void libretro_start_run(void *library, const libretro_start *start);

/* Lets `library`, a handle of dlopen, call find(name) in place of every function for which that is
 * not NULL. UNSUPPORTED for a processor whose tables are not known here, IO. */
ls_status libretro_imports_replace(void *library, void *(*find)(const char *name),
                                   libretro_originals *originals);

#endif
