/* Fuzzes the data channels of a door within their seal: whole packets of SCTP, with any chunks,
 * from a page that has an association or is about to have one, through the library to the messages
 * that come out. No packet is larger than a path takes, no message is empty, and nothing is left.
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/door/rtc_stream.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

enum {
    PORT = 5000,
    PACKET_BYTES_MAX = 1300,
    HEADER_BYTES = 12, /* two ports, the receiver's tag, a checksum */
    TAG_AT = 4,
    CHECKSUM_AT = 8,
    INIT = 1, /* chunks */
    INIT_ACK = 2,
    TSN_AT = 28, /* the first one of a peer, in these */
    ROUNDS_MAX = 16,
    WAITING_MAX = 64,
    MOVES_MAX = 32,
};

typedef struct packet {
    uint8_t bytes[PACKET_BYTES_MAX];
    size_t size; /* 0: lost */
} packet;

/* One side, and what it has sent and nobody has received. */
typedef struct side {
    ls_rtc_stream *stream;
    packet waiting[WAITING_MAX];
    uint32_t count;
    uint8_t tag[4]; /* that its packets bear */
    uint32_t tsn;   /* its first one */
} side;

static side door, page;
static uint32_t messages;

static uint32_t load_32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void store_32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

/* CRC-32C, its lowest byte first. */
static void add_checksum(uint8_t *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
        }
    }
    crc = ~crc;
    memcpy(
        bytes + CHECKSUM_AT,
        (uint8_t[]){(uint8_t)crc, (uint8_t)(crc >> 8), (uint8_t)(crc >> 16), (uint8_t)(crc >> 24)},
        4);
}

static void send_packet(void *user, const uint8_t *bytes, size_t size)
{
    side *from = user;
    LS_ASSERT(size >= HEADER_BYTES && size <= PACKET_BYTES_MAX);
    memcpy(from->tag, bytes + TAG_AT, sizeof from->tag);
    bool is_first =
        size >= TSN_AT + 4 && (bytes[HEADER_BYTES] == INIT || bytes[HEADER_BYTES] == INIT_ACK);
    from->tsn = is_first ? load_32(bytes + TSN_AT) : from->tsn;
    if (from->count < WAITING_MAX) {
        memcpy(from->waiting[from->count].bytes, bytes, size);
        from->waiting[from->count++].size = size;
    }
}

static void receive_message(void *user, const uint8_t *bytes, size_t size)
{
    (void)user;
    LS_ASSERT(bytes && size > 0);
    messages++;
    ls_rtc_stream_send(door.stream, bytes, size);
}

static void deliver(side *from, side *to)
{
    static packet moving[WAITING_MAX];
    uint32_t count = from->count;
    memcpy(moving, from->waiting, count * sizeof *moving);
    from->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        ls_rtc_stream_receive(to->stream, moving[i].bytes, moving[i].size);
    }
}

static void settle(void)
{
    for (uint32_t i = 0; i < ROUNDS_MAX && door.count + page.count > 0; i++) {
        deliver(&page, &door);
        deliver(&door, &page);
    }
}

/* From now on the page is what the input says. One move, in bytes:
 *   u8 what    bit 0: the number at `place` is one of the page's, off by `off`; bit 1: with a wrong
 *              tag; bit 2: a second passes first; bit 3: the same with a number of the door's
 *   u8 size    of the chunks, in steps of 4 bytes
 *   u8 place   in steps of 4 bytes
 *   i8 off
 *   ...        the chunks */
static void move(fuzz_input *input)
{
    uint8_t what = fuzz_take_u8(input);
    size_t size = 4 * (size_t)fuzz_take_u8(input);
    size_t place = 4 * (size_t)fuzz_take_u8(input);
    int32_t off = fuzz_take_i8(input);
    const uint8_t *chunks = fuzz_take_bytes(input, size, &size);
    uint8_t made[HEADER_BYTES + 4 * UINT8_MAX] = {PORT >> 8, PORT & 255, PORT >> 8, PORT & 255};
    if ((what & 4) != 0) {
        ls_rtc_streams_tend(1000);
    }
    memcpy(made + TAG_AT, page.tag, sizeof page.tag);
    made[TAG_AT] ^= (uint8_t)((what & 2) << 1);
    memcpy(made + HEADER_BYTES, chunks, size);
    if ((what & 9) != 0 && place + 4 <= size) {
        uint32_t first = (what & 1) != 0 ? page.tsn : door.tsn;
        store_32(made + HEADER_BYTES + place, first + (uint32_t)off);
    }
    add_checksum(made, HEADER_BYTES + size);
    uint8_t *copy = malloc(HEADER_BYTES + size); /* so that a look behind the end is seen */
    LS_ASSERT(copy);
    memcpy(copy, made, HEADER_BYTES + size);
    ls_rtc_stream_receive(door.stream, copy, HEADER_BYTES + size);
    free(copy);
}

static void open_side(side *made)
{
    const ls_rtc_stream_config config = {
        .port = PORT, .send = send_packet, .receive = receive_message, .user = made};
    made->count = 0;
    made->stream = ls_rtc_stream_create(&config);
    LS_ASSERT(made->stream);
}

FUZZ_TARGET(sctp)
{
    static bool has_begun;
    fuzz_input input = {bytes, size};
    if (!has_begun) {
        ls_rtc_streams_begin();
        has_begun = true;
    }
    open_side(&page);
    open_side(&door);
    if ((fuzz_take_u8(&input) & 1) == 0) {
        settle();
    }
    for (uint32_t i = 0; i < MOVES_MAX && input.size > 0 && !ls_rtc_stream_is_over(door.stream);
         i++) {
        move(&input);
    }
    ls_rtc_stream_destroy(door.stream);
    ls_rtc_stream_destroy(page.stream);
    ls_rtc_streams_tend(10);
    return 0;
}
