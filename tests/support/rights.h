/* Rights of files and folders, as POSIX has them, for tests that look at what a file was made with.
 * Windows has access lists in place of them, which no test looks at: there it is enough that the
 * file is there. */
#ifndef LOCKSTEP_TESTS_SUPPORT_RIGHTS_H
#define LOCKSTEP_TESTS_SUPPORT_RIGHTS_H

#include <stdbool.h>
#include <sys/stat.h>

/* Whether it has just these, such as 0600. */
static inline bool has_rights(const char *path, unsigned rights)
{
    struct stat found;
#ifdef _WIN32
    (void)rights;
    return stat(path, &found) == 0;
#else
    return stat(path, &found) == 0 && (found.st_mode & 07777u) == rights;
#endif
}

#endif
