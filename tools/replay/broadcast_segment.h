/* Broadcast segment: a piece of a match that a server shows to everybody: a journal of its own, of
 * bytes that nobody vouches for. Pure. Called by broadcast_reader and by the page of recorded
 * matches. */
#ifndef LOCKSTEP_TOOLS_REPLAY_BROADCAST_SEGMENT_H
#define LOCKSTEP_TOOLS_REPLAY_BROADCAST_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

/* Where the records behind the head of a segment begin; 0: this is no segment. */
size_t replay_broadcast_segment_head(const uint8_t *bytes, size_t size);

#endif
