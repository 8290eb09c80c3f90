/* Preloaded: libraries that stand before those of a program (LD_PRELOAD), each of which takes one
 * thing over that the system does. Which one is built, a definition says. Called by the tests of
 * the programs. */
#define SEEN __attribute__((visibility("default")))

/* ==== stepping_clock ==== */

/* The wall clock is set every half second, by hours and by less than a second, forth and back. The
 * monotonic clock stays what it is. */
#if defined(PRELOADED_STEPPING_CLOCK)

#define _GNU_SOURCE
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    STEP_MS = 500
};

static const int64_t offsets_ms[] = {
    INT64_C(3) * 3600 * 1000, INT64_C(-2) * 3600 * 1000,  700, -900,
    INT64_C(40) * 60 * 1000,  INT64_C(-26) * 3600 * 1000,
};

/* Straight from the kernel: the library's own functions are the ones replaced here. */
static int read_clock(clockid_t id, struct timespec *now)
{
    return (int)syscall(SYS_clock_gettime, id, now);
}

static int read_stepping_clock(struct timespec *now)
{
    struct timespec steady;
    if (read_clock(CLOCK_MONOTONIC, &steady) != 0 || read_clock(CLOCK_REALTIME, now) != 0) {
        return -1;
    }
    int64_t steady_ms = (int64_t)steady.tv_sec * 1000 + steady.tv_nsec / 1000000;
    int64_t count = (int64_t)(sizeof offsets_ms / sizeof offsets_ms[0]);
    int64_t offset_ms = offsets_ms[steady_ms / STEP_MS % count];
    int64_t now_ms = (int64_t)now->tv_sec * 1000 + now->tv_nsec / 1000000 + offset_ms;
    now->tv_sec = (time_t)(now_ms / 1000);
    now->tv_nsec = (long)(now_ms % 1000) * 1000000 + now->tv_nsec % 1000000;
    return 0;
}

SEEN int clock_gettime(clockid_t id, struct timespec *now)
{
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ? read_stepping_clock(now)
                                                               : read_clock(id, now);
}

SEEN int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec precise;
    int failure = read_stepping_clock(&precise);
    if (failure == 0) {
        *now = (struct timeval){.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
    }
    return failure;
}

SEEN time_t time(time_t *out)
{
    struct timespec precise;
    time_t now = read_stepping_clock(&precise) == 0 ? precise.tv_sec : (time_t)-1;
    if (out) {
        *out = now;
    }
    return now;
}

#endif

/* ==== late_route ==== */

/* The network is not up at first: no UDP socket can be connected the first times. */
#if defined(PRELOADED_LATE_ROUTE)

#define _DEFAULT_SOURCE
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    FAILURES = 6 /* longer than a second, with a quarter of one between two attempts */
};

SEEN int connect(int descriptor, const struct sockaddr *address, socklen_t size)
{
    static int failures;
    int type = 0;
    socklen_t type_size = sizeof type;
    (void)getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_size);
    if (type == SOCK_DGRAM && address->sa_family != AF_UNIX && failures < FAILURES) {
        failures++;
        errno = ENETUNREACH;
        return -1;
    }
    return (int)syscall(SYS_connect, descriptor, address, size);
}

#endif

/* ==== flush_to_zero ==== */

/* One function, which has the calling thread count denormal
 * numbers as zero, as some libraries do on their way. */
#if defined(PRELOADED_FLUSH_TO_ZERO)

SEEN void flush_to_zero(void);

void flush_to_zero(void)
{
#if defined(__SSE2__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#endif
}

#endif

/* ==== failing_memory ==== */

/* One of the program's allocations fails, whoever asks for it: our code or a library. The file that
 * LS_FAILING_MEMORY names is shared with the test: a number of 64 bits. 0: nothing fails; N: the
 * N-th allocation from now on fails, and -1 says that it has; a second number is the process in
 * which they are counted. */
#if defined(PRELOADED_FAILING_MEMORY)

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

#endif
