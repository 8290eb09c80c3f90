#include "lockstep/protocol/wire/bit_stream.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/text.h"

#include <string.h>

enum {
    UVAR_GROUP_BITS = 4,
    UVAR_GROUPS_MAX = 16,
    WORD_BYTES = 8,
    WORD_BITS = 64,
    READ_BITS_MAX = 57, /* what a word holds at least behind the bit that a byte begins with */
};

ls_bit_stream ls_bit_writer(uint8_t *bytes, size_t capacity_bytes)
{
    LS_ASSERT(bytes != NULL);
    return (ls_bit_stream){.write_bytes = bytes, .capacity_bits = capacity_bytes * 8};
}

ls_bit_stream ls_bit_reader(const uint8_t *bytes, size_t size_bytes)
{
    return (ls_bit_stream){.read_bytes = bytes, .capacity_bits = size_bytes * 8};
}

void ls_bits_fail(ls_bit_stream *stream)
{
    stream->is_failed = true;
}

void ls_bits_skip_rest(ls_bit_stream *stream)
{
    if (!stream->is_failed && !ls_bits_is_writing(stream)) {
        stream->position_bits = stream->capacity_bits;
    }
}

bool ls_bits_is_complete(const ls_bit_stream *stream)
{
    size_t left = stream->capacity_bits - stream->position_bits;
    if (stream->is_failed || left >= 8) {
        return false;
    }
    if (left == 0) {
        return true;
    }
    return (stream->read_bytes[stream->position_bits / 8] >> (8 - left)) == 0;
}

/* Byte by byte, for the last bytes of the capacity. */
static void write_bits_at_end(uint8_t *bytes, size_t position_bits, uint64_t value, unsigned bits)
{
    while (bits > 0) {
        size_t byte = position_bits / 8;
        unsigned used = (unsigned)(position_bits % 8);
        unsigned take = 8 - used < bits ? 8 - used : bits;
        unsigned part = (unsigned)(value & ((1u << take) - 1u));
        unsigned kept = used == 0 ? 0 : bytes[byte] & ((1u << used) - 1u);
        bytes[byte] = (uint8_t)(kept | (part << used));
        position_bits += take;
        value >>= take;
        bits -= take;
    }
}

/* Eight bytes are stored at once: those behind the value's are written before they are read. */
static void write_bits(ls_bit_stream *stream, uint64_t value, unsigned bits)
{
    size_t byte = stream->position_bits / 8;
    unsigned used = (unsigned)(stream->position_bits % 8);
    if (byte + WORD_BYTES + 1 > stream->capacity_bits / 8) {
        write_bits_at_end(stream->write_bytes, stream->position_bits, value, bits);
    } else {
        uint8_t *bytes = stream->write_bytes + byte;
        uint64_t kept = bytes[0] & ((1u << used) - 1u);
        ls_store_u64(bytes, kept | value << used);
        if (used + bits > WORD_BITS) {
            bytes[WORD_BYTES] = (uint8_t)(value >> (WORD_BITS - used));
        }
    }
    stream->position_bits += bits;
}

static uint64_t mask_of(unsigned bits)
{
    return UINT64_MAX >> (WORD_BITS - bits);
}

/* Eight bytes are loaded at once: those that begin with the first bit, or the last eight there are.
 * bits <= 57, so that they are all among them. */
LS_TICK_CODE static uint64_t read_bits(ls_bit_stream *stream, unsigned bits)
{
    size_t size = stream->capacity_bits / 8;
    size_t byte = stream->position_bits / 8;
    uint64_t word = 0;
    if (size >= WORD_BYTES) {
        byte = byte < size - WORD_BYTES ? byte : size - WORD_BYTES;
        word = ls_load_u64(stream->read_bytes + byte);
    } else {
        for (size_t i = byte; i < size; i++) {
            word |= (uint64_t)stream->read_bytes[i] << (8 * (i - byte));
        }
    }
    word >>= stream->position_bits - 8 * byte;
    stream->position_bits += bits;
    return word & mask_of(bits);
}

LS_TICK_CODE void ls_bits_u64(ls_bit_stream *stream, uint64_t *value, unsigned bits)
{
    LS_ASSERT(bits >= 1 && bits <= 64);
    if (stream->is_failed || bits > stream->capacity_bits - stream->position_bits) {
        stream->is_failed = true;
        if (!ls_bits_is_writing(stream)) {
            *value = 0;
        }
        return;
    }
    if (ls_bits_is_writing(stream)) {
        LS_ASSERT(bits == 64 || *value >> bits == 0);
        write_bits(stream, *value, bits);
        return;
    }
    unsigned high = bits > READ_BITS_MAX ? bits - READ_BITS_MAX : 0;
    *value = read_bits(stream, bits - high);
    if (high > 0) {
        *value |= read_bits(stream, high) << READ_BITS_MAX;
    }
}

void ls_bits_u32(ls_bit_stream *stream, uint32_t *value, unsigned bits)
{
    LS_ASSERT(bits <= 32);
    uint64_t wide = ls_bits_is_writing(stream) ? *value : 0;
    ls_bits_u64(stream, &wide, bits);
    *value = (uint32_t)wide;
}

LS_TICK_CODE void ls_bits_bool(ls_bit_stream *stream, bool *value)
{
    if (ls_bits_is_writing(stream)) {
        ls_bits_write_bit(stream, *value);
    } else {
        *value = ls_bits_read_bit(stream);
    }
}

void ls_bits_constant(ls_bit_stream *stream, uint32_t value, unsigned bits)
{
    uint32_t read = value;
    ls_bits_u32(stream, &read, bits);
    if (read != value) {
        ls_bits_fail(stream);
    }
}

static void write_uvar(ls_bit_stream *stream, uint64_t value)
{
    do {
        uint64_t group = value & ((1u << UVAR_GROUP_BITS) - 1u);
        value >>= UVAR_GROUP_BITS;
        group |= (uint64_t)(value != 0) << UVAR_GROUP_BITS;
        ls_bits_u64(stream, &group, UVAR_GROUP_BITS + 1);
    } while (value != 0);
}

LS_TICK_CODE static uint64_t read_uvar(ls_bit_stream *stream)
{
    uint64_t value = 0;
    for (unsigned index = 0; index < UVAR_GROUPS_MAX; index++) {
        uint64_t group = 0;
        ls_bits_u64(stream, &group, UVAR_GROUP_BITS + 1);
        uint64_t low = group & ((1u << UVAR_GROUP_BITS) - 1u);
        value |= low << (index * UVAR_GROUP_BITS);
        if (group >> UVAR_GROUP_BITS == 0) {
            if (index > 0 && low == 0) {
                stream->is_failed = true;
            }
            return stream->is_failed ? 0 : value;
        }
    }
    stream->is_failed = true;
    return 0;
}

LS_TICK_CODE void ls_bits_uvar(ls_bit_stream *stream, uint32_t *value, uint32_t min, uint32_t max)
{
    if (ls_bits_is_writing(stream)) {
        LS_ASSERT(*value >= min && *value <= max);
        write_uvar(stream, *value);
        return;
    }
    uint64_t wide = read_uvar(stream);
    if (wide < min || wide > max) {
        stream->is_failed = true;
    }
    *value = stream->is_failed ? min : (uint32_t)wide;
}

LS_TICK_CODE void ls_bits_svar(ls_bit_stream *stream, int32_t *value)
{
    if (ls_bits_is_writing(stream)) {
        int64_t wide = *value;
        write_uvar(stream, wide >= 0 ? (uint64_t)wide << 1 : ((uint64_t)-wide << 1) - 1u);
        return;
    }
    uint64_t wide = read_uvar(stream);
    if (wide > UINT32_MAX) {
        stream->is_failed = true;
    }
    int64_t half = (int64_t)(wide >> 1);
    *value = stream->is_failed ? 0 : (int32_t)(wide & 1u ? -half - 1 : half);
}

LS_TICK_CODE void ls_bits_tick16(ls_bit_stream *stream, uint32_t *tick, uint32_t near)
{
    uint32_t low = ls_bits_is_writing(stream) ? *tick & 0xffffu : 0;
    ls_bits_u32(stream, &low, 16);
    if (ls_bits_is_writing(stream)) {
        return;
    }
    uint32_t ahead = (low - near) & 0xffffu;
    *tick = ahead < 0x8000u ? near + ahead : near - (0x10000u - ahead);
}

void ls_bits_write_bytes(ls_bit_stream *stream, const uint8_t *bytes, size_t size)
{
    LS_ASSERT(ls_bits_is_writing(stream));
    for (; size >= WORD_BYTES; size -= WORD_BYTES, bytes += WORD_BYTES) {
        uint64_t word = ls_load_u64(bytes);
        ls_bits_u64(stream, &word, WORD_BITS);
    }
    for (; size > 0; size--, bytes++) {
        uint32_t byte = *bytes;
        ls_bits_u32(stream, &byte, 8);
    }
}

void ls_bits_read_bytes(ls_bit_stream *stream, uint8_t *bytes, size_t size)
{
    LS_ASSERT(!ls_bits_is_writing(stream));
    for (; size >= WORD_BYTES; size -= WORD_BYTES, bytes += WORD_BYTES) {
        uint64_t word = 0;
        ls_bits_u64(stream, &word, WORD_BITS);
        ls_store_u64(bytes, word);
    }
    for (; size > 0; size--, bytes++) {
        uint32_t byte = 0;
        ls_bits_u32(stream, &byte, 8);
        *bytes = (uint8_t)byte;
    }
}

void ls_bits_text(ls_bit_stream *stream, char *text, size_t capacity)
{
    LS_ASSERT(capacity > 0);
    uint32_t size = ls_bits_is_writing(stream) ? (uint32_t)strlen(text) : 0;
    ls_bits_uvar(stream, &size, 0, (uint32_t)capacity - 1);
    for (uint32_t i = 0; i < size && !stream->is_failed; i++) {
        uint32_t byte = ls_bits_is_writing(stream) ? (uint8_t)text[i] : 0;
        ls_bits_u32(stream, &byte, 8);
        text[i] = (char)byte;
    }
    if (!ls_bits_is_writing(stream)) {
        size = stream->is_failed ? 0 : size;
        text[size] = '\0';
        ls_text_make_printable(text, size);
    }
}
