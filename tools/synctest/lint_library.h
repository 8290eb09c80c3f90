/* Lint library: where the dynamic loader finds the libraries that a plug-in needs. Reads the
 * loader's configuration and the first bytes of files. Called by lint.
 */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_LINT_LIBRARY_H
#define LOCKSTEP_TOOLS_SYNCTEST_LINT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#define SYNCTEST_LINT_LIBRARY_PATH_BYTES_MAX 1024u

/* Where a library is that the object at `object_path` needs, built for the same processor.
 * `run_path` is the object's own list of folders, "" for none. */
bool synctest_lint_library_find(const char *name, const char *object_path, const char *run_path,
                                char path[SYNCTEST_LINT_LIBRARY_PATH_BYTES_MAX]);

#endif
