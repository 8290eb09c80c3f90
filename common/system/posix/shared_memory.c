#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#define _FILE_OFFSET_BITS 64
#include "lockstep/common/system/shared_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

void *ls_shared_memory_map(int descriptor, size_t bytes)
{
    struct stat info;
    bool is_long = fstat(descriptor, &info) == 0 && (uint64_t)info.st_size >= bytes;
    return is_long || ftruncate(descriptor, (off_t)bytes) == 0 ? map(bytes, 0, descriptor) : NULL;
}

void ls_shared_memory_release(void *memory, size_t bytes)
{
    if (memory) {
        munmap(memory, bytes);
    }
}

bool ls_shared_memory_write(int descriptor, const void *bytes, size_t size, uint64_t offset)
{
    const uint8_t *left = bytes;
    while (size > 0) {
        ssize_t count = pwrite(descriptor, left, size, (off_t)offset);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            return false;
        }
        left += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
        offset += count > 0 ? (uint64_t)count : 0;
    }
    return true;
}

bool ls_shared_memory_read(int descriptor, void *bytes, size_t size, uint64_t offset)
{
    uint8_t *room = bytes;
    ssize_t count = 1;
    while (size > 0 && count > 0) {
        count = pread(descriptor, room, size, (off_t)offset);
        room += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
        offset += count > 0 ? (uint64_t)count : 0;
    }
    return size == 0;
}

void ls_shared_memory_close(int descriptor)
{
    if (descriptor >= 0) {
        close(descriptor);
    }
}
