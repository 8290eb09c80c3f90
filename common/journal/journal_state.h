/* Journal state: the inside of a journal that is read, shared by journal_open.c (what is in the
 * file) and journal_read.c (what is asked of it), and the few helpers that both need. Never
 * included by anybody else. */
#ifndef LOCKSTEP_COMMON_JOURNAL_JOURNAL_STATE_H
#define LOCKSTEP_COMMON_JOURNAL_JOURNAL_STATE_H

#include "lockstep/common/journal/journal_frame.h"
#include "lockstep/common/journal/journal_index.h"

/* Most journals never need room for the largest record. */
typedef struct ls_journal_buffer {
    uint8_t *bytes;
    size_t capacity;
} ls_journal_buffer;

struct ls_journal {
    const ls_allocator *allocator;
    const uint8_t *bytes;
    size_t size;
    ls_journal_header header;
    ls_journal_info info;
    ls_journal_buffer raw; /* the payload of a record */
    bool is_out_of_memory; /* for one: it was passed over */

    /* Where blocks and snapshots begin, by offset; those of blocks by tick as well. */
    ls_journal_index_entry *entries;
    size_t entry_count;
    size_t entry_capacity;

    /* Where next_tick goes on. */
    ls_journal_buffer block; /* the payload that `reader` is in */
    ls_tick_block_reader reader;
    bool has_block;
    uint64_t place;
    ls_tick want;

    /* The last finding of find_snapshot. */
    uint64_t found_place;
    ls_tick found_tick;
};

/* How far a snapshot that is being read has come. */
typedef struct ls_journal_pieces_read {
    ls_journal_snapshot head;
    uint32_t next; /* 0: none is begun */
} ls_journal_pieces_read;

/* ---- journal_read.c ---- */

/* The payload as it was before it was compressed: borrowed from the file, or put into `memory`.
 * NULL when it cannot be. */
const uint8_t *ls_journal_payload(ls_journal *journal, const ls_journal_frame *frame,
                                  ls_journal_buffer *memory);

ls_journal_walk ls_journal_walk_in(const ls_journal *journal, uint64_t offset);

/* Makes journal->reader read a block; false when that cannot be. */
bool ls_journal_open_block(ls_journal *journal, const ls_journal_frame *frame, const uint8_t *raw);

/* A piece's head, if all of it can be; and whether the snapshot is whole with it. */
bool ls_journal_read_piece(const uint8_t *raw, size_t size, ls_journal_snapshot *out);
bool ls_journal_add_piece(ls_journal_pieces_read *sofar, const ls_journal_snapshot *head);

#endif
