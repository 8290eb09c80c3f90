#include "lockstep/common/system/shared_memory.h"

#include <errno.h>
#include <windows.h>

/* There are no copies of a process here that could share it. */
void *ls_shared_memory_acquire(size_t bytes)
{
    return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

int ls_shared_memory_make(const char *name)
{
    (void)name;
    errno = ENOSYS;
    return -1;
}

void *ls_shared_memory_map(int descriptor, size_t bytes)
{
    (void)descriptor;
    (void)bytes;
    errno = ENOSYS;
    return NULL;
}

bool ls_shared_memory_write(int descriptor, const void *bytes, size_t size, uint64_t offset)
{
    (void)descriptor;
    (void)bytes;
    (void)size;
    (void)offset;
    errno = ENOSYS;
    return false;
}

bool ls_shared_memory_read(int descriptor, void *bytes, size_t size, uint64_t offset)
{
    (void)descriptor;
    (void)bytes;
    (void)size;
    (void)offset;
    errno = ENOSYS;
    return false;
}

void ls_shared_memory_release(void *memory, size_t bytes)
{
    (void)bytes;
    if (memory) {
        VirtualFree(memory, 0, MEM_RELEASE);
    }
}

void ls_shared_memory_close(int descriptor)
{
    (void)descriptor;
}
