#include "lockstep/server/broadcast/segments.h"

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/journal/journal_index.h"

#include <string.h>

enum {
    SEGMENT_S = 2, /* of ticks, before the next one begins */
    SEGMENTS_MAX = 1 << 17,
    FIRST_ROOM = 64,
};

typedef struct list {
    void *items;
    uint32_t count, capacity;
} list;

struct ls_segments {
    const ls_allocator *allocator;
    uint64_t offset; /* of what has not been read */
    bool has_header, is_public, is_over;
    ls_journal_header header;
    ls_record_buffer raw; /* the payload of a record */
    list closed;          /* segments */
    list runs;            /* of all segments, in their order */
    ls_segment open;      /* the newest one, which grows */
    ls_journal_snapshot snapshot;
    uint32_t pieces; /* of it that the open segment has; 0: none is begun */
    ls_tick_block_reader block;
};

ls_status ls_segments_create(const ls_allocator *allocator, ls_segments **out)
{
    ls_segments *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->allocator = allocator;
    made->raw.allocator = allocator;
    *out = made;
    return LS_OK;
}

void ls_segments_destroy(ls_segments *segments)
{
    if (segments) {
        const ls_allocator *allocator = segments->allocator;
        ls_release(allocator, segments->raw.bytes);
        ls_release(allocator, segments->closed.items);
        ls_release(allocator, segments->runs.items);
        ls_release(allocator, segments);
    }
}

/* ---- lists ---- */

/* Room for one more behind the others; NULL: memory is out, or there are too many. */
static void *append(ls_segments *segments, list *to, size_t item_bytes)
{
    if (to->count == to->capacity) {
        uint32_t capacity = to->capacity > 0 ? 2 * to->capacity : FIRST_ROOM;
        void *items = capacity <= 4 * SEGMENTS_MAX
                          ? ls_allocate(segments->allocator, capacity * item_bytes)
                          : NULL;
        if (!items) {
            segments->is_over = true;
            return NULL;
        }
        if (to->count > 0) {
            memcpy(items, to->items, to->count * item_bytes);
        }
        ls_release(segments->allocator, to->items);
        to->items = items;
        to->capacity = capacity;
    }
    return (uint8_t *)to->items + item_bytes * to->count++;
}

/* Records that stand behind one another are one run. */
static void add_record(ls_segments *segments, uint64_t offset, uint64_t bytes)
{
    ls_segment *open = &segments->open;
    ls_segment_run *last = open->run_count > 0
                               ? (ls_segment_run *)segments->runs.items + segments->runs.count - 1
                               : NULL;
    open->bytes += bytes;
    if (last && last->offset + last->bytes == offset) {
        last->bytes += bytes;
        return;
    }
    ls_segment_run *run = append(segments, &segments->runs, sizeof *run);
    if (run) {
        *run = (ls_segment_run){offset, bytes};
        open->run_count++;
    }
}

/* ---- where one ends ---- */

static void begin(ls_segments *segments, ls_tick first_tick)
{
    segments->open = (ls_segment){
        .first_tick = first_tick, .end_tick = first_tick, .first_run = segments->runs.count};
    segments->pieces = 0;
}

static void close_open(ls_segments *segments, ls_tick next_tick, uint64_t now_ns)
{
    if (segments->open.run_count > 0) {
        ls_segment *kept = append(segments, &segments->closed, sizeof *kept);
        if (kept) {
            *kept = segments->open;
            kept->came_ns = now_ns;
        }
    }
    begin(segments, next_tick);
}

static bool is_long_enough(const ls_segments *segments, ls_tick first)
{
    const ls_segment *open = &segments->open;
    bool is_in_snapshot = segments->pieces > 0 && !open->is_key;
    uint32_t ticks = SEGMENT_S * segments->header.config.tick_rate_hz;
    return !is_in_snapshot && open->end_tick - open->first_tick >= ticks && first >= open->end_tick;
}

static void on_ticks(ls_segments *segments, const uint8_t *raw, size_t size, uint64_t now_ns)
{
    const ls_journal_header *header = &segments->header;
    if (ls_tick_block_open(&segments->block, raw, size, header->config.players,
                           header->input_bytes_max) != LS_OK) {
        return;
    }
    const ls_tick_block_head *head = &segments->block.head;
    if (is_long_enough(segments, head->first)) {
        close_open(segments, head->first, now_ns);
    }
    segments->open.end_tick = head->first + head->count;
}

static void on_piece(ls_segments *segments, const uint8_t *raw, size_t size, uint64_t now_ns)
{
    ls_journal_snapshot head = {0};
    ls_byte_stream stream = ls_byte_stream_read(raw, size);
    ls_journal_snapshot_stream(&stream, &head);
    if (stream.has_failed) {
        return;
    }
    if (head.piece == 0) {
        close_open(segments, head.tick, now_ns);
        segments->snapshot = head;
    } else if (segments->pieces != head.piece || head.tick != segments->snapshot.tick) {
        segments->pieces = 0; /* of another one: the segment is of no use without those before */
        return;
    }
    segments->pieces = head.piece + 1;
    segments->open.is_key = segments->pieces == ls_journal_pieces(segments->snapshot.state_bytes);
}

/* ---- records ---- */

static void on_header(ls_segments *segments, const uint8_t *raw, size_t size)
{
    ls_journal_header *header = &segments->header;
    ls_byte_stream stream = ls_byte_stream_read(raw, size);
    ls_journal_header_stream(&stream, header);
    segments->has_header = ls_byte_stream_is_at_end(&stream) && header->config.tick_rate_hz > 0;
    segments->is_over = !segments->has_header;
    ls_cipher_wipe(&header->key, sizeof header->key);
    header->print = (ls_build_fingerprint){0};
    begin(segments, header->first_tick);
    segments->open.is_key = header->first_tick == 0;
}

static void on_event(ls_segments *segments, const uint8_t *raw, size_t size)
{
    ls_journal_event event = {0};
    ls_byte_stream stream = ls_byte_stream_read(raw, size);
    ls_journal_event_stream(&stream, &event);
    segments->is_public =
        segments->is_public || (!stream.has_failed && event.kind == LS_JOURNAL_EVENT_PUBLIC);
}

/* Names and reasons of people stand in events, places of the file in INDEX: both stay here. */
static void on_record(ls_segments *segments, const ls_record *record, uint64_t offset,
                      uint64_t now_ns)
{
    const uint8_t *raw = ls_record_payload(record, &segments->raw);
    size_t size = (size_t)record->raw_bytes;
    bool is_shown = record->kind == LS_JOURNAL_TICKS || record->kind == LS_JOURNAL_SNAPSHOT ||
                    record->kind == LS_JOURNAL_END;
    segments->is_over = !raw || (record->kind == LS_JOURNAL_HEADER) == segments->has_header ||
                        (is_shown && !segments->is_public);
    if (segments->is_over) {
        return;
    }
    switch (record->kind) {
    case LS_JOURNAL_HEADER:
        on_header(segments, raw, size);
        return;
    case LS_JOURNAL_EVENT:
        on_event(segments, raw, size);
        return;
    case LS_JOURNAL_TICKS:
        on_ticks(segments, raw, size, now_ns);
        break;
    case LS_JOURNAL_SNAPSHOT:
        on_piece(segments, raw, size, now_ns);
        break;
    case LS_JOURNAL_END:
        break;
    default:
        return;
    }
    add_record(segments, offset, ls_record_end(record, &ls_journal_format) - record->offset);
    if (record->kind == LS_JOURNAL_END) {
        close_open(segments, segments->open.end_tick, now_ns);
        segments->is_over = true;
    }
}

/* The size of what was read; 0: the rest of it is still to come. */
static size_t read_one(ls_segments *segments, const uint8_t *bytes, size_t size, uint64_t now_ns)
{
    ls_record record;
    ls_text why;
    if (segments->offset == 0) {
        if (size < LS_RECORD_FILE_HEAD_BYTES) {
            return 0;
        }
        segments->is_over = ls_record_file_check(&ls_journal_format, bytes, size, &why) != LS_OK;
        return LS_RECORD_FILE_HEAD_BYTES;
    }
    if (!ls_record_read(&ls_journal_format, bytes, size, 0, &record)) {
        segments->is_over = size >= LS_SEGMENTS_READ_BYTES;
        return 0;
    }
    on_record(segments, &record, segments->offset, now_ns);
    return (size_t)ls_record_end(&record, &ls_journal_format);
}

void ls_segments_read(ls_segments *segments, const uint8_t *bytes, size_t size, uint64_t now_ns)
{
    size_t read = 1;
    for (size_t at = 0; read > 0 && !segments->is_over; at += read) {
        read = read_one(segments, bytes + at, size - at, now_ns);
        segments->offset += read;
    }
}

/* ---- questions ---- */

uint64_t ls_segments_offset(const ls_segments *segments)
{
    return segments->offset;
}

bool ls_segments_are_public(const ls_segments *segments)
{
    return segments->is_public;
}

bool ls_segments_are_over(const ls_segments *segments)
{
    return segments->is_over;
}

uint32_t ls_segments_count(const ls_segments *segments)
{
    return segments->closed.count;
}

const ls_segment *ls_segments_at(const ls_segments *segments, uint32_t number)
{
    return (const ls_segment *)segments->closed.items + number;
}

const ls_segment_run *ls_segments_runs(const ls_segments *segments, const ls_segment *segment)
{
    return (const ls_segment_run *)segments->runs.items + segment->first_run;
}

const ls_journal_header *ls_segments_header(const ls_segments *segments)
{
    return segments->has_header ? &segments->header : NULL;
}

size_t ls_segments_write_head(const ls_segments *segments, const ls_segment *segment,
                              uint8_t out[LS_SEGMENT_HEAD_BYTES_MAX])
{
    ls_journal_header header = segments->header;
    uint8_t *place = out + LS_RECORD_FILE_HEAD_BYTES;
    header.first_tick = segment->first_tick;
    ls_record_file_begin(&ls_journal_format, out);
    ls_byte_stream stream =
        ls_byte_stream_write(place + LS_RECORD_MARKED_BYTES, LS_JOURNAL_HEADER_BYTES_MAX);
    ls_journal_header_stream(&stream, &header);
    const ls_record record = {
        .kind = LS_JOURNAL_HEADER, .stored_bytes = stream.at, .raw_bytes = stream.at};
    ls_record_seal(&ls_journal_format, place, &record);
    return LS_RECORD_FILE_HEAD_BYTES + LS_RECORD_MARKED_BYTES + stream.at;
}
