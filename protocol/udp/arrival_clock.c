#define _GNU_SOURCE
#include "lockstep/protocol/udp/arrival_clock.h"

#include "lockstep/common/base/clock.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define TURN_NS_MAX (50 * LS_NS_PER_MS)

void ls_arrival_clock_init(ls_arrival_clock *clock, int socket)
{
    *clock = (ls_arrival_clock){0};
#ifdef SO_TIMESTAMPNS
    int on = 1;
    clock->has_stamps = setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
#else
    (void)socket;
#endif
}

/* False when there is no stamp. */
static bool read_stamp(const struct msghdr *message, struct timespec *stamp)
{
#ifdef SO_TIMESTAMPNS
    struct cmsghdr *each = CMSG_FIRSTHDR(message);
    if (each && each->cmsg_level == SOL_SOCKET && each->cmsg_type == SO_TIMESTAMPNS &&
        each->cmsg_len >= CMSG_LEN(sizeof *stamp)) {
        memcpy(stamp, CMSG_DATA(each), sizeof *stamp);
        return true;
    }
#else
    (void)message;
    (void)stamp;
#endif
    return false;
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

uint64_t ls_arrival_clock_read(const ls_arrival_clock *clock, const struct msghdr *message)
{
    struct timespec stamp;
    if (!clock->has_stamps || !read_stamp(message, &stamp)) {
        return clock->turn_ns;
    }
    uint64_t arrived_ns = clock->turn_ns + (ns_of(&stamp) - clock->wall_ns); /* or before it */
    bool is_likely =
        arrived_ns - clock->previous_ns <= clock->turn_ns - clock->previous_ns + TURN_NS_MAX;
    return is_likely ? arrived_ns : clock->turn_ns;
}
