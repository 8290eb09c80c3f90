#include "lockstep/common/system/heap.h"

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
