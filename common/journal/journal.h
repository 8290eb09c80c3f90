/* Journal: the durable record of a match, one append-only file: JOURNAL.md is the format. A writer
 * gives the bytes to append, record by record; a reading finds its way in the bytes of a file, cut
 * or damaged as they may be. Files are the programs' business: nothing here does I/O. Bytes that
 * are read are not trusted. Writing belongs off the loop: it compresses.
 */
#ifndef LOCKSTEP_COMMON_JOURNAL_JOURNAL_H
#define LOCKSTEP_COMMON_JOURNAL_JOURNAL_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/encoding/journal_record.h"
#include "lockstep/common/encoding/tick_block.h"

LS_C_BEGIN

/* No record is larger before it is compressed. */
#define LS_JOURNAL_RAW_BYTES_MAX (LS_JOURNAL_PIECE_BYTES + 256u)

/* The index that is written names at most so many records of a kind: when there are more, every
 * second is left out, and again. A reader finds a record in between by going on from a named one.
 */
#define LS_JOURNAL_INDEX_MAX 1024u

/* ---- reading ---- */

typedef struct ls_journal ls_journal;

typedef enum ls_journal_trust {
    LS_JOURNAL_CHECK_ALL,   /* every record is checked when it is opened */
    LS_JOURNAL_TRUST_INDEX, /* if the index is there, records are checked as they are read */
} ls_journal_trust;

/* Facts about the whole file. */
typedef struct ls_journal_info {
    ls_tick first_tick; /* as in the header */
    ls_tick end_tick;   /* behind the last closed tick that is recorded; first_tick: none */
    bool is_complete;   /* it was closed cleanly */
    ls_journal_end end; /* of a complete one */
    uint64_t bytes;     /* of the file */

    /* Where another record can be appended: behind the last good one that is not INDEX or END. */
    uint64_t append_offset;

    /* Lost to damage; 0 when all is well. `lost_offset` is where the first of it begins, and from
     * tick `lost_tick` on ticks are missing because of it, or may be (UINT32_MAX: none). */
    uint64_t surplus_bytes; /* behind the last record of a complete one: of no meaning */
    uint64_t lost_bytes;
    uint64_t lost_offset;
    ls_tick lost_tick;

    /* The rest is counted when every record is checked; 0 otherwise. */
    bool is_counted;
    uint64_t ticks;         /* recorded */
    uint64_t ticks_missing; /* between first_tick and end_tick */
    uint32_t gaps;
    ls_tick gap_tick;      /* the first that is missing */
    uint64_t gap_offset;   /* the file, were it cut there, would end before the first gap, whole */
    uint64_t state_hashes; /* of states that were hashed */
    uint64_t snapshots;    /* whole ones */
    uint64_t tick_chain;   /* behind the last tick */
    uint64_t records[LS_JOURNAL_KIND_COUNT];
    uint64_t stored_bytes[LS_JOURNAL_KIND_COUNT]; /* with their frames */
    uint64_t raw_bytes[LS_JOURNAL_KIND_COUNT];
} ls_journal_info;

/* Opens the bytes of a file, which stay borrowed until close. MALFORMED when this is no journal,
 * another version's, or when its header is damaged: `why` says which. OK otherwise, however little
 * of it is intact: `why` then says what was lost, or is empty. NO_MEMORY. */
ls_status ls_journal_open(const uint8_t *bytes, size_t size, ls_journal_trust trust,
                          const ls_allocator *allocator, ls_journal **out, ls_text *why);
void ls_journal_close(ls_journal *journal);

const ls_journal_header *ls_journal_header_of(const ls_journal *journal);
const ls_journal_info *ls_journal_info_of(const ls_journal *journal);

/* The closed ticks from `tick` on, or from the first one behind it that is recorded: sets where
 * next_tick goes on. There is one such place in a journal. */
void ls_journal_seek(ls_journal *journal, ls_tick tick);

/* The next recorded tick: as ls_tick_block_next gives it. The tick is not one behind the last one
 * where ticks are missing. NOT_FOUND at the end; NO_MEMORY. Damaged records are passed over. */
ls_status ls_journal_next_tick(ls_journal *journal, ls_slot_input slots[LS_PLAYERS_MAX],
                               ls_tick_inputs *out, uint64_t *state_hash);

/* The tick chain behind the last tick of the block that next_tick is in. */
uint64_t ls_journal_block_chain(const ls_journal *journal, ls_tick *behind);

/* The newest whole snapshot that is not behind `tick`, whose every piece is intact. NOT_FOUND. */
ls_status ls_journal_find_snapshot(ls_journal *journal, ls_tick tick, ls_journal_snapshot *out);

/* The oldest whole one that is not before `tick`. NOT_FOUND. */
ls_status ls_journal_next_snapshot(ls_journal *journal, ls_tick tick, ls_journal_snapshot *out);

/* Its state, out->state_bytes of it, canonical. MALFORMED when it cannot be read after all. */
ls_status ls_journal_read_snapshot(ls_journal *journal, const ls_journal_snapshot *snapshot,
                                   uint8_t *state);

/* One record, as it stands in the file. */
typedef struct ls_journal_record {
    uint32_t kind;       /* may be one that this build does not know */
    uint64_t offset;     /* of its frame */
    size_t stored_bytes; /* with its frame */
    const uint8_t *raw;  /* its payload, borrowed until the journal is called again */
    size_t raw_bytes;
} ls_journal_record;

/* The first good record at `*offset` or behind it; `*offset` is then where to go on. From 0 on
 * that is all of them. NOT_FOUND at the end. */
ls_status ls_journal_next_record(ls_journal *journal, uint64_t *offset, ls_journal_record *out);

/* Likewise the events alone. */
ls_status ls_journal_next_event(ls_journal *journal, uint64_t *offset, ls_journal_event *out);

/* ---- writing ---- */

typedef struct ls_journal_writer ls_journal_writer;

/* For records of up to `raw_bytes_max` (<= LS_JOURNAL_RAW_BYTES_MAX). `continued` is the journal
 * that is gone on with from its append_offset, for this call; NULL: a new one. NO_MEMORY. */
ls_status ls_journal_writer_create(size_t raw_bytes_max, ls_journal *continued,
                                   const ls_allocator *allocator, ls_journal_writer **out);
void ls_journal_writer_destroy(ls_journal_writer *writer);

/* The bytes of a record, and where they belong in the file. */
typedef struct ls_journal_framed {
    const uint8_t *bytes; /* borrowed until the next call */
    size_t size;
    uint64_t offset;
} ls_journal_framed;

/* Frames a record. The first one of a new journal begins with the file's own head, END with the
 * index. The writer forgets the record unless ls_journal_writer_keep says that it is in the file.
 */
ls_journal_framed ls_journal_writer_frame(ls_journal_writer *writer, const ls_journal_raw *raw);
void ls_journal_writer_keep(ls_journal_writer *writer);

LS_C_END

#endif
