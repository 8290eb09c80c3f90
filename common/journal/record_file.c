#include "lockstep/common/journal/record_file.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/byte_stream.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/compress/compress.h"

#include <inttypes.h>
#include <string.h>

enum {
    MARKED_FIELDS_BYTES = 16, /* of a marked head, before its checksum */
    UNMARKED_FIELDS_BYTES = 24,
    FLAG_COMPRESSED = 1,
    KIND_MASK = 0xff, /* of a marked head: its flags stand above */
    FLAGS_SHIFT = 8,
    BUFFER_STEP_BYTES = 64 << 10,
};

/* A hostile file of marks costs no more than a large one. Without marks nothing is looked at twice.
 */
#define PATIENCE_BYTES (UINT64_C(64) << 20)

/* ---- the file's head ---- */

void ls_record_file_begin(const ls_record_format *format, uint8_t head[LS_RECORD_FILE_HEAD_BYTES])
{
    memcpy(head, format->magic, LS_RECORD_MAGIC_BYTES);
    ls_store_u32(head + LS_RECORD_MAGIC_BYTES, format->version);
    ls_store_u32(head + LS_RECORD_MAGIC_BYTES + 4, 0);
}

ls_status ls_record_file_check(const ls_record_format *format, const uint8_t *bytes, size_t size,
                               ls_text *why)
{
    if (size < LS_RECORD_FILE_HEAD_BYTES ||
        memcmp(bytes, format->magic, LS_RECORD_MAGIC_BYTES) != 0) {
        return ls_fail(LS_MALFORMED, why, "this is no %s", format->noun);
    }
    uint32_t version = ls_load_u32(bytes + LS_RECORD_MAGIC_BYTES);
    if (version != format->version) {
        return ls_fail(LS_MALFORMED, why,
                       "this is a %s of format %" PRIu32 ", and this build reads %" PRIu32,
                       format->noun, version, format->version);
    }
    return LS_OK;
}

/* ---- heads of records ---- */

static void marked_stream(ls_byte_stream *stream, uint32_t mark, ls_record *record)
{
    uint32_t flags = record->is_compressed ? FLAG_COMPRESSED : 0;
    uint32_t kind = record->kind | flags << FLAGS_SHIFT;
    uint32_t stored_bytes = (uint32_t)record->stored_bytes;
    uint32_t raw_bytes = (uint32_t)record->raw_bytes;
    ls_byte_stream_ranged(stream, &mark, mark, mark);
    ls_byte_stream_ranged(stream, &kind, 0, KIND_MASK | FLAG_COMPRESSED << FLAGS_SHIFT);
    ls_byte_stream_u32(stream, &stored_bytes);
    ls_byte_stream_u32(stream, &raw_bytes);
    record->kind = kind & KIND_MASK;
    record->is_compressed = kind > KIND_MASK;
    record->stored_bytes = stored_bytes;
    record->raw_bytes = raw_bytes;
}

static void unmarked_stream(ls_byte_stream *stream, ls_record *record)
{
    uint32_t flags = record->is_compressed ? FLAG_COMPRESSED : 0;
    ls_byte_stream_u32(stream, &record->kind);
    ls_byte_stream_ranged(stream, &flags, 0, FLAG_COMPRESSED);
    ls_byte_stream_u64(stream, &record->stored_bytes);
    ls_byte_stream_u64(stream, &record->raw_bytes);
    record->is_compressed = flags != 0;
}

/* All of a head but its checksums. */
static void fields_stream(ls_byte_stream *stream, const ls_record_format *format, ls_record *record)
{
    if (format->mark != 0) {
        marked_stream(stream, format->mark, record);
    } else {
        unmarked_stream(stream, record);
    }
}

/* Of the payload: one number that covers a marked head as well, or one behind the other. */
static uint64_t checksum(const ls_record_format *format, const uint8_t *head, uint64_t stored_bytes)
{
    uint64_t seed = format->mark != 0 ? ls_hash_bytes(head, MARKED_FIELDS_BYTES, 0) : 0;
    return ls_hash_bytes(head + ls_record_head_bytes(format), (size_t)stored_bytes, seed);
}

void ls_record_seal(const ls_record_format *format, uint8_t *place, const ls_record *record)
{
    ls_record sealed = *record;
    ls_byte_stream stream = ls_byte_stream_write(place, ls_record_head_bytes(format));
    fields_stream(&stream, format, &sealed);
    uint64_t sum = checksum(format, place, record->stored_bytes);
    ls_byte_stream_u64(&stream, &sum);
    if (format->mark == 0) {
        uint64_t head_sum = ls_hash_bytes(place, stream.at, 0);
        ls_byte_stream_u64(&stream, &head_sum);
    }
}

size_t ls_record_pack(const ls_record_format *format, uint8_t *place, size_t room, uint32_t kind,
                      const uint8_t *raw, size_t size)
{
    uint32_t head_bytes = ls_record_head_bytes(format);
    size_t stored = ls_pack(raw, size, place + head_bytes, room - head_bytes);
    ls_record_seal(format, place,
                   &(ls_record){.kind = kind,
                                .is_compressed = stored < size,
                                .stored_bytes = stored,
                                .raw_bytes = size});
    return head_bytes + stored;
}

/* All but the checksum of the payload. */
static bool read_head(const ls_record_format *format, const uint8_t *bytes, size_t size,
                      uint64_t offset, ls_record *out)
{
    uint32_t head_bytes = ls_record_head_bytes(format);
    if (offset > size || size - offset < head_bytes) {
        return false;
    }
    const uint8_t *head = bytes + offset;
    ls_byte_stream stream = ls_byte_stream_read(head, head_bytes);
    *out = (ls_record){.offset = offset, .payload = head + head_bytes};
    fields_stream(&stream, format, out);
    bool is_sized = out->is_compressed ? out->stored_bytes < out->raw_bytes
                                       : out->stored_bytes == out->raw_bytes;
    const size_t summed = UNMARKED_FIELDS_BYTES + sizeof(uint64_t);
    return !stream.has_failed && is_sized && out->raw_bytes <= format->raw_bytes_max &&
           out->stored_bytes <= size - offset - head_bytes &&
           (format->mark != 0 || ls_load_u64(head + summed) == ls_hash_bytes(head, summed, 0));
}

static bool is_intact(const ls_record_format *format, const ls_record *record)
{
    const uint8_t *head = record->payload - ls_record_head_bytes(format);
    size_t at = format->mark != 0 ? MARKED_FIELDS_BYTES : UNMARKED_FIELDS_BYTES;
    return ls_load_u64(head + at) == checksum(format, head, record->stored_bytes);
}

bool ls_record_read(const ls_record_format *format, const uint8_t *bytes, size_t size,
                    uint64_t offset, ls_record *out)
{
    ls_record record;
    if (!read_head(format, bytes, size, offset, &record) || !is_intact(format, &record)) {
        return false;
    }
    *out = record;
    return true;
}

/* ---- from record to record ---- */

ls_record_walk ls_record_walk_from(const ls_record_format *format, const uint8_t *bytes,
                                   size_t size, uint64_t offset)
{
    return (ls_record_walk){.format = format,
                            .bytes = bytes,
                            .size = size,
                            .at = LS_MIN(offset, size),
                            .patience = format->mark != 0 ? PATIENCE_BYTES : UINT64_MAX};
}

/* The offset of the next mark at or behind `from`, or the file's size. */
static uint64_t next_mark(const ls_record_walk *walk, uint64_t from)
{
    const size_t behind = sizeof walk->format->mark - 1;
    while (walk->size - from > behind) {
        const uint8_t *found =
            memchr(walk->bytes + from, (uint8_t)walk->format->mark, walk->size - from - behind);
        if (!found) {
            break;
        }
        from = (uint64_t)(found - walk->bytes);
        if (ls_load_u32(found) == walk->format->mark) {
            return from;
        }
        from++;
    }
    return walk->size;
}

static void lose(ls_record_walk *walk, uint64_t to)
{
    if (walk->lost_bytes == 0) {
        walk->lost_offset = walk->at;
    }
    walk->lost_bytes += to - walk->at;
    walk->at = to;
}

bool ls_record_walk_next(ls_record_walk *walk, ls_record *out)
{
    const ls_record_format *format = walk->format;
    uint64_t place = walk->at;
    while (place < walk->size) {
        ls_record record;
        bool has_head = read_head(format, walk->bytes, walk->size, place, &record);
        if (has_head && is_intact(format, &record)) {
            if (place != walk->at) {
                lose(walk, place);
            }
            walk->at = ls_record_end(&record, format);
            *out = record;
            return true;
        }
        uint64_t cost = has_head ? record.stored_bytes : 0;
        if (cost > walk->patience) {
            break;
        }
        walk->patience -= cost;
        if (format->mark != 0) {
            place = next_mark(walk, place + 1);
        } else {
            place = has_head ? ls_record_end(&record, format) : walk->size;
        }
    }
    if (walk->at < walk->size) {
        lose(walk, walk->size);
    }
    return false;
}

/* ---- payloads ---- */

static bool make_room(ls_record_buffer *buffer, size_t bytes)
{
    if (bytes > buffer->capacity) {
        size_t steps = (bytes + BUFFER_STEP_BYTES - 1) / BUFFER_STEP_BYTES;
        ls_release(buffer->allocator, buffer->bytes);
        buffer->bytes = ls_allocate(buffer->allocator, steps * BUFFER_STEP_BYTES);
        buffer->capacity = buffer->bytes ? steps * BUFFER_STEP_BYTES : 0;
        buffer->is_out_of_memory = buffer->is_out_of_memory || !buffer->bytes;
    }
    return bytes <= buffer->capacity;
}

const uint8_t *ls_record_payload(const ls_record *record, ls_record_buffer *buffer)
{
    size_t raw_bytes = (size_t)record->raw_bytes;
    if (!record->is_compressed) {
        return record->payload;
    }
    if (!make_room(buffer, raw_bytes)) {
        return NULL;
    }
    ls_status status =
        ls_decompress(record->payload, (size_t)record->stored_bytes, buffer->bytes, raw_bytes);
    return status == LS_OK ? buffer->bytes : NULL;
}
