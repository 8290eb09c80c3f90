/* Record file: how journals and desync bundles stand in bytes: the file's own head, then records,
 * each with a head, a checksum and a payload that may be compressed; and the way from one record to
 * the next past what is damaged. JOURNAL.md is the format. Bytes that are read are not trusted.
 * Allocates nothing but a buffer for what was compressed. */
#ifndef LOCKSTEP_COMMON_JOURNAL_RECORD_FILE_H
#define LOCKSTEP_COMMON_JOURNAL_RECORD_FILE_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS_RECORD_FILE_HEAD_BYTES 16u
#define LS_RECORD_MAGIC_BYTES 8u

/* The heads of records. Only after a MARKED one can a reader go on behind a damaged head. */
#define LS_RECORD_MARKED_BYTES 24u
#define LS_RECORD_UNMARKED_BYTES 40u

typedef struct ls_record_format {
    const char *noun;  /* "journal": for sentences */
    const char *magic; /* LS_RECORD_MAGIC_BYTES of it */
    uint32_t version;
    uint32_t mark; /* that a record begins with; 0: heads are UNMARKED */
    uint64_t raw_bytes_max;
} ls_record_format;

typedef struct ls_record {
    uint32_t kind;
    bool is_compressed;
    uint64_t stored_bytes; /* of the payload in the file */
    uint64_t raw_bytes;    /* of it before it was compressed */
    uint64_t offset;       /* of the record's head in the file */
    const uint8_t *payload;
} ls_record;

static inline uint32_t ls_record_head_bytes(const ls_record_format *format)
{
    return format->mark != 0 ? LS_RECORD_MARKED_BYTES : LS_RECORD_UNMARKED_BYTES;
}

/* Where the record after it begins. */
static inline uint64_t ls_record_end(const ls_record *record, const ls_record_format *format)
{
    return record->offset + ls_record_head_bytes(format) + record->stored_bytes;
}

/* ---- writing ---- */

void ls_record_file_begin(const ls_record_format *format, uint8_t head[LS_RECORD_FILE_HEAD_BYTES]);

/* Writes the head of a record at `place`, whose payload stands right behind it. */
void ls_record_seal(const ls_record_format *format, uint8_t *place, const ls_record *record);

/* Writes a record at `place`, compressed where that pays; returns its bytes. `room` has a head and
 * ls_compress_bound(size) at least. */
size_t ls_record_pack(const ls_record_format *format, uint8_t *place, size_t room, uint32_t kind,
                      const uint8_t *raw, size_t size);

/* ---- reading ---- */

/* MALFORMED, explained, when the file is of another kind or version. */
ls_status ls_record_file_check(const ls_record_format *format, const uint8_t *bytes, size_t size,
                               ls_text *why);

/* The intact record at `offset` of the file, or false. */
bool ls_record_read(const ls_record_format *format, const uint8_t *bytes, size_t size,
                    uint64_t offset, ls_record *out);

typedef struct ls_record_walk {
    const ls_record_format *format;
    const uint8_t *bytes;
    size_t size;
    uint64_t at;
    uint64_t patience; /* bytes that may still be looked at in vain */
    uint64_t lost_bytes;
    uint64_t lost_offset; /* of the first of them */
} ls_record_walk;

/* Begins at `offset`, at or behind the file's own head. */
ls_record_walk ls_record_walk_from(const ls_record_format *format, const uint8_t *bytes,
                                   size_t size, uint64_t offset);

/* The next intact record. False at the end; everything that was passed over is counted as lost. */
bool ls_record_walk_next(ls_record_walk *walk, ls_record *out);

/* Room for a payload, which grows as it must; its owner releases `bytes`. */
typedef struct ls_record_buffer {
    const ls_allocator *allocator;
    uint8_t *bytes;
    size_t capacity;
    bool is_out_of_memory; /* for one payload at least */
} ls_record_buffer;

/* The payload as it was before it was compressed: borrowed from the file, or put into `buffer`.
 * NULL when it is damaged after all, or memory is out. */
const uint8_t *ls_record_payload(const ls_record *record, ls_record_buffer *buffer);

#endif
