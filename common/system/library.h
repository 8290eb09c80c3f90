/* Library: code that a program loads while it runs, and the libraries that are loaded with it.
 * Called by plugin_loader, window and disassembler. */
#ifndef LOCKSTEP_COMMON_SYSTEM_LIBRARY_H
#define LOCKSTEP_COMMON_SYSTEM_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

/* The file of the C library's maths where that is one of its own. */
#ifdef __GLIBC__
#define LS_LIBRARY_OF_MATHS "libm.so.6"
#endif

/* Whether a name is that of a library's file, and no other word: it has a folder, or the ending. */
bool ls_library_is_file(const char *name);

/* A name without a folder is that of a file in the current one; one that calls the C library's
 * maths without saying so finds it. NULL, with the linker's words in *why. */
void *ls_library_open(const char *file, const char **why);

/* One that the system has among its own, by its name alone. NULL: it has none. */
void *ls_library_open_installed(const char *file_name);

void ls_library_close(void *library); /* NULL is allowed */

/* The address of what the library, or one that it needs, exports under the name; NULL: nothing. A
 * library of NULL: the program and all that it was started with. */
void *ls_library_find(void *library, const char *name);

/* Where it lies, and its table of what the linker needs to know of it; 0: it is not known. */
uintptr_t ls_library_base(void *library, const void **table);

/* A library that was written to shared memory (shared_memory.h), to be opened beside others of the
 * same bytes, which the linker tells apart by their names: the descriptor in place of the given
 * one, with the name in `path`; -1 with errno. */
#define LS_LIBRARY_COPY_BYTES 64u
int ls_library_copy_name(int descriptor, char path[LS_LIBRARY_COPY_BYTES]);

/* The path of the loaded library whose file has this name; NULL: there is none. It lives as long as
 * the library is loaded. */
const char *ls_library_loaded(const char *file_name);

/* The path of the loaded library that these bytes belong to, as it was given to open, and where
 * they are in it (`offset` may be NULL); "": they are the program's own; NULL: they are of no file,
 * or it is not known. Lives as long. */
const char *ls_library_of(const void *bytes, uintptr_t *offset);

#endif
