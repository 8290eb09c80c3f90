/* Broadcast index: what a server says of a match that it shows to everybody, read from JSON that
 * nobody vouches for. Pure but for memory. Called by broadcast_reader. */
#ifndef LOCKSTEP_TOOLS_REPLAY_BROADCAST_INDEX_H
#define LOCKSTEP_TOOLS_REPLAY_BROADCAST_INDEX_H

#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAY_BROADCAST_ID_BYTES 17u /* 16 hex digits */

typedef struct replay_broadcast_index {
    char match[REPLAY_BROADCAST_ID_BYTES];
    uint32_t segments; /* that can be fetched; > 0 */
    uint32_t key;      /* the newest that begins with a state; < segments */
    bool is_over;
} replay_broadcast_index;

/* Of one match, or the first one of a list. MALFORMED; NOT_FOUND: the list is empty. */
ls_status replay_broadcast_index_read(const char *text, size_t size, replay_broadcast_index *out);

/* Whether a text is the id of a match. */
bool replay_broadcast_is_id(const char *text);

#endif
