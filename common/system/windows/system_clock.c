#include "lockstep/common/system/system_clock.h"

#include <windows.h>

/* 100 ns from 1601 to 1970. */
#define UNIX_EPOCH UINT64_C(116444736000000000)

/* Without the product of the whole count, which is too long for 64 bits. */
static uint64_t system_now_ns(void *user)
{
    static uint64_t frequency; /* the same whoever asks first */
    LARGE_INTEGER number;
    (void)user;
    if (frequency == 0) {
        QueryPerformanceFrequency(&number);
        frequency = (uint64_t)number.QuadPart;
    }
    QueryPerformanceCounter(&number);
    uint64_t count = (uint64_t)number.QuadPart;
    return count / frequency * LS_NS_PER_SECOND + count % frequency * LS_NS_PER_SECOND / frequency;
}

ls_clock ls_clock_system(void)
{
    return (ls_clock){system_now_ns, NULL};
}

uint64_t ls_clock_unix_ms(void)
{
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    uint64_t count = (uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime;
    return (count - UNIX_EPOCH) / 10000;
}
