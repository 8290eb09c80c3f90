#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/private_file.h"

#include "lockstep/common/system/file_beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = LS_PRIVATE_FILE_PATH_BYTES_MAX,
};

/* Windows would change the ends of lines; elsewhere a program that is started would get the file.
 */
#ifdef _WIN32
#define PLAIN_BYTES O_BINARY
#else
#define PLAIN_BYTES O_CLOEXEC
#endif

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

static bool write_all(int descriptor, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ptrdiff_t put = write(descriptor, bytes, (unsigned)size);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        bytes += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return ls_file_flush(descriptor);
}

/* It gets its name when it is whole: errno of the failure, 0 for none. */
static int write_new(const char *path, const uint8_t *bytes, size_t size, bool may_replace)
{
    char beside[PATH_BYTES_MAX];
    int descriptor = ls_file_beside_make(path, LS_FILE_OF_OWNER, beside, sizeof beside);
    if (descriptor < 0) {
        return errno;
    }
    int error = write_all(descriptor, bytes, size) ? 0 : errno;
    if (close(descriptor) != 0 && error == 0) {
        error = errno;
    }
    if (error == 0 && !ls_file_give_name(beside, path, may_replace)) {
        error = errno;
    }
    if (error != 0) {
        ls_file_beside_drop(beside);
    }
    return error;
}

static ls_status refuse_write(const char *path, const char *what, int error, ls_text *why)
{
    return error == 0
               ? LS_OK
               : ls_fail(LS_IO, why, "cannot write the %s to %s: %s", what, path, strerror(error));
}

ls_status ls_private_file_make(const char *path, const char *what, const uint8_t *bytes,
                               size_t size, ls_text *why)
{
    int error = write_new(path, bytes, size, false);
    return error == EEXIST
               ? ls_fail(LS_IO, why, "%s is there already, and is not written over", path)
               : refuse_write(path, what, error, why);
}

ls_status ls_private_file_replace(const char *path, const char *what, const uint8_t *bytes,
                                  size_t size, ls_text *why)
{
    return refuse_write(path, what, write_new(path, bytes, size, true), why);
}

ls_status ls_private_file_append(const char *path, const char *what, const uint8_t *bytes,
                                 size_t size, ls_text *why)
{
    int descriptor = open(path, O_WRONLY | O_APPEND | PLAIN_BYTES);
    int error = descriptor >= 0 && write_all(descriptor, bytes, size) ? 0 : errno;
    if (descriptor >= 0 && close(descriptor) != 0 && error == 0) {
        error = errno;
    }
    return refuse_write(path, what, error, why);
}
