#define _POSIX_C_SOURCE 200809L
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
        void *bytes = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes == MAP_FAILED) {
            return refuse(path, strerror(errno), why);
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
