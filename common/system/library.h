/* Library: code that a program loads while it runs, and the libraries that are loaded with it.
 * Called by plugin_loader. */
#ifndef LOCKSTEP_COMMON_SYSTEM_LIBRARY_H
#define LOCKSTEP_COMMON_SYSTEM_LIBRARY_H

/* A name without a folder is that of a file in the current one. NULL, with the linker's words in
 * *why. */
void *ls_library_open(const char *file, const char **why);
void ls_library_close(void *library); /* NULL is allowed */

/* The address of what the library exports under the name; NULL: nothing. */
void *ls_library_find(void *library, const char *name);

/* The path of the loaded library whose file has this name; NULL: there is none. It lives as long as
 * the library is loaded. */
const char *ls_library_loaded(const char *file_name);

#endif
