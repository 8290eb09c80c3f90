#include "lockstep/common/system/memory.h"

#include "lockstep/common/system/windows/errors.h"

#include <fcntl.h>
#include <io.h>
#include <windows.h>

/* The heap of this system is not varied. */
void ls_heap_begin_plain(const char *argument)
{
    (void)argument;
}

void ls_heap_fill(int byte)
{
    (void)byte;
}

void ls_heap_keep(int bytes)
{
    (void)bytes;
}

void ls_heap_return(int bytes)
{
    (void)bytes;
}

void ls_heap_leave_hole(size_t bytes)
{
    void *hole = VirtualAlloc(NULL, bytes, MEM_RESERVE, PAGE_NOACCESS);
    (void)hole;
}

/* Large pages are a privilege here, which players do not have. */
const ls_allocator *ls_allocator_large(void)
{
    return ls_allocator_heap();
}

/* ---- pages ---- */

#define PLACE_BYTES ((uintptr_t)64 << 10) /* where the system lets memory begin: at multiples */

size_t ls_pages_size(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

void *ls_pages_acquire(uintptr_t wanted, size_t bytes)
{
    const DWORD how = MEM_RESERVE | MEM_COMMIT;
    uintptr_t place = (wanted + PLACE_BYTES - 1) / PLACE_BYTES * PLACE_BYTES;
    void *pages = VirtualAlloc((void *)place, bytes, how, PAGE_NOACCESS);
    return pages ? pages : VirtualAlloc(NULL, bytes, how, PAGE_NOACCESS);
}

bool ls_pages_allow(void *pages, size_t bytes, ls_pages_access access)
{
    static const DWORD rights[] = {
        [LS_PAGES_CLOSED] = PAGE_NOACCESS,
        [LS_PAGES_READ] = PAGE_READONLY,
        [LS_PAGES_WRITTEN] = PAGE_READWRITE,
    };
    DWORD before = 0;
    return VirtualProtect(pages, bytes, rights[access], &before);
}

void ls_pages_release(void *pages, size_t bytes)
{
    (void)bytes;
    VirtualFree(pages, 0, MEM_RELEASE);
}

void ls_pages_enlarge(const void *start, size_t bytes)
{
    (void)start;
    (void)bytes;
}

/* ---- shared memory ---- */

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
