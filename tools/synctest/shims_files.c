#define _GNU_SOURCE
#include "lockstep/tools/synctest/shims_files.h"

#include "lockstep/tools/synctest/noise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHIM __attribute__((visibility("default")))

static int users_folder = -1;

void synctest_shims_files_turn(void)
{
    users_folder = openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A sanitizer has its own. */
#if !SYNCTEST_IS_SANITIZED

static bool is_turned(const char *path)
{
    return users_folder >= 0 && path && path[0] != '/' && path[0] != '\0';
}

/* Opens for reading: numbers, which most readers take, or ENOENT. */
static int open_turned(const char *path)
{
    static const char numbers[] = "1\n1\n1\n1\n";
    if (faccessat(users_folder, path, F_OK, 0) == 0) {
        errno = ENOENT;
        return -1;
    }
    int file = memfd_create("turned", MFD_CLOEXEC);
    bool is_written = file >= 0 && write(file, numbers, sizeof numbers - 1) > 0;
    return is_written && lseek(file, 0, SEEK_SET) == 0 ? file : -1;
}

static int flags_of(const char *mode)
{
    bool is_both = strchr(mode, '+') != NULL;
    int flags = strchr(mode, 'e') ? O_CLOEXEC : 0;
    flags |= strchr(mode, 'x') ? O_EXCL : 0;
    switch (mode[0]) {
    case 'r':
        return flags | (is_both ? O_RDWR : O_RDONLY);
    case 'w':
        return flags | O_CREAT | O_TRUNC | (is_both ? O_RDWR : O_WRONLY);
    default:
        return flags | O_CREAT | O_APPEND | (is_both ? O_RDWR : O_WRONLY);
    }
}

static FILE *open_stream(const char *path, const char *mode)
{
    bool is_read = mode[0] == 'r' && !strchr(mode, '+');
    int file = is_read && is_turned(path) ? open_turned(path)
                                          : openat(AT_FDCWD, path, flags_of(mode), 0666);
    return file < 0 ? NULL : fdopen(file, mode);
}

SHIM FILE *fopen(const char *restrict path, const char *restrict mode)
{
    return open_stream(path, mode);
}

SHIM FILE *fopen64(const char *restrict path, const char *restrict mode)
{
    return open_stream(path, mode);
}

SHIM int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    bool is_read = (flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT);
    return is_turned(path) && is_read ? open_turned(path) : openat(AT_FDCWD, path, flags, mode);
}

SHIM int access(const char *path, int mode)
{
    if (is_turned(path)) {
        int file = open_turned(path);
        return file < 0 ? -1 : close(file);
    }
    return faccessat(AT_FDCWD, path, mode, 0);
}

#endif
