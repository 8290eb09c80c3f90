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

#if defined(__linux__)
#if !defined(MADV_COLLAPSE)
#define MADV_COLLAPSE 25
#endif

void ls_pages_enlarge(const void *start, size_t bytes)
{
    const uintptr_t large = 2 << 20;
    uintptr_t first = ((uintptr_t)start + large - 1) / large * large;
    uintptr_t end = ((uintptr_t)start + bytes) / large * large;
    if (end > first) {
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
        (void)madvise((void *)first, end - first, MADV_COLLAPSE); /* now: from Linux 6.1 on */
    }
}
#else
void ls_pages_enlarge(const void *start, size_t bytes)
{
    (void)start;
    (void)bytes;
}
#endif
