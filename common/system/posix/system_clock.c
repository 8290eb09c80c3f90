#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/system_clock.h"

#include "lockstep/common/base/assert.h"

#include <stddef.h>
#include <time.h>

LS_TICK_CODE static uint64_t system_now_ns(void *user)
{
    (void)user;
    struct timespec now;
    int failed = clock_gettime(CLOCK_MONOTONIC, &now);
    LS_ASSERT(failed == 0);
    return (uint64_t)now.tv_sec * LS_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

ls_clock ls_clock_system(void)
{
    return (ls_clock){system_now_ns, NULL};
}

uint64_t ls_clock_unix_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / LS_NS_PER_MS;
}
