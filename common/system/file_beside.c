#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/file_beside.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int ls_file_beside_make(const char *path, int rights, char *beside, size_t capacity)
{
    int file = -1;
    errno = EEXIST;
    for (unsigned number = 0; file < 0 && errno == EEXIST && number < LS_FILE_NAMES_TRIED;
         number++) {
        int bytes = snprintf(beside, capacity, "%s.part%ld-%u", path, (long)getpid(), number);
        if (bytes < 0 || (size_t)bytes >= capacity) {
            errno = ENAMETOOLONG;
            return -1;
        }
        file = ls_file_make(beside, rights);
    }
    return file;
}

void ls_file_beside_drop(const char *beside)
{
    int error = errno;
    unlink(beside);
    errno = error;
}
