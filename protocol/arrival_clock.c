#define _GNU_SOURCE
#include "lockstep/protocol/arrival_clock.h"

#include "lockstep/common/base/clock.h"

#include <sys/ioctl.h>
#include <time.h>

#ifdef __linux__
#include <linux/sockios.h>
#endif

/* False when there is no stamp. Asking for the first time makes the kernel stamp what comes. */
static bool read_stamp(int socket, struct timespec *stamp)
{
#ifdef SIOCGSTAMPNS
    return ioctl(socket, SIOCGSTAMPNS, stamp) == 0;
#else
    (void)socket;
    (void)stamp;
    return false;
#endif
}

void ls_arrival_clock_init(ls_arrival_clock *clock, int socket)
{
    struct timespec stamp;
    *clock = (ls_arrival_clock){.socket = socket, .has_stamps = true};
    read_stamp(socket, &stamp); /* fails: nothing has been read yet */
}

void ls_arrival_clock_begin_turn(ls_arrival_clock *clock, uint64_t now_ns)
{
    clock->previous_ns = clock->turn_ns;
    clock->turn_ns = now_ns;
}

uint64_t ls_arrival_clock_read(const ls_arrival_clock *clock, uint64_t now_ns)
{
    struct timespec stamp;
    struct timespec wall;
    if (!clock->has_stamps || !read_stamp(clock->socket, &stamp) ||
        clock_gettime(CLOCK_REALTIME, &wall) != 0) {
        return now_ns;
    }
    int64_t age_ns = (int64_t)(wall.tv_sec - stamp.tv_sec) * (int64_t)LS_NS_PER_SECOND +
                     wall.tv_nsec - stamp.tv_nsec;
    bool is_likely = age_ns >= 0 && (uint64_t)age_ns <= now_ns - clock->previous_ns;
    return is_likely ? now_ns - (uint64_t)age_ns : now_ns;
}
