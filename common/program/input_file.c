#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64
#include "lockstep/common/program/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ls_status refuse(ls_status status, const char *path, const char *reason, ls_text *why)
{
    ls_text_set(why, "cannot read %s: %s", path, reason);
    return status;
}

static ls_status read_open(FILE *file, const char *path, uint64_t size_max,
                           const ls_allocator *allocator, uint8_t **out, size_t *out_size,
                           ls_text *why)
{
    struct stat info;
    if (fstat(fileno(file), &info) != 0) {
        return refuse(LS_IO, path, strerror(errno), why);
    }
    if (!S_ISREG(info.st_mode)) {
        return refuse(LS_IO, path, "it is not a file", why);
    }
    uint64_t size = (uint64_t)info.st_size;
    if (size > size_max || size > SIZE_MAX) {
        return ls_fail(LS_FULL, why, "cannot read %s: it has %" PRIu64 " bytes, more than %" PRIu64,
                       path, size, size_max);
    }
    uint8_t *bytes = size > 0 ? ls_allocate(allocator, (size_t)size) : NULL;
    if (size > 0 && !bytes) {
        return refuse(LS_NO_MEMORY, path, "out of memory", why);
    }
    if (size > 0 && fread(bytes, 1, (size_t)size, file) != size) {
        ls_release(allocator, bytes);
        return refuse(LS_IO, path, "it ended early", why);
    }
    *out = bytes;
    *out_size = (size_t)size;
    return LS_OK;
}

ls_status ls_input_file_read(const char *path, uint64_t size_max, const ls_allocator *allocator,
                             uint8_t **out, size_t *out_size, ls_text *why)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is not waited for */
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "rb") : NULL;
    if (!file) {
        ls_status status = refuse(LS_IO, path, strerror(errno), why);
        if (descriptor >= 0) {
            close(descriptor);
        }
        return status;
    }
    ls_status status = read_open(file, path, size_max, allocator, out, out_size, why);
    fclose(file);
    return status;
}
