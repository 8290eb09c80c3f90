#include "lockstep/protocol/blob/blob.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/protocol/wire/bit_stream.h"
#include "lockstep/protocol/wire/message.h"

#include <string.h>

/* One piece of memory holds both strings: the raw one lies as far behind its start as there are
 * frames. A piece in the stream is never larger than it was, so the stream ends before, or where,
 * the piece begins that is compressed next. */
struct ls_blob {
    const ls_allocator *allocator;
    ls_compressor *compressor;
    uint32_t bytes_max;
    uint8_t *memory;
    uint8_t *packed; /* [LS_BLOB_PIECE_BYTES], one piece */

    uint32_t raw_bytes; /* 0 until the first start */
    uint64_t hash;
    bool is_sealed;
    uint32_t pieces; /* compressed */
    uint32_t stream_bytes;
    uint32_t users;
};

ls_status ls_blob_create(uint32_t bytes_max, const ls_allocator *allocator, ls_blob **out)
{
    LS_ASSERT(bytes_max >= 1 && bytes_max <= LS_BLOB_BYTES_MAX);
    ls_blob *blob = ls_allocate(allocator, sizeof *blob);
    if (!blob) {
        return LS_NO_MEMORY;
    }
    blob->allocator = allocator;
    blob->bytes_max = bytes_max;
    blob->compressor = ls_compressor_create(allocator);
    blob->memory = ls_allocate(allocator, ls_blob_stream_bytes_max(bytes_max));
    blob->packed = ls_allocate(allocator, LS_BLOB_PIECE_BYTES);
    if (!blob->compressor || !blob->memory || !blob->packed) {
        ls_blob_destroy(blob);
        return LS_NO_MEMORY;
    }
    *out = blob;
    return LS_OK;
}

void ls_blob_destroy(ls_blob *blob)
{
    if (!blob) {
        return;
    }
    LS_ASSERT(blob->users == 0);
    ls_release(blob->allocator, blob->packed);
    ls_release(blob->allocator, blob->memory);
    ls_compressor_destroy(blob->compressor);
    ls_release(blob->allocator, blob);
}

static uint8_t *raw_of(ls_blob *blob)
{
    return blob->memory + ls_blob_piece_count(blob->raw_bytes) * LS_BLOB_FRAME_BYTES;
}

uint32_t ls_blob_bytes_max(const ls_blob *blob)
{
    return blob->bytes_max;
}

uint8_t *ls_blob_start(ls_blob *blob, uint32_t bytes)
{
    LS_ASSERT(bytes >= 1 && bytes <= blob->bytes_max && blob->users == 0);
    blob->raw_bytes = bytes;
    blob->is_sealed = false;
    blob->pieces = 0;
    blob->stream_bytes = 0;
    return raw_of(blob);
}

void ls_blob_seal(ls_blob *blob)
{
    LS_ASSERT(blob->raw_bytes > 0 && !blob->is_sealed);
    blob->hash = ls_hash_bytes(raw_of(blob), blob->raw_bytes, 0);
    blob->is_sealed = true;
}

uint32_t ls_blob_bytes(const ls_blob *blob)
{
    LS_ASSERT(blob->is_sealed);
    return blob->raw_bytes;
}

uint64_t ls_blob_hash(const ls_blob *blob)
{
    LS_ASSERT(blob->is_sealed);
    return blob->hash;
}

static void compress_piece(ls_blob *blob)
{
    uint32_t start = blob->pieces * LS_BLOB_PIECE_BYTES;
    uint32_t left = blob->raw_bytes - start;
    uint32_t size = LS_MIN(left, LS_BLOB_PIECE_BYTES);
    const uint8_t *raw = raw_of(blob) + start;
    uint8_t *out = blob->memory + blob->stream_bytes;
    size_t packed = ls_compressor_run(blob->compressor, raw, size, blob->packed, size - 1);
    uint32_t written = packed > 0 ? (uint32_t)packed : size;
    LS_ASSERT(out + LS_BLOB_FRAME_BYTES <= raw);
    memmove(out + LS_BLOB_FRAME_BYTES, packed > 0 ? blob->packed : raw, written);
    ls_store_u32(out, written);
    blob->stream_bytes += LS_BLOB_FRAME_BYTES + written;
    blob->pieces++;
}

bool ls_blob_advance(ls_blob *blob, uint32_t pieces)
{
    LS_ASSERT(blob->is_sealed);
    for (; pieces > 0 && !ls_blob_is_compressed(blob); pieces--) {
        compress_piece(blob);
    }
    return ls_blob_is_compressed(blob);
}

bool ls_blob_is_compressed(const ls_blob *blob)
{
    return blob->is_sealed && blob->pieces == ls_blob_piece_count(blob->raw_bytes);
}

uint32_t ls_blob_part_count(const ls_blob *blob)
{
    uint32_t open = ls_blob_is_compressed(blob) ? LS_BLOB_PART_BYTES - 1 : 0;
    return (blob->stream_bytes + open) / LS_BLOB_PART_BYTES;
}

ls_blob_part ls_blob_part_at(const ls_blob *blob, uint32_t index)
{
    LS_ASSERT(index < ls_blob_part_count(blob));
    uint32_t start = index * LS_BLOB_PART_BYTES;
    uint32_t left = blob->stream_bytes - start;
    return (ls_blob_part){
        /* Of a stream that is not at its end, more is to come behind any part. */
        .is_last = ls_blob_is_compressed(blob) && left <= LS_BLOB_PART_BYTES,
        .index = index,
        .size = LS_MIN(left, LS_BLOB_PART_BYTES),
        .bytes = blob->memory + start,
    };
}

void ls_blob_add_user(ls_blob *blob)
{
    LS_ASSERT(blob->is_sealed);
    blob->users++;
}

void ls_blob_remove_user(ls_blob *blob)
{
    LS_ASSERT(blob->users > 0);
    blob->users--;
}

bool ls_blob_is_in_use(const ls_blob *blob)
{
    return blob->users > 0;
}

/* ---- blob packet ---- */

enum {
    PART_HEADER_BYTES = 9,
    CHECK_BYTES = 4,
    PART_BITS = 25,
};

uint32_t ls_blob_piece_count(uint32_t raw_bytes)
{
    return (raw_bytes + LS_BLOB_PIECE_BYTES - 1) / LS_BLOB_PIECE_BYTES;
}

uint32_t ls_blob_stream_bytes_max(uint32_t raw_bytes)
{
    return raw_bytes + ls_blob_piece_count(raw_bytes) * LS_BLOB_FRAME_BYTES;
}

/* ---- the check at the end ---- */

static uint32_t check_of(const uint8_t *bytes, size_t size)
{
    return (uint32_t)ls_hash_bytes(bytes, size, 0);
}

static size_t write_check(uint8_t *bytes, size_t size)
{
    ls_store_u32(bytes + size, check_of(bytes, size));
    return size + CHECK_BYTES;
}

/* Bytes before the check, or 0 when it is missing or does not fit. */
static size_t checked_size(const uint8_t *bytes, size_t size)
{
    if (size <= CHECK_BYTES || size > LS_PACKET_BYTES_MAX) {
        return 0;
    }
    size -= CHECK_BYTES;
    return ls_load_u32(bytes + size) == check_of(bytes, size) ? size : 0;
}

/* ---- BLOB_PART ---- */

static void part_header_bits(ls_bit_stream *stream, ls_blob_part *part)
{
    ls_bits_constant(stream, LS_MESSAGE_BLOB_PART, LS_MESSAGE_KIND_BITS);
    ls_bits_u32(stream, &part->blob, 8);
    ls_bits_bool(stream, &part->is_last);
    ls_bits_u32(stream, &part->index, PART_BITS);
    ls_bits_u32(stream, &part->packet, 32);
}

size_t ls_blob_part_write(const ls_blob_part *part, uint8_t bytes[LS_PACKET_BYTES_MAX])
{
    LS_ASSERT(part->is_last ? part->size >= 1 && part->size <= LS_BLOB_PART_BYTES
                            : part->size == LS_BLOB_PART_BYTES);
    ls_blob_part header = *part;
    ls_bit_stream stream = ls_bit_writer(bytes, PART_HEADER_BYTES);
    part_header_bits(&stream, &header);
    LS_ASSERT(!stream.is_failed && ls_bits_size_bytes(&stream) == PART_HEADER_BYTES);
    memcpy(bytes + PART_HEADER_BYTES, part->bytes, part->size);
    return write_check(bytes, PART_HEADER_BYTES + part->size);
}

ls_status ls_blob_part_read(const uint8_t *bytes, size_t size, ls_blob_part *out)
{
    size_t checked = checked_size(bytes, size);
    if (checked <= PART_HEADER_BYTES) {
        return LS_MALFORMED;
    }
    ls_blob_part part = {.size = (uint32_t)checked - PART_HEADER_BYTES,
                         .bytes = bytes + PART_HEADER_BYTES};
    ls_bit_stream stream = ls_bit_reader(bytes, PART_HEADER_BYTES);
    part_header_bits(&stream, &part);
    if (stream.is_failed || part.size > LS_BLOB_PART_BYTES ||
        (!part.is_last && part.size != LS_BLOB_PART_BYTES)) {
        return LS_MALFORMED;
    }
    *out = part;
    return LS_OK;
}

/* ---- BLOB_ACK ---- */

static void ack_bits(ls_bit_stream *stream, ls_blob_ack *ack)
{
    ls_bits_constant(stream, LS_MESSAGE_BLOB_ACK, LS_MESSAGE_KIND_BITS);
    ls_bits_u32(stream, &ack->blob, 8);
    ls_bits_u32(stream, &ack->first, PART_BITS);
    ls_bits_u32(stream, &ack->received, 32);
    ls_bits_u32(stream, &ack->newest, 32);
    ls_bits_u32(stream, &ack->hold, 8);
    ls_bits_uvar(stream, &ack->count, 0, LS_BLOB_ACK_PARTS - 1);
    for (uint32_t i = 0; i < ack->count; i++) {
        bool has = (ack->has[i / 8] >> (i % 8) & 1u) != 0;
        ls_bits_bool(stream, &has);
        ack->has[i / 8] |= (uint8_t)(has ? 1u << (i % 8) : 0u);
    }
}

size_t ls_blob_ack_write(const ls_blob_ack *ack, uint8_t bytes[LS_PACKET_BYTES_MAX])
{
    ls_blob_ack written = *ack;
    ls_bit_stream stream = ls_bit_writer(bytes, LS_PACKET_BYTES_MAX - CHECK_BYTES);
    ack_bits(&stream, &written);
    LS_ASSERT(!stream.is_failed);
    return write_check(bytes, ls_bits_size_bytes(&stream));
}

ls_status ls_blob_ack_read(const uint8_t *bytes, size_t size, ls_blob_ack *out)
{
    ls_blob_ack ack;
    memset(&ack, 0, sizeof ack);
    ls_bit_stream stream = ls_bit_reader(bytes, checked_size(bytes, size));
    ack_bits(&stream, &ack);
    if (!ls_bits_is_complete(&stream)) {
        return LS_MALFORMED;
    }
    *out = ack;
    return LS_OK;
}
