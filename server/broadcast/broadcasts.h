/* Broadcasts: the matches in a folder of journals that everybody may watch, each as segments that
 * can be seen once they are late enough. Reads the journals while others write them, and changes
 * nothing. Time is an argument. Called by broadcast_http and, to keep up, by the door. */
#ifndef LOCKSTEP_SERVER_BROADCAST_BROADCASTS_H
#define LOCKSTEP_SERVER_BROADCAST_BROADCASTS_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"
#include "lockstep/server/broadcast/segments.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Matches at a time; of others the newest wait until one has gone. */
#define LS_BROADCASTS_MAX 256u

/* Of one segment; a larger one is not given out. With its head it is what a reader takes as a reply
 * (LS_HTTP_REPLY_BYTES_MAX, and broadcast.js). */
#define LS_BROADCAST_SEGMENT_BYTES_MAX (((size_t)64 << 20) - LS_SEGMENT_HEAD_BYTES_MAX)

typedef struct ls_broadcasts ls_broadcasts;
typedef struct ls_broadcast ls_broadcast; /* until the next ls_broadcasts_keep_up */

/* The folder is borrowed. NO_MEMORY. */
ls_status ls_broadcasts_create(const char *folder, uint32_t delay_s, const ls_allocator *allocator,
                               ls_broadcasts **out);
void ls_broadcasts_destroy(ls_broadcasts *broadcasts); /* NULL is allowed */

/* Reads what has come: to be called a few times a second. `wall_ns` is since 1970, as files have
 * it. */
void ls_broadcasts_keep_up(ls_broadcasts *broadcasts, uint64_t now_ns, int64_t wall_ns);

/* All that can be watched, as JSON, for ls_json_release_line; NULL: memory is out. */
char *ls_broadcasts_list(const ls_broadcasts *broadcasts, uint64_t now_ns);

/* NULL: there is no such match, or nothing of it can be seen yet. */
ls_broadcast *ls_broadcasts_find(const ls_broadcasts *broadcasts, uint64_t match_id,
                                 uint64_t now_ns);
char *ls_broadcast_index(const ls_broadcasts *broadcasts, const ls_broadcast *broadcast,
                         uint64_t now_ns);

/* The bytes of a segment, of the heap. NOT_FOUND: it is not there, or not to be seen yet; FULL, IO,
 * NO_MEMORY. */
ls_status ls_broadcast_segment(const ls_broadcasts *broadcasts, ls_broadcast *broadcast,
                               uint32_t number, uint64_t now_ns, uint8_t **out, size_t *size);

/* ---- Broadcast path: what a path of a broadcast names: the list of all, the index of a match, or
 * one of its segments. Reads any text, and knows neither HTTP nor which of them are there. Pure.
 * Called by broadcast_http. */

#define LS_BROADCAST_ROOT "/broadcast"

typedef enum ls_broadcast_path_kind {
    LS_BROADCAST_PATH_LIST,
    LS_BROADCAST_PATH_INDEX,
    LS_BROADCAST_PATH_SEGMENT,
} ls_broadcast_path_kind;

typedef struct ls_broadcast_path {
    ls_broadcast_path_kind kind;
    uint64_t match_id;
    uint32_t segment;
} ls_broadcast_path;

/* Each has one spelling, so that a cache keeps it once. False: nothing is there. */
bool ls_broadcast_path_read(const char *path, ls_broadcast_path *out);

#endif
