/* Fuzzes packets of the wire, and those of blobs. */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/protocol/blob/blob_receiver.h"
#include "lockstep/protocol/blob/blob_sender.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"

#include "lockstep/tests/fuzz/fuzz_input.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <string.h>

/* ==== message ==== */

/* Fuzzes the reading of packets. A result that was read is written again and must read the same.
 *
 *   u8 what   lowest two bits: 0 a reliable message, 1 INPUTS, 2 TICKS, 3 TICK_PART
 *             the other six: players that a START has, or slots that a TICKS has
 *   u32 near  the tick that the reader expects; not for reliable messages and parts
 *   packet    everything that is left
 */

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

FUZZ_TARGET(message)
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

/* ==== blob ==== */

/* Fuzzes blobs: the reading of their packets, both ends against hostile ones, and a whole transfer
 * over a bad link. Bytes that pass for a packet get the check that belongs to it.
 *
 *   u8 what  lowest two bits: 0 a packet, which is everything that is left, 1 parts to a receiver,
 *            2 acknowledgements to a sender, 3 a transfer; the other six: how large the blob is
 *   then, for 1 and 2, until the end:
 *     u8 size, times 5, and so many bytes: a packet; u8 milliseconds until the next
 *   for 3, a u8 for each packet either way: 0..127 it arrives, ..191 is lost, ..223 comes twice,
 *     else it comes after the next one; from the end on all arrive
 */

enum {
    WHAT_PACKET,
    WHAT_PARTS,
    WHAT_ACKS,
    WHAT_TRANSFER,
    CHECK_BYTES = 4,
    SIZE_STEP = 5,
    BYTES_STEP = 1200,
    BYTES_MAX = 64 * BYTES_STEP,
    NUMBER = 0,
    STEPS_MAX = 500000, /* each packet that is lost may cost a wait of its own */
};

/* ---- packets ---- */

/* Bytes of the input as a packet whose check fits; returns its size. */
static size_t read_packet(fuzz_input *input, size_t wanted, uint8_t packet[LS_PACKET_BYTES_MAX])
{
    size_t size;
    size_t room = LS_PACKET_BYTES_MAX - CHECK_BYTES;
    const uint8_t *bytes = fuzz_take_bytes(input, wanted < room ? wanted : room, &size);
    memcpy(packet, bytes, size);
    ls_store_u32(packet + size, (uint32_t)ls_hash_bytes(packet, size, 0));
    return size + CHECK_BYTES;
}

static void check_packet(const uint8_t *packet, size_t size)
{
    uint8_t rewritten[LS_PACKET_BYTES_MAX];
    ls_blob_part part;
    ls_blob_ack ack;
    ls_blob_ack again;
    if (ls_blob_part_read(packet, size, &part) == LS_OK) {
        LS_ASSERT(part.bytes + part.size + CHECK_BYTES == packet + size);
        LS_ASSERT(ls_blob_part_write(&part, rewritten) == size);
        LS_ASSERT(memcmp(rewritten, packet, size) == 0);
    }
    if (ls_blob_ack_read(packet, size, &ack) == LS_OK) {
        LS_ASSERT(ack.count < LS_BLOB_ACK_PARTS);
        LS_ASSERT(ls_blob_ack_write(&ack, rewritten) == size);
        LS_ASSERT(ls_blob_ack_read(rewritten, size, &again) == LS_OK);
        LS_ASSERT(memcmp(&ack, &again, sizeof ack) == 0);
    }
}

/* ---- both ends ---- */

typedef struct ends {
    ls_blob *blob;
    ls_blob_sender *sender;
    ls_blob_receiver *receiver;
    uint8_t content[BYTES_MAX];
    uint64_t now_ns;
} ends;

static ends *open_ends(uint32_t bytes)
{
    static ends here;
    const ls_allocator *heap = ls_allocator_heap();
    if (!here.blob) {
        ls_blob_sender_config config = ls_blob_sender_config_default();
        LS_ASSERT(ls_blob_create(BYTES_MAX, heap, &here.blob) == LS_OK);
        LS_ASSERT(ls_blob_sender_create(&config, heap, &here.sender) == LS_OK);
        LS_ASSERT(ls_blob_receiver_create(BYTES_MAX, heap, &here.receiver) == LS_OK);
    }
    ls_blob_sender_stop(here.sender);
    for (uint32_t i = 0; i < bytes; i++) {
        here.content[i] = (uint8_t)(i * (i >> 3) >> 5);
    }
    memcpy(ls_blob_start(here.blob, bytes), here.content, bytes);
    ls_blob_seal(here.blob);
    ls_blob_advance(here.blob, UINT32_MAX);
    here.now_ns = LS_NS_PER_SECOND;
    ls_blob_promise promise = {NUMBER, bytes, ls_blob_hash(here.blob)};
    LS_ASSERT(ls_blob_receiver_start(here.receiver, &promise, here.now_ns) == LS_OK);
    ls_blob_sender_start(here.sender, here.blob, NUMBER, 20 * LS_NS_PER_MS, here.now_ns);
    return &here;
}

static void check_receiver(ends *here)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_blob_ack ack;
    while (ls_blob_receiver_advance(here->receiver, 1)) {
    }
    size_t size = ls_blob_receiver_next(here->receiver, here->now_ns, bytes);
    LS_ASSERT(size == 0 || ls_blob_ack_read(bytes, size, &ack) == LS_OK);
    LS_ASSERT(ls_blob_receiver_progress(here->receiver) <= ls_blob_bytes(here->blob));
    const uint8_t *result = ls_blob_receiver_bytes(here->receiver);
    LS_ASSERT(!result || memcmp(result, here->content, ls_blob_bytes(here->blob)) == 0);
}

static void check_sender(ends *here)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_blob_part part;
    size_t size;
    uint32_t at_once = 0;
    while ((size = ls_blob_sender_next(here->sender, here->now_ns, bytes)) > 0) {
        LS_ASSERT(ls_blob_part_read(bytes, size, &part) == LS_OK);
        LS_ASSERT(part.index < ls_blob_part_count(here->blob));
        at_once++;
    }
    LS_ASSERT(at_once <= ls_blob_sender_config_default().burst_packets);
    LS_ASSERT(ls_blob_sender_next_ns(here->sender) > here->now_ns);
    ls_blob_sender_figures figures = ls_blob_sender_figures_of(here->sender);
    LS_ASSERT(figures.acknowledged <= ls_blob_part_count(here->blob));
    LS_ASSERT(figures.bytes_per_second <= ls_blob_sender_config_default().bytes_per_second);
    LS_ASSERT(figures.rtt_ns <= 10 * LS_NS_PER_SECOND);
}

static void be_hostile(fuzz_input *input, ends *here, bool is_to_sender)
{
    uint8_t packet[LS_PACKET_BYTES_MAX];
    while (input->size > 0) {
        size_t size = read_packet(input, fuzz_take_u8(input) * SIZE_STEP, packet);
        if (is_to_sender) {
            check_sender(here);
            ls_blob_sender_receive_ack(here->sender, here->now_ns, packet, size);
            check_sender(here);
        } else {
            ls_blob_receiver_receive_part(here->receiver, here->now_ns, packet, size);
            check_receiver(here);
        }
        here->now_ns += fuzz_take_u8(input) * LS_NS_PER_MS;
    }
}

/* ---- a transfer ---- */

/* One way of the link. A packet that was overtaken waits for the next one. */
typedef struct channel {
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size; /* 0: none waits */
} channel;

static void deliver(ends *here, bool is_up, const uint8_t *bytes, size_t size)
{
    ls_status status =
        is_up ? ls_blob_sender_receive_ack(here->sender, here->now_ns, bytes, size)
              : ls_blob_receiver_receive_part(here->receiver, here->now_ns, bytes, size);
    LS_ASSERT(status == LS_OK);
}

static void carry(fuzz_input *fates, ends *here, bool is_up, channel *way, const uint8_t *bytes,
                  size_t size)
{
    uint8_t fate = fuzz_take_u8(fates);
    channel waiting = *way;
    way->size = 0;
    if (fate >= 224) {
        memcpy(way->bytes, bytes, size);
        way->size = size;
    } else if (fate < 128 || fate >= 192) {
        deliver(here, is_up, bytes, size);
        if (fate >= 192) {
            deliver(here, is_up, bytes, size);
        }
    }
    if (waiting.size > 0) {
        deliver(here, is_up, waiting.bytes, waiting.size);
    }
}

static void transfer(fuzz_input *fates, ends *here)
{
    channel up = {{0}, 0};
    channel down = {{0}, 0};
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    for (uint32_t step = 0; ls_blob_sender_is_busy(here->sender); step++) {
        LS_ASSERT(step < STEPS_MAX);
        size_t size;
        while ((size = ls_blob_sender_next(here->sender, here->now_ns, bytes)) > 0) {
            carry(fates, here, false, &down, bytes, size);
        }
        while (ls_blob_receiver_advance(here->receiver, 1)) {
        }
        size = ls_blob_receiver_next(here->receiver, here->now_ns, bytes);
        if (size > 0) {
            carry(fates, here, true, &up, bytes, size);
        }
        here->now_ns += 2 * LS_NS_PER_MS;
    }
    LS_ASSERT(ls_blob_receiver_state_of(here->receiver) == LS_BLOB_COMPLETE);
    check_receiver(here);
}

FUZZ_TARGET(blob)
{
    fuzz_input input = {bytes, size};
    uint8_t packet[LS_PACKET_BYTES_MAX];
    uint8_t what = fuzz_take_u8(&input);
    if ((what & 3u) == WHAT_PACKET) {
        check_packet(packet, read_packet(&input, input.size, packet));
        return 0;
    }
    ends *here = open_ends((1u + (what >> 2)) * BYTES_STEP);
    uint64_t calls = heap_calls();
    if ((what & 3u) == WHAT_TRANSFER) {
        transfer(&input, here);
    } else {
        be_hostile(&input, here, (what & 3u) == WHAT_ACKS);
    }
    LS_ASSERT(heap_calls() == calls);
    return 0;
}
