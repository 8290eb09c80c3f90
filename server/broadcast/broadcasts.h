/* Broadcasts: the matches in a folder of journals that everybody may watch, each as segments that
 * can be seen once they are late enough. Reads the journals while others write them, and changes
 * nothing. Time is an argument. Called by broadcast_http and, to keep up, by the door. */
#ifndef LOCKSTEP_SERVER_BROADCAST_BROADCASTS_H
#define LOCKSTEP_SERVER_BROADCAST_BROADCASTS_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/journal/journal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Segments: the journal of one match, cut into pieces for its spectators: each is a journal of
 * its own, without the match's key and without what its server wrote about people and machines.
 * Where one ends depends on the journal's records alone, so that it is the same whenever it is cut.
 * Knows where the bytes are and holds none. Time is an argument. Called by broadcasts ---- */

/* A reader of a journal has room for so many bytes: a record, and the head of the file. */
#define LS_SEGMENTS_READ_BYTES ((size_t)LS_JOURNAL_RAW_BYTES_MAX + 4096u)

/* The head of a file, and its HEADER. */
#define LS_SEGMENT_HEAD_BYTES_MAX (LS_JOURNAL_HEADER_BYTES_MAX + 64u)

/* Bytes of the journal that belong to a segment as they stand. */
typedef struct ls_segment_run {
    uint64_t offset;
    uint64_t bytes;
} ls_segment_run;

typedef struct ls_segment {
    ls_tick first_tick;
    ls_tick end_tick; /* behind its last one */
    bool is_key;      /* it begins with all that it takes to play it: the start, or a snapshot */
    uint64_t came_ns; /* when the last of it was there */
    uint32_t first_run, run_count;
    uint64_t bytes; /* of all runs */
} ls_segment;

typedef struct ls_segments ls_segments;

/* Of a journal that has not been read yet. NO_MEMORY. */
ls_status ls_segments_create(const ls_allocator *allocator, ls_segments **out);
void ls_segments_destroy(ls_segments *segments); /* NULL is allowed */

/* Reads on in the journal: `bytes` are those from ls_segments_offset on, and come again from where
 * that stands afterwards. */
void ls_segments_read(ls_segments *segments, const uint8_t *bytes, size_t size, uint64_t now_ns);
uint64_t ls_segments_offset(const ls_segments *segments);

/* The journal says that everybody may watch. */
bool ls_segments_are_public(const ls_segments *segments);
/* Nothing more comes: the match is over, the file damaged, or memory out. */
bool ls_segments_are_over(const ls_segments *segments);

/* Those that are whole. */
uint32_t ls_segments_count(const ls_segments *segments);
const ls_segment *ls_segments_at(const ls_segments *segments, uint32_t number);
const ls_segment_run *ls_segments_runs(const ls_segments *segments, const ls_segment *segment);
/* Writes the bytes before its runs, and returns how many they are. */
size_t ls_segments_write_head(const ls_segments *segments, const ls_segment *segment,
                              uint8_t out[LS_SEGMENT_HEAD_BYTES_MAX]);

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
