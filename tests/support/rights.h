/* Rights of files, as POSIX has them. */
#ifndef LOCKSTEP_TESTS_SUPPORT_RIGHTS_H
#define LOCKSTEP_TESTS_SUPPORT_RIGHTS_H

#include <stdbool.h>
#include <sys/stat.h>

/* Whether a file or a folder has just these, such as 0600. Windows has access lists in place of
 * them, which are not looked at: there it is enough that the file is there. */
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
