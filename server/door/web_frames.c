#include "lockstep/server/door/web_frames.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/language.h"
#include "lockstep/server/door/sha1.h"

#include <string.h>

enum {
    FIRST_BYTES = 2,
    MASK_BYTES = 4,
    LENGTH_16 = 126,
    LENGTH_64 = 127,
    FINAL = 0x80,
    RESERVED = 0x70,
    OPCODE = 0x0f,
    CONTROL = 0x08, /* in an opcode */
    MASKED = 0x80,
    LENGTH = 0x7f,
};

/* ---- reading ---- */

static ls_web_reading fail(ls_web_reader *reader, uint16_t code)
{
    reader->code = code;
    return LS_WEB_WRONG;
}

/* As its first two bytes say. */
static size_t header_size(const ls_web_reader *reader)
{
    uint32_t length = reader->header[1] & LENGTH;
    size_t more = length == LENGTH_64 ? 8 : length == LENGTH_16 ? 2 : 0;
    return FIRST_BYTES + more + MASK_BYTES;
}

static uint32_t opcode_of(const ls_web_reader *reader)
{
    return reader->header[0] & OPCODE;
}

static bool is_control(const ls_web_reader *reader)
{
    return (reader->header[0] & CONTROL) != 0;
}

static bool is_final(const ls_web_reader *reader)
{
    return (reader->header[0] & FINAL) != 0;
}

/* 0: right so far. The first two bytes are there. */
static uint16_t fault_of_start(const ls_web_reader *reader)
{
    uint32_t opcode = opcode_of(reader);
    bool is_odd = (reader->header[0] & RESERVED) != 0 || (reader->header[1] & MASKED) == 0;
    if (is_control(reader)) {
        is_odd |= opcode > LS_WEB_PONG || !is_final(reader) ||
                  (reader->header[1] & LENGTH) > LS_WEB_CONTROL_BYTES_MAX;
    } else {
        is_odd |=
            opcode > LS_WEB_BINARY || reader->is_in_message != (opcode == LS_WEB_CONTINUATION);
    }
    return is_odd ? LS_WEB_CLOSE_PROTOCOL : opcode == LS_WEB_TEXT ? LS_WEB_CLOSE_TEXT : 0;
}

static uint64_t length_of(const ls_web_reader *reader)
{
    uint64_t length = reader->header[1] & LENGTH;
    size_t end = header_size(reader) - MASK_BYTES;
    if (end > FIRST_BYTES) {
        length = 0;
        for (size_t i = FIRST_BYTES; i < end; i++) {
            length = length << 8 | reader->header[i];
        }
    }
    return length;
}

static bool is_shortest(const ls_web_reader *reader, uint64_t length)
{
    uint32_t first = reader->header[1] & LENGTH;
    return first == LENGTH_64 ? length > UINT16_MAX : first != LENGTH_16 || length >= LENGTH_16;
}

/* The header is whole. 0: right. */
static uint16_t begin_payload(ls_web_reader *reader)
{
    uint64_t length = length_of(reader);
    if (!is_shortest(reader, length)) {
        return LS_WEB_CLOSE_PROTOCOL;
    }
    if (!is_control(reader) && length > sizeof reader->message - reader->message_bytes) {
        return LS_WEB_CLOSE_TOO_LONG;
    }
    reader->payload_left = (size_t)length;
    reader->has_header = true;
    return 0;
}

static size_t read_header(ls_web_reader *reader, const uint8_t *bytes, size_t size, uint16_t *fault)
{
    size_t used = 0;
    while (used < size && !reader->has_header && *fault == 0) {
        reader->header[reader->header_bytes++] = bytes[used++];
        if (reader->header_bytes == FIRST_BYTES) {
            *fault = fault_of_start(reader);
        }
        if (*fault == 0 && reader->header_bytes > FIRST_BYTES &&
            reader->header_bytes == header_size(reader)) {
            *fault = begin_payload(reader);
        }
    }
    return used;
}

static size_t read_payload(ls_web_reader *reader, const uint8_t *bytes, size_t size)
{
    const uint8_t *mask = reader->header + header_size(reader) - MASK_BYTES;
    size_t done = (size_t)length_of(reader) - reader->payload_left;
    size_t part = LS_MIN(size, reader->payload_left);
    uint8_t *to = is_control(reader) ? reader->control + reader->control_bytes
                                     : reader->message + reader->message_bytes;
    for (size_t i = 0; i < part; i++) {
        to[i] = bytes[i] ^ mask[(done + i) % MASK_BYTES];
    }
    *(is_control(reader) ? &reader->control_bytes : &reader->message_bytes) += part;
    reader->payload_left -= part;
    return part;
}

/* A frame has come in whole: the next one begins. */
static ls_web_reading end_frame(ls_web_reader *reader)
{
    reader->header_bytes = 0;
    reader->has_header = false;
    reader->frames++;
    if (is_control(reader)) {
        reader->opcode = (ls_web_opcode)opcode_of(reader);
        reader->bytes = reader->control;
        reader->size = reader->control_bytes;
        reader->control_bytes = 0;
        return LS_WEB_MESSAGE;
    }
    reader->is_in_message = !is_final(reader);
    if (reader->is_in_message) {
        return LS_WEB_MORE;
    }
    reader->opcode = LS_WEB_BINARY;
    reader->bytes = reader->message;
    reader->size = reader->message_bytes;
    reader->message_bytes = 0;
    return LS_WEB_MESSAGE;
}

ls_web_reading ls_web_read(ls_web_reader *reader, const uint8_t *bytes, size_t size, size_t *used)
{
    ls_web_reading reading = LS_WEB_MORE;
    *used = 0;
    while (*used < size && reading == LS_WEB_MORE) {
        uint16_t fault = 0;
        *used += read_header(reader, bytes + *used, size - *used, &fault);
        if (fault != 0) {
            return fail(reader, fault);
        }
        if (reader->has_header) {
            *used += read_payload(reader, bytes + *used, size - *used);
            reading = reader->payload_left == 0 ? end_frame(reader) : LS_WEB_MORE;
        }
    }
    return reading;
}

/* ---- writing ---- */

size_t ls_web_write_header(uint8_t header[LS_WEB_HEADER_OUT_BYTES_MAX], ls_web_opcode opcode,
                           size_t size)
{
    LS_ASSERT(size <= UINT16_MAX);
    header[0] = (uint8_t)(FINAL | opcode);
    if (size < LENGTH_16) {
        header[1] = (uint8_t)size;
        return FIRST_BYTES;
    }
    header[1] = LENGTH_16;
    header[2] = (uint8_t)(size >> 8);
    header[3] = (uint8_t)size;
    return LS_WEB_HEADER_OUT_BYTES_MAX;
}

/* ---- the handshake ---- */

void ls_web_accept(const char *key, char out[LS_WEB_ACCEPT_BYTES])
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    uint8_t hash[LS_SHA1_BYTES + 1] = {0};
    ls_sha1 sha1;
    ls_sha1_begin(&sha1);
    ls_sha1_add(&sha1, key, strlen(key));
    ls_sha1_add(&sha1, guid, sizeof guid - 1);
    ls_sha1_end(&sha1, hash);
    for (uint32_t i = 0; i < LS_WEB_ACCEPT_BYTES - 1; i++) {
        const uint8_t *at = hash + i / 4 * 3;
        uint32_t three = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
        out[i] = all[three >> (18 - 6 * (i % 4)) & 63];
    }
    out[LS_WEB_ACCEPT_BYTES - 2] = '=';
    out[LS_WEB_ACCEPT_BYTES - 1] = '\0';
}
