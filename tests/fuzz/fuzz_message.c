/* Fuzzes the reading of packets. A result that was read is written again and must read the same.
 *
 *   u8 what   lowest two bits: 0 a reliable message, 1 INPUTS, 2 TICKS, 3 TICK_PART
 *             the other six: players that a START has, or slots that a TICKS has
 *   u32 near  the tick that the reader expects; not for reliable messages and parts
 *   packet    everything that is left
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

enum {
    WHAT_MESSAGE,
    WHAT_INPUTS,
    WHAT_TICKS,
    WHAT_PART,
    SLOTS_MAX = 4,
    INPUT_BYTES_MAX = 40,
};

/* Of which no more is read than whose it is. */
static bool is_foreign_hello(const ls_message *message)
{
    return message->kind == LS_MESSAGE_HELLO &&
           (message->body.hello.magic != LS_PROTOCOL_MAGIC ||
            message->body.hello.protocol_version != LS_PROTOCOL_VERSION);
}

static void check_message(const uint8_t *bytes, size_t size, uint32_t players)
{
    static ls_message message;
    static ls_message again;
    uint8_t rewritten[LS_PACKET_BYTES_MAX];
    if (ls_message_read(bytes, size, players, &message) != LS_OK) {
        return;
    }
    LS_ASSERT(ls_message_peek(bytes, size) == (uint32_t)message.kind);
    size_t written = ls_message_write(&message, rewritten);
    LS_ASSERT(written == size || (is_foreign_hello(&message) && written < size));
    LS_ASSERT(ls_message_read(rewritten, written, players, &again) == LS_OK);
    LS_ASSERT(memcmp(&message, &again, sizeof message) == 0);
}

/* ---- packets with ticks ---- */

/* INPUTS and TICKS are alike but for their headers and how a tick is coded. */
typedef struct tick_format {
    bool is_inputs;
    uint32_t slots;
    uint32_t near;
    ls_inputs_header inputs;
    ls_ticks_header ticks;
} tick_format;

static void header_bits(ls_bit_stream *stream, tick_format *format)
{
    if (format->is_inputs) {
        ls_inputs_header_bits(stream, &format->inputs, format->near);
    } else {
        ls_ticks_header_bits(stream, &format->ticks, format->near);
    }
}

static bool read_tick(ls_bit_stream *stream, const tick_format *format, ls_tick_cursor *cursor)
{
    return format->is_inputs ? ls_inputs_read_tick(stream, cursor)
                             : ls_ticks_read_tick(stream, cursor);
}

static bool write_tick(ls_bit_stream *stream, const tick_format *format,
                       const ls_slot_input *before, const ls_slot_input *inputs)
{
    return format->is_inputs ? ls_inputs_write_tick(stream, before, inputs)
                             : ls_ticks_write_tick(stream, format->slots, before, inputs);
}

/* A tick's inputs in memory of their own. */
typedef struct kept_tick {
    uint8_t bytes[SLOTS_MAX][INPUT_BYTES_MAX];
    ls_slot_input inputs[SLOTS_MAX];
} kept_tick;

static void keep(kept_tick *kept, const ls_tick_cursor *cursor)
{
    for (uint32_t slot = 0; slot < cursor->slot_count; slot++) {
        LS_ASSERT(cursor->sizes[slot] <= INPUT_BYTES_MAX);
        memcpy(kept->bytes[slot], cursor->bytes[slot], cursor->sizes[slot]);
        kept->inputs[slot] =
            (ls_slot_input){kept->bytes[slot], cursor->sizes[slot], cursor->events[slot]};
    }
}

static bool is_same(const ls_tick_cursor *a, const ls_tick_cursor *b)
{
    for (uint32_t slot = 0; slot < a->slot_count; slot++) {
        if (a->sizes[slot] != b->sizes[slot] || a->events[slot] != b->events[slot] ||
            memcmp(a->bytes[slot], b->bytes[slot], a->sizes[slot]) != 0) {
            return false;
        }
    }
    return true;
}

/* Writes the packet's ticks again; returns the size of the whole packet. The stream has its header.
 */
static size_t rewrite(ls_bit_stream original, tick_format *format, uint8_t *bytes, size_t capacity)
{
    static ls_tick_cursor cursor;
    static kept_tick kept[2];
    unsigned newest = 0;
    ls_bit_stream stream = ls_bit_writer(bytes, capacity);
    header_bits(&stream, format);
    LS_ASSERT(!stream.is_failed);
    ls_tick_cursor_start(&cursor, format->slots, INPUT_BYTES_MAX, NULL);
    keep(&kept[0], &cursor);
    while (read_tick(&original, format, &cursor)) {
        newest ^= 1u;
        keep(&kept[newest], &cursor);
        LS_ASSERT(write_tick(&stream, format, kept[newest ^ 1u].inputs, kept[newest].inputs));
    }
    ls_tick_packet_write_end(&stream);
    return ls_bits_size_bytes(&stream);
}

static void compare(ls_bit_stream original, ls_bit_stream again, tick_format *format)
{
    static ls_tick_cursor a;
    static ls_tick_cursor b;
    ls_tick_cursor_start(&a, format->slots, INPUT_BYTES_MAX, NULL);
    ls_tick_cursor_start(&b, format->slots, INPUT_BYTES_MAX, NULL);
    while (read_tick(&original, format, &a)) {
        LS_ASSERT(read_tick(&again, format, &b));
        LS_ASSERT(is_same(&a, &b));
    }
    LS_ASSERT(!read_tick(&again, format, &b));
    LS_ASSERT(ls_bits_is_complete(&again));
}

static void check_ticks(const uint8_t *bytes, size_t size, tick_format format)
{
    static ls_tick_cursor cursor;
    uint8_t rewritten[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    header_bits(&stream, &format);
    if (stream.is_failed) {
        return;
    }
    ls_bit_stream behind_header = stream;
    ls_tick_cursor_start(&cursor, format.slots, INPUT_BYTES_MAX, NULL);
    while (read_tick(&stream, &format, &cursor)) {
    }
    if (!ls_bits_is_complete(&stream)) {
        return;
    }
    tick_format again = format;
    size_t size_again = rewrite(behind_header, &format, rewritten, size);
    LS_ASSERT(size_again <= size); /* the shortest code was chosen */
    stream = ls_bit_reader(rewritten, size_again);
    header_bits(&stream, &again);
    LS_ASSERT(memcmp(&again, &format, sizeof format) == 0);
    compare(behind_header, stream, &format);
}

static void check_part(const uint8_t *bytes, size_t size)
{
    static ls_tick_part part;
    static ls_tick_part again;
    uint8_t rewritten[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_tick_part_bits(&stream, &part);
    if (!ls_bits_is_complete(&stream)) {
        return;
    }
    LS_ASSERT(part.size <= LS_TICK_PART_BYTES);
    LS_ASSERT(part.index * LS_TICK_PART_BYTES + part.size <= part.total_bytes);
    stream = ls_bit_writer(rewritten, sizeof rewritten);
    ls_tick_part_bits(&stream, &part);
    LS_ASSERT(ls_bits_size_bytes(&stream) == size && memcmp(rewritten, bytes, size) == 0);
    stream = ls_bit_reader(rewritten, size);
    ls_tick_part_bits(&stream, &again);
    LS_ASSERT(ls_bits_is_complete(&stream) && again.size == part.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    uint8_t what = fuzz_take_u8(&input);
    uint32_t slots = 1u + (what >> 2) % SLOTS_MAX;
    tick_format format;
    memset(&format, 0, sizeof format);
    switch (what & 3u) {
    case WHAT_MESSAGE:
        if (input.size <= LS_PACKET_BYTES_MAX) {
            check_message(input.bytes, input.size, (what >> 2) % (LS_PLAYERS_MAX + 1));
        }
        break;
    case WHAT_INPUTS:
    case WHAT_TICKS:
        format.is_inputs = (what & 3u) == WHAT_INPUTS;
        format.slots = format.is_inputs ? 1 : slots;
        format.near = fuzz_take_u32(&input);
        if (input.size <= LS_PACKET_BYTES_MAX) {
            check_ticks(input.bytes, input.size, format);
        }
        break;
    default:
        if (input.size <= LS_PACKET_BYTES_MAX) {
            check_part(input.bytes, input.size);
        }
        break;
    }
    return 0;
}
