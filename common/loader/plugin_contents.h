/* Plugin contents: what the file of a plug-in tells of itself: which bytes it is, who compiled it
 * with which flags, and which environment variables and data files it names. Reads that file and
 * the files it names; runs nothing. Called by plugin_loader for the build fingerprint. */
#ifndef LOCKSTEP_COMMON_LOADER_PLUGIN_CONTENTS_H
#define LOCKSTEP_COMMON_LOADER_PLUGIN_CONTENTS_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

typedef struct ls_plugin_contents {
    uint8_t *bytes;
    size_t size;
} ls_plugin_contents;

bool ls_plugin_contents_open(const char *path, ls_plugin_contents *out);
void ls_plugin_contents_close(ls_plugin_contents *file);

/* A chain of the hashes of the file's pieces of 4,096 bytes. */
uint64_t ls_plugin_contents_hash(const ls_plugin_contents *file);

/* Calls `take` with the name of each symbol that the file gets from others, and with that of each
 * library that it says it needs. */
typedef void ls_plugin_contents_name(void *user, const char *name);
void ls_plugin_contents_imports(const ls_plugin_contents *file, ls_plugin_contents_name *on_name,
                                void *user);
void ls_plugin_contents_needed(const ls_plugin_contents *file, ls_plugin_contents_name *on_name,
                               void *user);

/* Changes the bytes so that the functions of which it has several, each for other processors
 * (target_clones and other ifuncs), become those for any processor, and __builtin_cpu_supports says
 * no: what finds out the features finds none. False: there is nothing of that name. */
bool ls_plugin_contents_hide_features(ls_plugin_contents *file);

/* Why its code may still go by features of the processor when those are hidden; NULL: nothing says
 * so. */
const char *ls_plugin_contents_open_features(const ls_plugin_contents *file);

/* Libraries of C, C++ and the compiler, and Lockstep's own: what they call is no choice of a
 * plug-in that needs them. */
bool ls_plugin_contents_is_of_language(const char *library);

/* Each sets a text, empty where the file does not say. */

/* From .comment: "GCC: (Debian 12.2.0-14) 12.2.0". */
void ls_plugin_contents_compiler(const ls_plugin_contents *file, ls_text *out);

/* From the producers in .debug_str, or from .GCC.command.line: the flags that change what is
 * computed, "-O2 -mfma -ffast-math". clang writes them with -grecord-command-line alone. */
void ls_plugin_contents_flags(const ls_plugin_contents *file, ls_text *out);

/* Variables of this process's environment that the file names, with hashes of their values:
 * "GAME_DIFFICULTY 1a2b3c4d"; "none". Values stay here: they can be private. */
void ls_plugin_contents_variables(const ls_plugin_contents *file, ls_text *out);

/* Files that the file names and that are there, with hashes of their bytes; "none". */
void ls_plugin_contents_data(const ls_plugin_contents *file, ls_text *out);

/* ---- sections: the parts of a plug-in's file by their names, as the format of the system has
 * them: plugin_contents_elf.c, or plugin_none.c, where there are none. Called by plugin_contents
 * and plugin_statics ---- */

typedef struct ls_plugin_section {
    const char *bytes; /* NULL: there is none */
    size_t size;
} ls_plugin_section;

/* The first section of this name that lies in the file as it is. */
ls_plugin_section ls_plugin_section_find(const ls_plugin_contents *file, const char *name);

/* The name of the variable at this address, of a thread-local one counted from the beginning of
 * these, and where it begins and how long it is, as the file's symbols have it; NULL: they do not
 * say. */
const char *ls_plugin_section_variable(const ls_plugin_contents *file, uint64_t address,
                                       bool is_thread_local, uint64_t *begin, uint64_t *size);

/* The next text of a section that ends with NUL; NULL behind the last one. */
const char *ls_plugin_section_next(const ls_plugin_section *texts, const char *text);

/* ---- whether a shared object has all the bytes that it says it has. The dynamic linker maps a
 * file that was cut off and dies of a bus error. Called by the plug-in loader, before it opens the
 * file, and by tools that read plug-ins ---- */

/* PLUGIN when bytes are missing, with "it is cut off: 3000 bytes of 15312". OK for anything else,
 * also for files that cannot be read or are no shared objects of this machine: the linker has
 * better words for those. */
ls_status ls_plugin_file_check(const char *path, ls_text *why);

LS_C_END

#endif
