/* Libretro imports: the functions that a loaded library takes from others, replaced in this copy of
 * it alone, before the first of its own has run. Knows the tables of ELF, and not what is replaced
 * by what. Called by libretro_core. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_IMPORTS_H
#define LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_IMPORTS_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/adapters/libretro/libretro_api.h"

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

/* ---- Libretro core: the shared library of a core, loaded from bytes. A core keeps its state
 * in its own variables, so every block of a process loads a copy of its own. Runs nothing
 * of the core but what loading runs ---- */

typedef struct libretro_core {
    void *library;
    int file; /* what it was loaded from, in memory: nothing of a disk */
    libretro_functions call;
} libretro_core;

/* Other functions than those that `find` gives are those of this machine. PLUGIN for bytes that are
 * no core for this machine, IO, UNSUPPORTED; with `why`. */
ls_status libretro_core_open(const ls_sim_file *bytes, void *(*find)(const char *name),
                             libretro_originals *originals, libretro_core *out, ls_text *why);
void libretro_core_close(libretro_core *core);

#endif
