#include "lockstep/common/system/mapped_file.h"

#include "lockstep/common/system/file.h"
#include "lockstep/common/system/windows/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <windows.h>

enum {
    READ_BYTES_MAX = 1 << 30,
};

static ls_status refuse(const char *path, const char *reason, ls_text *why)
{
    return ls_fail(LS_IO, why, "cannot read %s: %s", path, reason);
}

/* Calls of the system have 32 bits for a size. */
static bool read_all(HANDLE file, uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        DWORD got = 0;
        size_t rest = size - at;
        DWORD wanted = rest < READ_BYTES_MAX ? (DWORD)rest : READ_BYTES_MAX;
        OVERLAPPED from = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)((uint64_t)at >> 32)};
        if (!ReadFile(file, bytes + at, wanted, &got, &from) || got == 0) {
            return false;
        }
        at += got;
    }
    return true;
}

/* A copy of any size: a file that is mapped could not be cut, as a journal is that goes on. */
ls_status ls_mapped_file_of(int descriptor, const char *path, ls_mapped_file *out, ls_text *why)
{
    HANDLE file = (HANDLE)_get_osfhandle(descriptor);
    LARGE_INTEGER size;
    if (file == INVALID_HANDLE_VALUE || GetFileType(file) != FILE_TYPE_DISK ||
        !GetFileSizeEx(file, &size)) {
        return refuse(path, "it is not a file", why);
    }
    size_t bytes = (size_t)size.QuadPart;
    uint8_t *copy =
        bytes > 0 ? VirtualAlloc(NULL, bytes, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE) : NULL;
    if (bytes > 0 && (!copy || !read_all(file, copy, bytes))) {
        ls_status status = refuse(path, ls_windows_words(), why);
        VirtualFree(copy, 0, MEM_RELEASE);
        return status;
    }
    *out = (ls_mapped_file){copy, bytes};
    return LS_OK;
}

ls_status ls_mapped_file_open(const char *path, ls_mapped_file *out, ls_text *why)
{
    ls_file_facts facts;
    if (ls_file_look(path, &facts) && facts.kind == LS_FILE_FOLDER) {
        return refuse(path, "it is not a file", why);
    }
    HANDLE file =
        CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                    NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        return refuse(path, ls_windows_words(), why);
    }
    int descriptor = _open_osfhandle((intptr_t)file, _O_RDONLY | _O_BINARY);
    ls_status status = ls_mapped_file_of(descriptor, path, out, why);
    _close(descriptor);
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
        return ls_fail(status, why, "cannot read %s in %s: %s", path, folder, ls_windows_words());
    }
    ls_status status = ls_mapped_file_of(descriptor, path, out, why);
    _close(descriptor);
    return status;
}

void ls_mapped_file_close(ls_mapped_file *file)
{
    if (file->bytes) {
        VirtualFree((void *)(uintptr_t)file->bytes, 0, MEM_RELEASE);
    }
    *file = (ls_mapped_file){0};
}
