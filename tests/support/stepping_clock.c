/* Stepping clock: a library to be loaded before a program's others (LD_PRELOAD), under which the
 * wall clock is set every half second, by hours and by less than a second, forth and back. The
 * monotonic clock stays what it is. Used by the tests of the programs. */
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

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *now)
{
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ? read_stepping_clock(now)
                                                               : read_clock(id, now);
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict now,
                                                        void *restrict zone)
{
    (void)zone;
    struct timespec precise;
    int failure = read_stepping_clock(&precise);
    if (failure == 0) {
        *now = (struct timeval){.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
    }
    return failure;
}

__attribute__((visibility("default"))) time_t time(time_t *out)
{
    struct timespec precise;
    time_t now = read_stepping_clock(&precise) == 0 ? precise.tv_sec : (time_t)-1;
    if (out) {
        *out = now;
    }
    return now;
}
