/* Bit stream: one cursor over a packet's bits for writing and for reading, so that a message has
 * one field list for both. Writing asserts its ranges; reading checks them: a read past the end or
 * out of range sets `is_failed`, gives zero, and every later call does the same. Never allocates.
 * Layouts: PROTOCOL.md. */
#ifndef LOCKSTEP_PROTOCOL_WIRE_BIT_STREAM_H
#define LOCKSTEP_PROTOCOL_WIRE_BIT_STREAM_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

typedef struct ls_bit_stream {
    uint8_t *write_bytes;      /* NULL when reading */
    const uint8_t *read_bytes; /* NULL when writing */
    size_t capacity_bits;
    size_t position_bits;
    bool is_failed; /* reading: malformed; writing: did not fit */
} ls_bit_stream;

/* The bytes are borrowed for the stream's life. A writer's bytes need not be zero. */
ls_bit_stream ls_bit_writer(uint8_t *bytes, size_t capacity_bytes);
ls_bit_stream ls_bit_reader(const uint8_t *bytes, size_t size_bytes);

static inline bool ls_bits_is_writing(const ls_bit_stream *stream)
{
    return stream->write_bytes != NULL;
}

/* Whole bytes used so far. */
static inline size_t ls_bits_size_bytes(const ls_bit_stream *stream)
{
    return (stream->position_bits + 7) / 8;
}

/* Marks a reader as failed, for a value that is well-formed but not allowed. */
void ls_bits_fail(ls_bit_stream *stream);

/* Reading: passes over everything that is left. Writing: does nothing. */
void ls_bits_skip_rest(ls_bit_stream *stream);

/* Reading: true when nothing failed and only zero padding of less than a byte is left. */
bool ls_bits_is_complete(const ls_bit_stream *stream);

/* A single bit in one direction, for the loops that look at one per input and byte. */
static inline bool ls_bits_read_bit(ls_bit_stream *stream)
{
    size_t position = stream->position_bits;
    if (stream->is_failed || position >= stream->capacity_bits) {
        stream->is_failed = true;
        return false;
    }
    stream->position_bits = position + 1;
    return (stream->read_bytes[position / 8] >> (position % 8) & 1u) != 0;
}

static inline void ls_bits_write_bit(ls_bit_stream *stream, bool bit)
{
    size_t position = stream->position_bits;
    if (stream->is_failed || position >= stream->capacity_bits) {
        stream->is_failed = true;
        return;
    }
    unsigned used = (unsigned)(position % 8);
    uint8_t *byte = &stream->write_bytes[position / 8];
    *byte = (uint8_t)((*byte & ((1u << used) - 1u)) | (unsigned)bit << used);
    stream->position_bits = position + 1;
}

/* 1 <= bits <= 64; a written value fits. */
void ls_bits_u64(ls_bit_stream *stream, uint64_t *value, unsigned bits);
void ls_bits_u32(ls_bit_stream *stream, uint32_t *value, unsigned bits); /* bits <= 32 */
void ls_bits_bool(ls_bit_stream *stream, bool *value);

/* A value that both sides know: another one fails when read. */
void ls_bits_constant(ls_bit_stream *stream, uint32_t value, unsigned bits);

/* uvar and svar; a value outside [min, max] fails when read. */
void ls_bits_uvar(ls_bit_stream *stream, uint32_t *value, uint32_t min, uint32_t max);
void ls_bits_svar(ls_bit_stream *stream, int32_t *value);

/* tick16: `near` is the tick the reader expects, within 32,767 of the true one. */
void ls_bits_tick16(ls_bit_stream *stream, uint32_t *tick, uint32_t near);

/* `size` times u8. */
void ls_bits_write_bytes(ls_bit_stream *stream, const uint8_t *bytes, size_t size);
void ls_bits_read_bytes(ls_bit_stream *stream, uint8_t *bytes, size_t size);

/* text: at most capacity-1 bytes and a final NUL; reading makes it printable (text.h). */
void ls_bits_text(ls_bit_stream *stream, char *text, size_t capacity);

LS_C_END

#endif
