#include "lockstep/common/system/shared_memory.h"

#include "lockstep/common/system/windows/errors.h"

#include <fcntl.h>
#include <io.h>
#include <windows.h>

/* A view of a file, or of no file: what release gives back is a view in either case. */
static void *view(HANDLE file, size_t bytes)
{
    HANDLE mapping = CreateFileMappingW(file, NULL, PAGE_READWRITE, (DWORD)((uint64_t)bytes >> 32),
                                        (DWORD)bytes, NULL);
    void *memory = mapping ? MapViewOfFile(mapping, FILE_MAP_WRITE, 0, 0, bytes) : NULL;
    if (!memory) {
        (void)ls_windows_fail();
    }
    if (mapping) {
        CloseHandle(mapping); /* the view keeps it */
    }
    return memory;
}

void *ls_shared_memory_acquire(size_t bytes)
{
    return view(INVALID_HANDLE_VALUE, bytes);
}

/* A file that the system keeps in memory while there is room, and which is gone when it is closed
 * by all. */
int ls_shared_memory_make(const char *name)
{
    char folder[MAX_PATH + 1];
    char path[MAX_PATH + 1];
    (void)name;
    if (GetTempPathA(sizeof folder, folder) == 0 || GetTempFileNameA(folder, "ls", 0, path) == 0) {
        (void)ls_windows_fail();
        return -1;
    }
    HANDLE file =
        CreateFileA(path, GENERIC_READ | GENERIC_WRITE | DELETE,
                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                    FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        (void)ls_windows_fail();
        return -1;
    }
    return _open_osfhandle((intptr_t)file, _O_BINARY);
}

void *ls_shared_memory_map(int descriptor, size_t bytes)
{
    int64_t size = descriptor >= 0 ? _filelengthi64(descriptor) : -1;
    return size < 0 ? NULL
                    : view((HANDLE)_get_osfhandle(descriptor),
                           (uint64_t)size > bytes ? (size_t)size : bytes);
}

static OVERLAPPED place(uint64_t offset)
{
    return (OVERLAPPED){.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
}

bool ls_shared_memory_write(int descriptor, const void *bytes, size_t size, uint64_t offset)
{
    OVERLAPPED at = place(offset);
    DWORD count = 0;
    bool is_written = size <= MAXDWORD && WriteFile((HANDLE)_get_osfhandle(descriptor), bytes,
                                                    (DWORD)size, &count, &at);
    return (is_written && count == size) || ls_windows_fail();
}

bool ls_shared_memory_read(int descriptor, void *bytes, size_t size, uint64_t offset)
{
    OVERLAPPED at = place(offset);
    DWORD count = 0;
    bool is_read = size <= MAXDWORD &&
                   ReadFile((HANDLE)_get_osfhandle(descriptor), bytes, (DWORD)size, &count, &at);
    return (is_read && count == size) || ls_windows_fail();
}

void ls_shared_memory_release(void *memory, size_t bytes)
{
    (void)bytes;
    if (memory) {
        UnmapViewOfFile(memory);
    }
}

void ls_shared_memory_close(int descriptor)
{
    if (descriptor >= 0) {
        _close(descriptor);
    }
}
