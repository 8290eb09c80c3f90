#include "lockstep/common/base/assert.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/common/journal/journal_index.h"

#include <string.h>

struct ls_journal_writer {
    const ls_allocator *allocator;
    size_t raw_bytes_max;
    uint8_t *raw; /* a payload in one piece */
    uint8_t *out;
    size_t out_capacity;
    uint64_t offset; /* of the file's end */
    ls_journal_index index;

    /* The newest framed record, until the store has kept it. */
    size_t pending_bytes;
    ls_journal_index_entry pending; /* kind 0: none */
};

/* ---- life ---- */

/* Takes over the entries that a continued journal's index would name. */
static void adopt_index(ls_journal_writer *writer, ls_journal *continued)
{
    uint64_t place = 0;
    ls_journal_index_entry entry;
    writer->offset = ls_journal_info_of(continued)->append_offset;
    while (ls_journal_next_place(continued, &place, &entry)) {
        if (entry.offset < writer->offset) {
            ls_journal_index_add(&writer->index, entry);
        }
    }
}

ls_status ls_journal_writer_create(size_t raw_bytes_max, ls_journal *continued,
                                   const ls_allocator *allocator, ls_journal_writer **out)
{
    LS_ASSERT(raw_bytes_max <= LS_JOURNAL_RAW_BYTES_MAX);
    size_t index_bytes = LS_JOURNAL_INDEX_BYTES_MAX;
    size_t largest = LS_MAX(raw_bytes_max, index_bytes);
    ls_journal_writer *writer = ls_allocate(allocator, sizeof *writer);
    if (!writer) {
        return LS_NO_MEMORY;
    }
    writer->allocator = allocator;
    writer->raw_bytes_max = largest;
    writer->out_capacity = LS_RECORD_FILE_HEAD_BYTES + 2 * LS_RECORD_MARKED_BYTES +
                           LS_JOURNAL_END_BYTES + ls_compress_bound(largest);
    writer->raw = ls_allocate(allocator, largest);
    writer->out = ls_allocate(allocator, writer->out_capacity);
    if (!writer->raw || !writer->out) {
        ls_journal_writer_destroy(writer);
        return LS_NO_MEMORY;
    }
    if (continued) {
        adopt_index(writer, continued);
    }
    *out = writer;
    return LS_OK;
}

void ls_journal_writer_destroy(ls_journal_writer *writer)
{
    if (!writer) {
        return;
    }
    ls_release(writer->allocator, writer->out);
    ls_release(writer->allocator, writer->raw);
    ls_release(writer->allocator, writer);
}

/* ---- framing ---- */

static void put_frame(ls_journal_writer *writer, ls_journal_kind kind, size_t size)
{
    writer->pending_bytes +=
        ls_record_pack(&ls_journal_format, writer->out + writer->pending_bytes,
                       writer->out_capacity - writer->pending_bytes, kind, writer->raw, size);
}

/* The index, and the END that says where it is. That one is found from the end of the file, so it
 * always has the same size: it is not compressed. */
static void put_end(ls_journal_writer *writer, size_t size)
{
    ls_journal_end end = {0};
    ls_byte_stream told = ls_byte_stream_read(writer->raw, size);
    ls_journal_end_stream(&told, &end);
    LS_ASSERT(!told.has_failed);
    end.index_offset = writer->offset + writer->pending_bytes;
    put_frame(writer, LS_JOURNAL_INDEX, ls_journal_index_write(&writer->index, writer->raw));
    uint8_t *place = writer->out + writer->pending_bytes;
    ls_byte_stream stream =
        ls_byte_stream_write(place + LS_RECORD_MARKED_BYTES, LS_JOURNAL_END_BYTES);
    ls_journal_end_stream(&stream, &end);
    ls_record_seal(
        &ls_journal_format, place,
        &(ls_record){.kind = LS_JOURNAL_END, .stored_bytes = stream.at, .raw_bytes = stream.at});
    writer->pending_bytes += LS_RECORD_MARKED_BYTES + stream.at;
}

static ls_journal_index_entry entry_of(const ls_journal_writer *writer, const ls_journal_raw *raw)
{
    ls_journal_index_entry entry = {
        .kind = raw->kind, .tick = raw->tick, .offset = writer->offset + writer->pending_bytes};
    if (raw->kind == LS_JOURNAL_SNAPSHOT) {
        ls_journal_snapshot snapshot = {0};
        ls_byte_stream stream = ls_byte_stream_read(raw->head, raw->head_bytes);
        ls_journal_snapshot_stream(&stream, &snapshot);
        entry.kind = snapshot.piece == 0 ? LS_JOURNAL_SNAPSHOT : 0;
    } else if (raw->kind != LS_JOURNAL_TICKS) {
        entry.kind = 0;
    }
    return entry;
}

ls_journal_framed ls_journal_writer_frame(ls_journal_writer *writer, const ls_journal_raw *raw)
{
    size_t raw_bytes = raw->head_bytes + raw->size;
    LS_ASSERT(raw->head_bytes <= sizeof raw->head && raw_bytes <= writer->raw_bytes_max);
    writer->pending_bytes = 0;
    if (writer->offset == 0) {
        ls_record_file_begin(&ls_journal_format, writer->out);
        writer->pending_bytes = LS_RECORD_FILE_HEAD_BYTES;
    }
    memcpy(writer->raw, raw->head, raw->head_bytes);
    if (raw->size > 0) {
        memcpy(writer->raw + raw->head_bytes, raw->bytes, raw->size);
    }
    writer->pending = entry_of(writer, raw);
    if (raw->kind == LS_JOURNAL_END) {
        put_end(writer, raw_bytes);
    } else {
        put_frame(writer, raw->kind, raw_bytes);
    }
    return (ls_journal_framed){writer->out, writer->pending_bytes, writer->offset};
}

void ls_journal_writer_keep(ls_journal_writer *writer)
{
    LS_ASSERT(writer->pending_bytes > 0);
    writer->offset += writer->pending_bytes;
    writer->pending_bytes = 0;
    if (writer->pending.kind != 0) {
        ls_journal_index_add(&writer->index, writer->pending);
    }
}
