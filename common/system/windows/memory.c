#include "lockstep/common/system/memory.h"

#include <windows.h>

/* The heap of this system is not varied. */
void ls_heap_fill(int byte)
{
    (void)byte;
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

const ls_allocator *ls_allocator_paired(void)
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
