#include "lockstep/tools/replay/broadcast_reader.h"

#include <string.h>

bool replay_broadcast_is(const char *path)
{
    return strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0;
}

ls_status replay_broadcast_open(const char *url, bool from_start, replay_playback *playback,
                                replay_broadcast **out, ls_text *why)
{
    (void)from_start;
    (void)playback;
    (void)out;
    return ls_fail(LS_UNSUPPORTED, why, "%s: this build has no client of HTTP", url);
}

void replay_broadcast_close(replay_broadcast *broadcast)
{
    (void)broadcast;
}

ls_status replay_broadcast_follow(replay_broadcast *broadcast, ls_event_loop *loop,
                                  const ls_log *log, ls_loop_handler more)
{
    (void)broadcast;
    (void)loop;
    (void)log;
    (void)more;
    return LS_UNSUPPORTED;
}

void replay_broadcast_leave(replay_broadcast *broadcast)
{
    (void)broadcast;
}

bool replay_broadcast_is_over(const replay_broadcast *broadcast)
{
    (void)broadcast;
    return true;
}

ls_status replay_broadcast_status(const replay_broadcast *broadcast, ls_text *why)
{
    (void)broadcast;
    (void)why;
    return LS_OK;
}
