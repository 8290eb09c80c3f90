#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = LS_PRIVATE_FILE_PATH_BYTES_MAX,
    NAMES_TRIED = 100,
};

/* ---- where it is ---- */

const char *ls_private_file_path(const char *path, char whole[LS_PRIVATE_FILE_PATH_BYTES_MAX])
{
    static const char given[] = LS_PRIVATE_FILE_CREDENTIALS;
    const size_t size = sizeof given - 1;
    if (strncmp(path, given, size) != 0) {
        return path;
    }
    const char *folder = getenv(given + 1); /* without its dollar sign */
    int bytes = folder ? snprintf(whole, PATH_BYTES_MAX, "%s%s", folder, path + size) : -1;
    return bytes >= 0 && bytes < PATH_BYTES_MAX ? whole : NULL;
}

bool ls_private_file_look(const char *path, ls_file_facts *out)
{
    char whole[PATH_BYTES_MAX];
    const char *found = ls_private_file_path(path, whole);
    errno = ENOENT;
    return found && ls_file_look(found, out);
}

/* ---- reading ---- */

/* The system hands secrets to services as files of its own that a group of the service may read:
 * Kubernetes by fsGroup, systemd by an access list, which shows as the right of the group. */
static mode_t rights_of_others(const struct stat *found)
{
    return found->st_mode & (found->st_uid == 0 ? 037 : 077);
}

static ls_status refuse_file(const char *path, const struct stat *found, ls_text *why)
{
    if (!S_ISREG(found->st_mode)) {
        return ls_fail(LS_IO, why, "%s is no file", path);
    }
    if (found->st_uid != geteuid() && found->st_uid != 0) {
        return ls_fail(
            LS_IO, why,
            "%s belongs to another user, who may have read or changed it: this program's "
            "user must own it, or root",
            path);
    }
    if (rights_of_others(found) != 0) {
        return ls_fail(LS_IO, why,
                       "other users may read or write %s (mode %04o), and it is secret: chmod 600 "
                       "it, or make a new one if somebody may have read it",
                       path, (unsigned)found->st_mode & 07777);
    }
    return LS_OK;
}

/* The bytes that there are, one more than `capacity` at most; -1 with errno. */
static ssize_t read_all(int descriptor, uint8_t *bytes, size_t capacity)
{
    uint8_t beyond;
    size_t size = 0;
    while (size <= capacity) {
        bool is_full = size == capacity;
        ssize_t got = read(descriptor, is_full ? &beyond : bytes + size,
                           is_full ? sizeof beyond : capacity - size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -1 : (ssize_t)size;
        }
        size += (size_t)got;
    }
    return (ssize_t)size;
}

static ls_status read_open(int descriptor, const char *path, uint8_t *bytes, size_t capacity,
                           size_t *size, ls_text *why)
{
    struct stat found;
    if (fstat(descriptor, &found) != 0) {
        return ls_fail(LS_IO, why, "cannot read %s: %s", path, strerror(errno));
    }
    ls_status status = refuse_file(path, &found, why);
    if (status != LS_OK) {
        return status;
    }
    ssize_t got = read_all(descriptor, bytes, capacity);
    if (got < 0) {
        return ls_fail(LS_IO, why, "cannot read %s: %s", path, strerror(errno));
    }
    if ((size_t)got > capacity) {
        return ls_fail(LS_IO, why, "%s is longer than %zu bytes", path, capacity);
    }
    *size = (size_t)got;
    return LS_OK;
}

ls_status ls_private_file_read(const char *path, uint8_t *bytes, size_t capacity, size_t *size,
                               ls_text *why)
{
    char whole[PATH_BYTES_MAX];
    const char *found = ls_private_file_path(path, whole);
    if (!found) {
        return ls_fail(LS_IO, why, "cannot read %s: the system gave this program no credentials",
                       path);
    }
    /* A pipe, which is refused, is not waited for. */
    int descriptor = open(found, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return ls_fail(errno == ENOENT ? LS_NOT_FOUND : LS_IO, why, "cannot read %s: %s", path,
                       strerror(errno));
    }
    ls_status status = read_open(descriptor, path, bytes, capacity, size, why);
    close(descriptor);
    return status;
}

/* ---- making ---- */

/* A new file beside `path`; -1 with errno. */
static int open_new(const char *path, char beside[PATH_BYTES_MAX])
{
    int descriptor = -1;
    errno = EEXIST;
    for (unsigned number = 0; descriptor < 0 && errno == EEXIST && number < NAMES_TRIED; number++) {
        int size = snprintf(beside, PATH_BYTES_MAX, "%s.part%ld-%u", path, (long)getpid(), number);
        if (size < 0 || size >= PATH_BYTES_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    return descriptor;
}

static bool write_all(int descriptor, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = write(descriptor, bytes, size);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        bytes += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return fsync(descriptor) == 0;
}

/* Another file of that name makes link fail, and gives way to rename. */
static int give_name(const char *beside, const char *path, bool may_replace)
{
    return may_replace ? rename(beside, path) : link(beside, path);
}

/* It gets its name when it is whole: errno of the failure, 0 for none. */
static int write_new(const char *path, const uint8_t *bytes, size_t size, bool may_replace)
{
    char beside[PATH_BYTES_MAX];
    int descriptor = open_new(path, beside);
    if (descriptor < 0) {
        return errno;
    }
    int error = write_all(descriptor, bytes, size) ? 0 : errno;
    if (close(descriptor) != 0 && error == 0) {
        error = errno;
    }
    if (error == 0 && give_name(beside, path, may_replace) != 0) {
        error = errno;
    }
    if (error != 0 || !may_replace) {
        unlink(beside);
    }
    return error;
}

ls_status ls_private_file_make(const char *path, const char *what, const uint8_t *bytes,
                               size_t size, ls_text *why)
{
    int error = write_new(path, bytes, size, false);
    if (error == 0) {
        return LS_OK;
    }
    return error == EEXIST
               ? ls_fail(LS_IO, why, "%s is there already, and is not written over", path)
               : ls_fail(LS_IO, why, "cannot write the %s to %s: %s", what, path, strerror(error));
}

ls_status ls_private_file_replace(const char *path, const char *what, const uint8_t *bytes,
                                  size_t size, ls_text *why)
{
    int error = write_new(path, bytes, size, true);
    return error == 0
               ? LS_OK
               : ls_fail(LS_IO, why, "cannot write the %s to %s: %s", what, path, strerror(error));
}
