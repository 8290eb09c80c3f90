/* Libretro core: the shared library of a core, loaded from bytes. A core keeps its state in its own
 * variables, so every block of a process loads a copy of its own. Runs nothing of the core but what
 * loading runs. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_CORE_H
#define LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_CORE_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/adapters/libretro/libretro_api.h"
#include "lockstep/tools/adapters/libretro/libretro_imports.h"

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
