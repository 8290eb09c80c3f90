/* Clock: where time comes from. Cores never hold one: time is an argument to them. Programs and
 * transports read the system's (common/system/system_clock.h), tests a manual one. */
#ifndef LOCKSTEP_COMMON_BASE_CLOCK_H
#define LOCKSTEP_COMMON_BASE_CLOCK_H

#include "lockstep/common/base/language.h"

#include <stdint.h>

LS_C_BEGIN

#define LS_NS_PER_US UINT64_C(1000)
#define LS_NS_PER_MS UINT64_C(1000000)
#define LS_NS_PER_SECOND UINT64_C(1000000000)

typedef struct ls_clock {
    /* Monotonic nanoseconds from an arbitrary start. */
    uint64_t (*now_ns)(void *user);
    void *user;
} ls_clock;

static inline uint64_t ls_clock_now_ns(const ls_clock *clock)
{
    return clock->now_ns(clock->user);
}

LS_C_END

#endif
