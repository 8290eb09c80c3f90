#define _GNU_SOURCE
#include "lockstep/protocol/udp/arrival_clock.h"

#include "lockstep/common/base/clock.h"

#include <sys/ioctl.h>
#include <time.h>

#ifdef __linux__
#include <linux/sockios.h>
#endif

#define TURN_NS_MAX (50 * LS_NS_PER_MS)

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

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * LS_NS_PER_SECOND + (uint64_t)time->tv_nsec;
}

void ls_arrival_clock_begin_turn(ls_arrival_clock *clock, uint64_t now_ns)
{
    struct timespec wall = {0};
    if (clock->has_stamps) {
        clock_gettime(CLOCK_REALTIME, &wall);
    }
    clock->previous_ns = clock->turn_ns;
    clock->turn_ns = now_ns;
    clock->wall_ns = ns_of(&wall);
}

uint64_t ls_arrival_clock_read(const ls_arrival_clock *clock)
{
    struct timespec stamp;
    if (!clock->has_stamps || !read_stamp(clock->socket, &stamp)) {
        return clock->turn_ns;
    }
    uint64_t arrived_ns = clock->turn_ns + (ns_of(&stamp) - clock->wall_ns); /* or before it */
    bool is_likely =
        arrived_ns - clock->previous_ns <= clock->turn_ns - clock->previous_ns + TURN_NS_MAX;
    return is_likely ? arrived_ns : clock->turn_ns;
}
