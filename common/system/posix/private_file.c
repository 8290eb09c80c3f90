#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = LS_PRIVATE_FILE_PATH_BYTES_MAX,
};

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
