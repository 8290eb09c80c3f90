/* Journal index: where the blocks and snapshots of a journal (journal.c) begin, in memory of a
 * fixed size: when there are more than fit, every second is left out, and again. Written into the
 * INDEX record. Never allocates; bytes that are read are not trusted. */
#ifndef LOCKSTEP_COMMON_JOURNAL_JOURNAL_INDEX_H
#define LOCKSTEP_COMMON_JOURNAL_JOURNAL_INDEX_H

#include "lockstep/common/journal/journal.h"
#include "lockstep/common/journal/record_file.h"

typedef struct ls_journal_index_entry {
    uint32_t kind; /* LS_JOURNAL_TICKS or LS_JOURNAL_SNAPSHOT */
    ls_tick tick;
    uint64_t offset; /* of the frame */
} ls_journal_index_entry;

/* Of one kind. */
typedef struct ls_journal_index_list {
    uint32_t count;
    uint64_t stride; /* every so many'th is kept; 0 stands for 1 */
    uint64_t seen;
    ls_journal_index_entry entries[LS_JOURNAL_INDEX_MAX];
} ls_journal_index_list;

typedef struct ls_journal_index {
    ls_journal_index_list ticks;
    ls_journal_index_list snapshots;
} ls_journal_index;

#define LS_JOURNAL_INDEX_ENTRY_BYTES 16u
#define LS_JOURNAL_INDEX_BYTES_MAX (4u + 2u * LS_JOURNAL_INDEX_MAX * LS_JOURNAL_INDEX_ENTRY_BYTES)

/* Entries come in the order of their offsets. A zeroed index is an empty one. */
void ls_journal_index_add(ls_journal_index *index, ls_journal_index_entry entry);

/* The payload of the INDEX record; returns its size. */
size_t ls_journal_index_write(const ls_journal_index *index,
                              uint8_t bytes[LS_JOURNAL_INDEX_BYTES_MAX]);

/* How many entries a payload holds; UINT32_MAX: it cannot be one. */
uint32_t ls_journal_index_count(const uint8_t *bytes, size_t size);
ls_journal_index_entry ls_journal_index_read(const uint8_t *bytes, uint32_t number);

/* Whether a file is called as journals are: something.journal. */
bool ls_journal_is_named(const char *name);

extern const ls_record_format ls_journal_format;

/* The place of a block or a snapshot, in their order: `*number` counts up from 0. False at the end.
 */
bool ls_journal_next_place(ls_journal *journal, uint64_t *number, ls_journal_index_entry *out);

#endif
