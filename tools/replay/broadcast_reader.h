/* Broadcast reader: a match that others play, read from its broadcast over HTTP while it goes on:
 * the bytes of a journal that grows. Fetches in another thread, and hands what came to a playback
 * in the loop's. Trusts no byte of it more than those of a file. Called by the commands view and
 * verify. */
#ifndef LOCKSTEP_TOOLS_REPLAY_BROADCAST_READER_H
#define LOCKSTEP_TOOLS_REPLAY_BROADCAST_READER_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/tools/replay/playback.h"

typedef struct replay_broadcast replay_broadcast;

/* Whether a word of the command line names a broadcast and no file. */
bool replay_broadcast_is(const char *path);

/* Fetches what can be seen by now, from the start or from the newest snapshot on, and opens it as
 * replay_playback_open opens a file. The URL is of a match, or of the list of a server, whose
 * newest match is meant. With the reason in `why`. */
ls_status replay_broadcast_open(const char *url, bool from_start, replay_playback *playback,
                                replay_broadcast **out, ls_text *why);
/* After the playback. NULL is allowed. */
void replay_broadcast_close(replay_broadcast *broadcast);

/* Fetches on, once a second, and calls `more` when the playback has got more of the journal, or
 * nothing more comes. */
ls_status replay_broadcast_follow(replay_broadcast *broadcast, ls_event_loop *loop,
                                  const ls_log *log, ls_loop_handler more);

/* Before the loop goes. */
void replay_broadcast_leave(replay_broadcast *broadcast);

/* Nothing more comes: the match is over, or the server has been silent for too long. */
bool replay_broadcast_is_over(const replay_broadcast *broadcast);
/* OK, or why it is not followed to its end. */
ls_status replay_broadcast_status(const replay_broadcast *broadcast, ls_text *why);

#endif
