/* Plugin loader: finds a simulation by a built-in's name or by the path of a .so plug-in, which
 * exports a simulation (lockstep_simulation) or a game of lockstep.h (lockstep_plugin).
 * The only place that opens plug-ins; their code runs in this process from then on. */
#ifndef LOCKSTEP_COMMON_LOADER_PLUGIN_LOADER_H
#define LOCKSTEP_COMMON_LOADER_PLUGIN_LOADER_H

#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/simulation.h"

LS_C_BEGIN

typedef struct ls_loaded_simulation {
    const ls_simulation *simulation;
    void *library; /* NULL for a built-in */
    void *own;     /* what was made for it; NULL: the plug-in's own struct serves as it is */
} ls_loaded_simulation;

/* `name` is a file when it has a '/' or ends in ".so", else a built-in. The struct has passed
 * ls_simulation_check, and the schema of a plug-in with its default configuration covers every
 * byte. NOT_FOUND (with the names that exist), PLUGIN (with the dynamic linker's or the check's
 * words), SCHEMA (with the byte ranges). */
ls_status ls_simulation_load(const char *name, ls_loaded_simulation *out, ls_text *why);

/* The plug-in's file that a command can load the simulation from again; NULL: it is built in.
 * LS_SIMULATION_EMBEDDED: it is linked into a program, which is no plug-in. Lives as long as the
 * simulation does. */
#define LS_SIMULATION_EMBEDDED "GAME.so"
const char *ls_simulation_file(const ls_simulation *simulation);

/* A sentence that says how the file of that name is made; NULL: it is another one. */
const char *ls_simulation_file_advice(const char *file);

/* Names in a build fingerprint which code this is: "built in", or a hash of the file of the plug-in
 * or of the program that embeds the game, its size and name, as it lies on the disk now; and its
 * compiler and flags, and what it names of the environment. `name` is what was loaded; of a game of
 * the program's own it is not looked at, and the item is empty where its code is in no file. */
void ls_simulation_print(const ls_loaded_simulation *loaded, const char *name,
                         ls_build_fingerprint *print);

/* A hash of what the C library's maths functions compute here, of those that the plug-in, or a
 * library that it needs, calls (see maths_check.h). 0: it calls none, or is built in. For
 * `maths_check` of the configurations of match and session. */
uint64_t ls_simulation_maths(const ls_loaded_simulation *loaded, const char *name);

/* The simulation and everything made from it must not be used afterwards. */
void ls_simulation_unload(ls_loaded_simulation *loaded);

LS_C_END

#endif
