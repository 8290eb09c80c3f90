#define _GNU_SOURCE /* memfd_create */
#include "lockstep/common/system/shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

static void *map(size_t bytes, int flags, int descriptor)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | flags, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void *ls_shared_memory_acquire(size_t bytes)
{
    return map(bytes, MAP_ANONYMOUS, -1);
}

int ls_shared_memory_make(const char *name, size_t bytes)
{
    int descriptor = memfd_create(name, MFD_CLOEXEC);
    if (descriptor >= 0 && ftruncate(descriptor, (off_t)bytes) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

void *ls_shared_memory_map(int descriptor, size_t bytes)
{
    return map(bytes, 0, descriptor);
}

void ls_shared_memory_release(void *memory, size_t bytes)
{
    if (memory) {
        munmap(memory, bytes);
    }
}

void ls_shared_memory_close(int descriptor)
{
    close(descriptor);
}
