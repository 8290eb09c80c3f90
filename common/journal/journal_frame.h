/* Journal frame: how one record stands in the bytes of a journal, and the way from one to the next
 * past what is damaged. Bytes that are read are not trusted. Never allocates.
 * Called by the journal's own files. */
#ifndef LOCKSTEP_COMMON_JOURNAL_JOURNAL_FRAME_H
#define LOCKSTEP_COMMON_JOURNAL_JOURNAL_FRAME_H

#include "lockstep/common/journal/journal.h"

typedef struct ls_journal_frame {
    uint32_t kind;
    bool is_compressed;
    uint32_t stored_bytes; /* of the payload */
    uint32_t raw_bytes;
    uint64_t offset; /* of the frame */
    const uint8_t *payload;
} ls_journal_frame;

/* Where the record after it begins. */
static inline uint64_t ls_journal_frame_end(const ls_journal_frame *frame)
{
    return frame->offset + LS_JOURNAL_FRAME_BYTES + frame->stored_bytes;
}

/* Writes the head of a frame whose payload stands right behind it. */
void ls_journal_frame_write(uint8_t *head, ls_journal_kind kind, bool is_compressed,
                            uint32_t stored_bytes, uint32_t raw_bytes);

/* The intact record at `offset` of the file, or false. */
bool ls_journal_frame_read(const uint8_t *bytes, size_t size, uint64_t offset,
                           ls_journal_frame *out);

typedef struct ls_journal_walk {
    const uint8_t *bytes;
    size_t size;
    uint64_t at;
    uint64_t patience; /* bytes that may still be looked at in vain */
    uint64_t lost_bytes;
    uint64_t lost_offset; /* of the first of them */
} ls_journal_walk;

/* Begins at `offset`, at or behind the file's own head. */
ls_journal_walk ls_journal_walk_from(const uint8_t *bytes, size_t size, uint64_t offset);

/* The next intact record. False at the end; everything that was passed over is counted as lost. */
bool ls_journal_walk_next(ls_journal_walk *walk, ls_journal_frame *out);

#endif
