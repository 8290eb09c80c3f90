/* Fuzzes what a door reads of WebSockets: bytes of any kind, at once and in pieces of a size that
 * the first byte says, give the same messages and the same end, and no message is too long. A
 * message that a server writes is, with a mask, read as that. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/door/web_frames.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

enum {
    MESSAGES_MAX = 64,
};

typedef struct outcome {
    uint32_t messages;
    size_t sizes[MESSAGES_MAX];
    uint32_t sums[MESSAGES_MAX];
    uint32_t opcodes[MESSAGES_MAX];
    uint16_t code;
} outcome;

static uint32_t sum_of(const uint8_t *bytes, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum = sum * 31 + bytes[i];
    }
    return sum;
}

static void note(outcome *out, const ls_web_reader *reader)
{
    LS_ASSERT(reader->opcode == LS_WEB_BINARY || reader->opcode >= LS_WEB_CLOSE);
    LS_ASSERT(reader->size <= (reader->opcode == LS_WEB_BINARY ? LS_UDP_DATAGRAM_BYTES_MAX
                                                               : LS_WEB_CONTROL_BYTES_MAX));
    if (out->messages < MESSAGES_MAX) {
        out->sizes[out->messages] = reader->size;
        out->sums[out->messages] = sum_of(reader->bytes, reader->size);
        out->opcodes[out->messages++] = reader->opcode;
    }
}

static outcome read_all(const uint8_t *bytes, size_t size, size_t piece)
{
    ls_web_reader reader = {0};
    outcome out = {0};
    for (size_t at = 0, used = 0; at < size && out.code == 0; at += used) {
        size_t part = size - at < piece ? size - at : piece;
        ls_web_reading reading = ls_web_read(&reader, bytes + at, part, &used);
        LS_ASSERT(used > 0 && used <= part);
        if (reading == LS_WEB_MESSAGE) {
            note(&out, &reader);
        } else if (reading == LS_WEB_WRONG) {
            LS_ASSERT(reader.code >= LS_WEB_CLOSE_PROTOCOL && reader.code <= LS_WEB_CLOSE_TOO_LONG);
            out.code = reader.code;
        } else {
            LS_ASSERT(used == part);
        }
    }
    return out;
}

static void write_and_read(const uint8_t *bytes, size_t size)
{
    uint8_t frame[LS_UDP_DATAGRAM_BYTES_MAX + LS_WEB_HEADER_BYTES_MAX];
    size = size < LS_UDP_DATAGRAM_BYTES_MAX ? size : LS_UDP_DATAGRAM_BYTES_MAX;
    size_t header = ls_web_write_header(frame, LS_WEB_BINARY, size);
    frame[1] |= 0x80;
    memset(frame + header, 0, 4); /* a mask that changes nothing */
    if (size > 0) {
        memcpy(frame + header + 4, bytes, size);
    }
    outcome out = read_all(frame, header + 4 + size, sizeof frame);
    LS_ASSERT(out.messages == 1 && out.sizes[0] == size && out.sums[0] == sum_of(bytes, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    size_t piece = 1u + fuzz_take_u8(&input);
    const outcome whole = read_all(input.bytes, input.size, SIZE_MAX);
    const outcome parts = read_all(input.bytes, input.size, piece);
    LS_ASSERT(memcmp(&whole, &parts, sizeof whole) == 0);
    write_and_read(input.bytes, input.size);
    return 0;
}
