#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#define _FILE_OFFSET_BITS 64
#include "lockstep/common/system/mapped_file.h"

#include "lockstep/common/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static ls_status refuse(const char *path, const char *reason, ls_text *why)
{
    return ls_fail(LS_IO, why, "cannot read %s: %s", path, reason);
}

/* False with errno; 0 where the file is shorter by now. */
static bool fill(int descriptor, uint8_t *bytes, size_t size)
{
    size_t done = 0;
    ssize_t got = 1;
    while (done < size && got != 0) {
        got = pread(descriptor, bytes + done, size - done, (off_t)done);
        if (got < 0 && errno != EINTR) {
            return false;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    errno = 0;
    return done == size;
}

/* MAP_FAILED with errno, likewise. */
static void *map_or_copy(int descriptor, size_t size)
{
    bool is_copy = size <= LS_MAPPED_FILE_COPY_MAX;
    void *bytes =
        mmap(NULL, size, is_copy ? PROT_READ | PROT_WRITE : PROT_READ,
             is_copy ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, is_copy ? -1 : descriptor, 0);
    if (is_copy && bytes != MAP_FAILED && !fill(descriptor, bytes, size)) {
        int error = errno;
        munmap(bytes, size);
        errno = error;
        return MAP_FAILED;
    }
    return bytes;
}

ls_status ls_mapped_file_of(int descriptor, const char *path, ls_mapped_file *out, ls_text *why)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0) {
        return refuse(path, strerror(errno), why);
    }
    if (!S_ISREG(info.st_mode)) {
        return refuse(path, "it is not a file", why);
    }
    if ((uint64_t)info.st_size > SIZE_MAX) {
        return refuse(path, "it is too large for this machine", why);
    }
    ls_mapped_file file = {.size = (size_t)info.st_size};
    if (file.size > 0) {
        void *bytes = map_or_copy(descriptor, file.size);
        if (bytes == MAP_FAILED) {
            return refuse(path, errno ? strerror(errno) : "it was cut meanwhile", why);
        }
        file.bytes = bytes;
    }
    *out = file;
    return LS_OK;
}

ls_status ls_mapped_file_open(const char *path, ls_mapped_file *out, ls_text *why)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is not waited for */
    if (descriptor < 0) {
        return refuse(path, strerror(errno), why);
    }
    ls_status status = ls_mapped_file_of(descriptor, path, out, why);
    close(descriptor);
    return status;
}

ls_status ls_mapped_file_open_beneath(const char *folder, const char *path, ls_mapped_file *out,
                                      ls_text *why)
{
    int descriptor = ls_file_open_beneath(folder, path);
    if (descriptor < 0 && errno == EXDEV) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s leads out of the folder %s", path, folder);
    }
    if (descriptor < 0) {
        ls_status status = errno == ENOENT ? LS_NOT_FOUND : LS_IO;
        return ls_fail(status, why, "cannot read %s in %s: %s", path, folder, strerror(errno));
    }
    ls_status status = ls_mapped_file_of(descriptor, path, out, why);
    close(descriptor);
    return status;
}

void ls_mapped_file_close(ls_mapped_file *file)
{
    if (file->bytes) {
        munmap((void *)(uintptr_t)file->bytes, file->size);
    }
    *file = (ls_mapped_file){0};
}
