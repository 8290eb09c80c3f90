/* Segments: the journal of one match, cut into pieces for its spectators: each is a journal of its
 * own, without the match's key and without what its server wrote about people and machines. Where
 * one ends depends on the journal's records alone, so that it is the same whenever it is cut. Knows
 * where the bytes are and holds none. Time is an argument. Called by broadcasts. */
#ifndef LOCKSTEP_SERVER_BROADCAST_SEGMENTS_H
#define LOCKSTEP_SERVER_BROADCAST_SEGMENTS_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/journal/journal.h"

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

/* Without its key and build. NULL until it has been read. */
const ls_journal_header *ls_segments_header(const ls_segments *segments);

#endif
