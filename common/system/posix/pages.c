#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "lockstep/common/system/pages.h"

#include <sys/mman.h>
#include <unistd.h>

size_t ls_pages_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *ls_pages_acquire(uintptr_t wanted, size_t bytes)
{
    void *pages = mmap((void *)wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

bool ls_pages_allow(void *pages, size_t bytes, ls_pages_access access)
{
    static const int rights[] = {
        [LS_PAGES_CLOSED] = PROT_NONE,
        [LS_PAGES_READ] = PROT_READ,
        [LS_PAGES_WRITTEN] = PROT_READ | PROT_WRITE,
    };
    return mprotect(pages, bytes, rights[access]) == 0;
}

void ls_pages_release(void *pages, size_t bytes)
{
    munmap(pages, bytes);
}
