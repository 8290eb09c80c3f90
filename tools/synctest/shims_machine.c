/* The shims that say what the machine is like: its cores, and what memory from malloc holds. */
#define _GNU_SOURCE
#include "lockstep/tools/synctest/shims_machine.h"

#include "lockstep/tools/synctest/noise.h"

#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* ThreadSanitizer's library calls sysconf before it can watch anything. */
#define SHIM __attribute__((visibility("default"), no_sanitize("thread")))

static uint32_t pretended_cores;
static uint64_t noise;

void synctest_shims_machine_set(uint32_t cores, uint64_t heap_noise)
{
    pretended_cores = cores;
    noise = heap_noise;
}

/* ---- cores ---- */

extern long __sysconf(int name);

SHIM long sysconf(int name)
{
    bool is_count = name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF;
    return is_count && pretended_cores > 0 ? (long)pretended_cores : __sysconf(name);
}

SHIM int get_nprocs(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

SHIM int get_nprocs_conf(void)
{
    return (int)sysconf(_SC_NPROCESSORS_CONF);
}

SHIM int sched_getaffinity(pid_t process, size_t byte_count, cpu_set_t *out)
{
    long used = syscall(SYS_sched_getaffinity, process, byte_count, out);
    if (used < 0) {
        return -1;
    }
    memset((uint8_t *)out + used, 0, byte_count - (size_t)used);
    if (pretended_cores > 0) {
        memset(out, 0, byte_count);
        for (uint32_t core = 0; core < pretended_cores; core++) {
            CPU_SET_S(core, byte_count, out);
        }
    }
    return 0;
}

/* ---- the heap ---- */

#if !SYNCTEST_IS_SANITIZED

extern void *__libc_malloc(size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

/* Other bytes in every block. */
static void *fill(void *block, size_t from)
{
    static uint32_t count;
    if (noise && block) {
        uint32_t number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
        size_t bytes = malloc_usable_size(block);
        uint64_t seed = synctest_noise(true, (uint32_t)noise, number, 0);
        synctest_noise_fill((uint8_t *)block + from, bytes > from ? bytes - from : 0, seed);
    }
    return block;
}

SHIM void *malloc(size_t bytes)
{
    return fill(__libc_malloc(bytes), 0);
}

SHIM void *realloc(void *block, size_t bytes)
{
    size_t kept = noise && block ? malloc_usable_size(block) : 0;
    return fill(__libc_realloc(block, bytes), kept);
}

SHIM void *memalign(size_t alignment, size_t bytes)
{
    return fill(__libc_memalign(alignment, bytes), 0);
}

SHIM void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

SHIM int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) {
        return EINVAL;
    }
    void *block = memalign(alignment, bytes);
    *out = block ? block : *out;
    return block ? 0 : ENOMEM;
}

#endif
