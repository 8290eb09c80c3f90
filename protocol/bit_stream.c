#include "lockstep/protocol/bit_stream.h"

#include "lockstep/common/base/assert.h"

#include <string.h>

enum {
    UVAR_GROUP_BITS = 4,
    UVAR_GROUPS_MAX = 16
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

static void write_bits(ls_bit_stream *stream, uint64_t value, unsigned bits)
{
    while (bits > 0) {
        size_t byte = stream->position_bits / 8;
        unsigned used = (unsigned)(stream->position_bits % 8);
        unsigned take = 8 - used < bits ? 8 - used : bits;
        unsigned part = (unsigned)(value & ((1u << take) - 1u));
        unsigned kept = used == 0 ? 0 : stream->write_bytes[byte] & ((1u << used) - 1u);
        stream->write_bytes[byte] = (uint8_t)(kept | (part << used));
        stream->position_bits += take;
        value >>= take;
        bits -= take;
    }
}

static uint64_t read_bits(ls_bit_stream *stream, unsigned bits)
{
    uint64_t value = 0;
    unsigned done = 0;
    while (done < bits) {
        size_t byte = stream->position_bits / 8;
        unsigned used = (unsigned)(stream->position_bits % 8);
        unsigned take = 8 - used < bits - done ? 8 - used : bits - done;
        uint64_t part = (stream->read_bytes[byte] >> used) & ((1u << take) - 1u);
        value |= part << done;
        stream->position_bits += take;
        done += take;
    }
    return value;
}

void ls_bits_u64(ls_bit_stream *stream, uint64_t *value, unsigned bits)
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
    *value = read_bits(stream, bits);
}

void ls_bits_u32(ls_bit_stream *stream, uint32_t *value, unsigned bits)
{
    LS_ASSERT(bits <= 32);
    uint64_t wide = ls_bits_is_writing(stream) ? *value : 0;
    ls_bits_u64(stream, &wide, bits);
    *value = (uint32_t)wide;
}

void ls_bits_bool(ls_bit_stream *stream, bool *value)
{
    uint64_t wide = ls_bits_is_writing(stream) ? *value : 0;
    ls_bits_u64(stream, &wide, 1);
    *value = wide != 0;
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

static uint64_t read_uvar(ls_bit_stream *stream)
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

void ls_bits_uvar(ls_bit_stream *stream, uint32_t *value, uint32_t min, uint32_t max)
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

void ls_bits_svar(ls_bit_stream *stream, int32_t *value)
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

void ls_bits_tick16(ls_bit_stream *stream, uint32_t *tick, uint32_t near)
{
    uint32_t low = ls_bits_is_writing(stream) ? *tick & 0xffffu : 0;
    ls_bits_u32(stream, &low, 16);
    if (ls_bits_is_writing(stream)) {
        return;
    }
    uint32_t ahead = (low - near) & 0xffffu;
    *tick = ahead < 0x8000u ? near + ahead : near - (0x10000u - ahead);
}

void ls_bits_text(ls_bit_stream *stream, char *text, size_t capacity)
{
    LS_ASSERT(capacity > 0);
    uint32_t size = ls_bits_is_writing(stream) ? (uint32_t)strlen(text) : 0;
    ls_bits_uvar(stream, &size, 0, (uint32_t)capacity - 1);
    for (uint32_t i = 0; i < size && !stream->is_failed; i++) {
        uint32_t byte = ls_bits_is_writing(stream) ? (uint8_t)text[i] : 0;
        ls_bits_u32(stream, &byte, 8);
        if (!ls_bits_is_writing(stream)) {
            text[i] = byte >= 0x20 && byte < 0x7f ? (char)byte : '?';
        }
    }
    if (!ls_bits_is_writing(stream)) {
        text[stream->is_failed ? 0 : size] = '\0';
    }
}
