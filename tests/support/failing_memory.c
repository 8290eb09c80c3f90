/* Failing memory: preloaded into a program (LD_PRELOAD), makes one of its allocations fail, whoever
 * asks for it: our code or a library. The file that LS_FAILING_MEMORY names is shared with the
 * test: a number of 64 bits. 0: nothing fails; N: the N-th allocation from now on fails, and -1
 * says that it has; a second number is the process in which they are counted. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct shared {
    _Atomic int64_t left;
    _Atomic int64_t process;
} shared;

#define SEEN __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);

static shared *with_test;

__attribute__((constructor)) static void open_shared(void)
{
    const char *path = getenv("LS_FAILING_MEMORY");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *mapped = mmap(NULL, sizeof *with_test, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    with_test = mapped == MAP_FAILED ? NULL : mapped;
    if (file >= 0) {
        close(file);
    }
}

static int fails(void)
{
    shared *of = with_test;
    if (!of || atomic_load(&of->left) <= 0 || atomic_load(&of->process) != getpid()) {
        return 0;
    }
    if (atomic_fetch_sub(&of->left, 1) != 1) {
        return 0;
    }
    atomic_store(&of->left, -1);
    return 1;
}

SEEN void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

SEEN void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

SEEN void *realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(memory, bytes);
}
