#include "lockstep/common/base/byte_stream.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/text.h"

#include <string.h>

ls_byte_stream ls_byte_stream_measure(void)
{
    return (ls_byte_stream){.mode = LS_STREAM_MEASURE, .size = SIZE_MAX};
}

ls_byte_stream ls_byte_stream_write(uint8_t *bytes, size_t size)
{
    return (ls_byte_stream){.mode = LS_STREAM_WRITE, .to = bytes, .size = size};
}

ls_byte_stream ls_byte_stream_read(const uint8_t *bytes, size_t size)
{
    return (ls_byte_stream){.mode = LS_STREAM_READ, .from = bytes, .size = size};
}

void ls_byte_stream_bytes(ls_byte_stream *stream, uint8_t *bytes, size_t size)
{
    stream->has_failed = stream->has_failed || size > stream->size - stream->at;
    if (stream->has_failed || size == 0) {
        return;
    }
    if (stream->mode == LS_STREAM_WRITE) {
        memcpy(stream->to + stream->at, bytes, size);
    } else if (stream->mode == LS_STREAM_READ) {
        memcpy(bytes, stream->from + stream->at, size);
    }
    stream->at += size;
}

void ls_byte_stream_add(ls_byte_stream *stream, const uint8_t *bytes, size_t size)
{
    LS_ASSERT(stream->mode != LS_STREAM_READ);
    ls_byte_stream_bytes(stream, (uint8_t *)(uintptr_t)bytes, size);
}

void ls_byte_stream_u8(ls_byte_stream *stream, uint8_t *value)
{
    uint8_t byte = stream->mode == LS_STREAM_READ ? 0 : *value;
    ls_byte_stream_bytes(stream, &byte, sizeof byte);
    *value = byte;
}

void ls_byte_stream_u32(ls_byte_stream *stream, uint32_t *value)
{
    uint8_t bytes[4] = {0};
    if (stream->mode != LS_STREAM_READ) {
        ls_store_u32(bytes, *value);
    }
    ls_byte_stream_bytes(stream, bytes, sizeof bytes);
    *value = ls_load_u32(bytes);
}

void ls_byte_stream_u64(ls_byte_stream *stream, uint64_t *value)
{
    uint8_t bytes[8] = {0};
    if (stream->mode != LS_STREAM_READ) {
        ls_store_u64(bytes, *value);
    }
    ls_byte_stream_bytes(stream, bytes, sizeof bytes);
    *value = ls_load_u64(bytes);
}

void ls_byte_stream_ranged(ls_byte_stream *stream, uint32_t *value, uint32_t min, uint32_t max)
{
    ls_byte_stream_u32(stream, value);
    if (*value < min || *value > max) {
        stream->has_failed = true;
        *value = min;
    }
}

void ls_byte_stream_text(ls_byte_stream *stream, char *text, size_t capacity)
{
    uint32_t length = 0;
    while (stream->mode != LS_STREAM_READ && length < capacity - 1 && text[length] != '\0') {
        length++;
    }
    ls_byte_stream_ranged(stream, &length, 0, (uint32_t)capacity - 1);
    ls_byte_stream_bytes(stream, (uint8_t *)text, length);
    if (stream->mode != LS_STREAM_READ) {
        return;
    }
    length = stream->has_failed ? 0 : length;
    text[length] = '\0';
    ls_text_make_printable(text, length);
}
