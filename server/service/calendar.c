#include "lockstep/server/service/calendar.h"

#include <time.h>

uint64_t ls_calendar_ms(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
