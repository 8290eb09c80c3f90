#define _GNU_SOURCE
#include "lockstep/tools/synctest/shims.h"

#include "lockstep/common/maths/rng.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/tools/synctest/page_memory.h"
#include "lockstep/tools/synctest/shims_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_US UINT64_C(1000)

/* Before the C library's own in the order in which a plug-in's calls are looked up.
 * ThreadSanitizer's library calls sysconf before it can watch anything. */
#define SHIM __attribute__((visibility("default"), no_sanitize("thread")))

#define CALLS_A_TICK 64u /* that the made-up clock moves on by from tick to tick */

static synctest_shims now;
static uint64_t clock_now_ns;
static ls_rng tie_rng = {1, 1};

void synctest_shims_set(const synctest_shims *shims)
{
    now = *shims;
    synctest_shims_begin_tick(0);
    synctest_shims_memory_set(shims->are_copies_backward, shims->are_comparisons_scaled);
    tie_rng = ls_rng_make(1, 0x74696573);
}

/* ---- the clock ---- */

void synctest_shims_begin_tick(uint32_t tick)
{
    uint64_t passed_ns = (uint64_t)tick * CALLS_A_TICK * now.clock_step_ns;
    __atomic_store_n(&clock_now_ns, now.clock_begin_ns + passed_ns, __ATOMIC_RELAXED);
}

static uint64_t made_up_ns(void)
{
    return __atomic_add_fetch(&clock_now_ns, now.clock_step_ns, __ATOMIC_RELAXED);
}

SHIM int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!now.is_clock_made_up) {
        return (int)syscall(SYS_clock_gettime, clock, out);
    }
    uint64_t ns = made_up_ns();
    *out = (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    return 0;
}

SHIM time_t time(time_t *out)
{
    struct timespec instant = {0};
    clock_gettime(CLOCK_REALTIME, &instant);
    if (out) {
        *out = instant.tv_sec;
    }
    return instant.tv_sec;
}

SHIM int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    (void)zone;
    struct timespec instant = {0};
    clock_gettime(CLOCK_REALTIME, &instant);
    *out = (struct timeval){instant.tv_sec, instant.tv_nsec / (long)NS_PER_US};
    return 0;
}

SHIM clock_t clock(void)
{
    struct timespec used = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (clock_t)(used.tv_sec * CLOCKS_PER_SEC + used.tv_nsec / (long)NS_PER_US);
}

/* ---- the environment ---- */

static char *value_of(const char *name)
{
    size_t size = strlen(name);
    for (char **variable = environ; variable && *variable; variable++) {
        if (strncmp(*variable, name, size) == 0 && (*variable)[size] == '=') {
            return *variable + size + 1;
        }
    }
    return NULL;
}

SHIM char *getenv(const char *name)
{
    static char one[] = "1";
    char *value = value_of(name);
    if (!now.is_environment_turned) {
        return value;
    }
    return value ? NULL : one;
}

SHIM char *secure_getenv(const char *name)
{
    return getenv(name);
}

/* ---- sorting ---- */

typedef int (*two_arguments)(const void *a, const void *b);
typedef int (*three_arguments)(const void *a, const void *b, void *user);

typedef struct order {
    two_arguments compare;
    three_arguments compare_with;
    void *user;
} order;

static int compare_by(const void *a, const void *b, const void *context)
{
    const order *by = context;
    return by->compare ? by->compare(a, b) : by->compare_with(a, b, by->user);
}

static void swap(uint8_t *a, uint8_t *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint8_t kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

static void shuffle(uint8_t *elements, size_t count, size_t bytes)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = ls_rng_below(&tie_rng, (uint32_t)i);
        swap(elements + (i - 1) * bytes, elements + other * bytes, bytes);
    }
}

/* The C library's is stable as long as it gets memory; one that is not may do what this does. */
static void sort(void *elements, size_t count, size_t bytes, const order *by)
{
    void *scratch = count > 1 && bytes > 0 ? calloc(count, bytes) : NULL;
    if (!scratch) {
        return;
    }
    if (now.are_ties_shuffled) {
        shuffle(elements, count, bytes);
    }
    ls_stable_sort(elements, count, bytes, scratch, compare_by, by);
    free(scratch);
}

SHIM void qsort(void *elements, size_t count, size_t bytes, two_arguments compare)
{
    sort(elements, count, bytes, &(order){.compare = compare});
}

SHIM void qsort_r(void *elements, size_t count, size_t bytes, three_arguments compare, void *user)
{
    sort(elements, count, bytes, &(order){.compare_with = compare, .user = user});
}

/* ---- cores ---- */

extern long __sysconf(int name);

SHIM long sysconf(int name)
{
    bool is_count = name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF;
    return is_count && now.cores > 0 ? (long)now.cores : __sysconf(name);
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
    if (now.cores > 0) {
        memset(out, 0, byte_count);
        for (uint32_t core = 0; core < now.cores; core++) {
            CPU_SET_S(core, byte_count, out);
        }
    }
    return 0;
}

/* ---- shims files ---- */

#define FILE_SHIM __attribute__((visibility("default")))

static int users_folder = -1;

void synctest_shims_files_turn(void)
{
    users_folder = openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A sanitizer has its own. */
#if !SYNCTEST_IS_SANITIZED

static bool is_turned(const char *path)
{
    return users_folder >= 0 && path && path[0] != '/' && path[0] != '\0';
}

/* Opens for reading: numbers, which most readers take, or ENOENT. */
static int open_turned(const char *path)
{
    static const char numbers[] = "1\n1\n1\n1\n";
    if (faccessat(users_folder, path, F_OK, 0) == 0) {
        errno = ENOENT;
        return -1;
    }
    int file = memfd_create("turned", MFD_CLOEXEC);
    bool is_written = file >= 0 && write(file, numbers, sizeof numbers - 1) > 0;
    return is_written && lseek(file, 0, SEEK_SET) == 0 ? file : -1;
}

static int flags_of(const char *mode)
{
    bool is_both = strchr(mode, '+') != NULL;
    int flags = strchr(mode, 'e') ? O_CLOEXEC : 0;
    flags |= strchr(mode, 'x') ? O_EXCL : 0;
    switch (mode[0]) {
    case 'r':
        return flags | (is_both ? O_RDWR : O_RDONLY);
    case 'w':
        return flags | O_CREAT | O_TRUNC | (is_both ? O_RDWR : O_WRONLY);
    default:
        return flags | O_CREAT | O_APPEND | (is_both ? O_RDWR : O_WRONLY);
    }
}

static FILE *open_stream(const char *path, const char *mode)
{
    bool is_read = mode[0] == 'r' && !strchr(mode, '+');
    int file = is_read && is_turned(path) ? open_turned(path)
                                          : openat(AT_FDCWD, path, flags_of(mode), 0666);
    return file < 0 ? NULL : fdopen(file, mode);
}

FILE_SHIM FILE *fopen(const char *restrict path, const char *restrict mode)
{
    return open_stream(path, mode);
}

FILE_SHIM FILE *fopen64(const char *restrict path, const char *restrict mode)
{
    return open_stream(path, mode);
}

FILE_SHIM int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    bool is_read = (flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT);
    return is_turned(path) && is_read ? open_turned(path) : openat(AT_FDCWD, path, flags, mode);
}

FILE_SHIM int access(const char *path, int mode)
{
    if (is_turned(path)) {
        int file = open_turned(path);
        return file < 0 ? -1 : close(file);
    }
    return faccessat(AT_FDCWD, path, mode, 0);
}

#endif
