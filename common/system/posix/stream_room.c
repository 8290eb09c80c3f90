#include "lockstep/common/system/stream_room.h"

#include <poll.h>

bool ls_stream_has_room(ls_tty stream)
{
    struct pollfd room = {.fd = (int)stream, .events = POLLOUT};
    return poll(&room, 1, 0) == 1 && room.revents == POLLOUT;
}
