#include "lockstep/protocol/blob/blob_packet.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/protocol/wire/bit_stream.h"
#include "lockstep/protocol/wire/message.h"

#include <string.h>

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
