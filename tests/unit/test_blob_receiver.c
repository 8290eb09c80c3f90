/* Blobs, their packets, and what receives them. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/protocol/blob/blob.h"
#include "lockstep/protocol/blob/blob_receiver.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"
#include "lockstep/tests/unit/wire_bits.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

/* ---- blob ---- */

enum {
    BYTES = 5 * 65536 + 100,
};

static uint8_t source[BYTES];
static uint8_t stream[BYTES + 6 * 4];

/* Pieces by turns random, which no compression makes smaller, and of one byte. */
static void fill_source(void)
{
    ls_rng rng = ls_rng_make(1, 1);
    for (uint32_t i = 0; i < BYTES; i++) {
        source[i] = i / LS_BLOB_PIECE_BYTES % 2 == 0 ? (uint8_t)ls_rng_next(&rng) : 9;
    }
}

static ls_blob *make_blob(uint32_t bytes)
{
    ls_blob *blob = NULL;
    cr_assert_eq(ls_blob_create(BYTES, ls_allocator_heap(), &blob), LS_OK);
    fill_source();
    memcpy(ls_blob_start(blob, bytes), source, bytes);
    ls_blob_seal(blob);
    return blob;
}

static uint32_t join_parts(const ls_blob *blob)
{
    uint32_t size = 0;
    for (uint32_t index = 0; index < ls_blob_part_count(blob); index++) {
        ls_blob_part part = ls_blob_part_at(blob, index);
        cr_assert_eq(part.index, index);
        cr_assert_eq(part.is_last, index + 1 == ls_blob_part_count(blob));
        cr_assert(part.is_last || part.size == LS_BLOB_PART_BYTES);
        cr_assert_leq(size + part.size, sizeof stream);
        memcpy(stream + size, part.bytes, part.size);
        size += part.size;
    }
    return size;
}

/* As a receiver that was written from PROTOCOL.md alone does it. */
static void expect_stream(uint32_t size, uint32_t raw_bytes)
{
    static uint8_t piece[LS_BLOB_PIECE_BYTES];
    uint32_t at = 0;
    for (uint32_t start = 0; start < raw_bytes; start += LS_BLOB_PIECE_BYTES) {
        uint32_t raw =
            raw_bytes - start < LS_BLOB_PIECE_BYTES ? raw_bytes - start : LS_BLOB_PIECE_BYTES;
        uint32_t packed = ls_load_u32(stream + at);
        const uint8_t *from = stream + at + 4;
        cr_assert_leq(packed, raw);
        if (packed < raw) {
            cr_assert_eq(ls_decompress(from, packed, piece, raw), LS_OK);
            from = piece;
        }
        cr_assert_eq(memcmp(from, source + start, raw), 0);
        at += 4 + packed;
    }
    cr_assert_eq(at, size);
}

Test(blob, its_stream_is_what_the_page_says)
{
    static const uint32_t sizes[] = {1, 100, 65535, 65536, 65537, 131072, BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ls_blob *blob = make_blob(sizes[i]);
        cr_assert_eq(ls_blob_bytes(blob), sizes[i]);
        cr_assert_eq(ls_blob_hash(blob), ls_hash_bytes(source, sizes[i], 0));
        cr_assert(ls_blob_advance(blob, UINT32_MAX));
        uint32_t size = join_parts(blob);
        cr_assert_leq(size, ls_blob_stream_bytes_max(sizes[i]));
        expect_stream(size, sizes[i]);
        ls_blob_destroy(blob);
    }
}

Test(blob, no_part_moves_while_the_rest_is_compressed)
{
    ls_blob *blob = make_blob(BYTES);
    cr_expect_eq(ls_blob_part_count(blob), 0);
    uint32_t known = 0;
    while (!ls_blob_advance(blob, 1)) {
        cr_assert(!ls_blob_is_compressed(blob));
        for (uint32_t index = known; index < ls_blob_part_count(blob); index++) {
            cr_assert(!ls_blob_part_at(blob, index).is_last);
        }
        known = ls_blob_part_count(blob);
        for (uint32_t index = 0; index < known; index++) {
            memcpy(stream + index * LS_BLOB_PART_BYTES, ls_blob_part_at(blob, index).bytes,
                   LS_BLOB_PART_BYTES);
        }
    }
    cr_assert_gt(known, 100);
    for (uint32_t index = 0; index < known; index++) {
        cr_assert_eq(memcmp(stream + index * LS_BLOB_PART_BYTES, ls_blob_part_at(blob, index).bytes,
                            LS_BLOB_PART_BYTES),
                     0);
    }
    ls_blob_destroy(blob);
}

Test(blob, takes_memory_at_create_alone)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_blob *blob = NULL;
    cr_assert_eq(ls_blob_create(BYTES, &counting.allocator, &blob), LS_OK);
    uint64_t allocations = counting.allocations;
    uint64_t calls = heap_calls();
    fill_source();
    for (uint32_t bytes = 1; bytes < BYTES; bytes += 70000) {
        memcpy(ls_blob_start(blob, bytes), source, bytes);
        ls_blob_seal(blob);
        cr_assert(ls_blob_advance(blob, UINT32_MAX));
    }
    cr_expect_eq(counting.allocations, allocations);
    cr_expect_eq(heap_calls(), calls);
    ls_blob_destroy(blob);
    cr_expect_eq(counting.live_blocks, 0);
}

Test(blob, every_failed_allocation_is_survived)
{
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_blob *blob = NULL;
        refused.status = ls_blob_create(BYTES, &refused.counting.allocator, &blob);
        cr_assert_eq(blob != NULL, refused.status == LS_OK);
        ls_blob_destroy(blob);
    }
    ls_blob_destroy(NULL);
}

Test(blob, a_string_that_is_streamed_stays, .signal = SIGABRT)
{
    ls_blob *blob = make_blob(10);
    ls_blob_add_user(blob);
    cr_assert(ls_blob_is_in_use(blob));
    ls_blob_remove_user(blob);
    cr_assert(!ls_blob_is_in_use(blob));
    ls_blob_start(blob, 10);
    ls_blob_seal(blob);
    ls_blob_add_user(blob);
    ls_blob_start(blob, 10);
}

/* ---- blob_packet ---- */

/* Holds BLOB_PART and BLOB_ACK against protocol/PROTOCOL.md: what is expected stands here a second
 * time, in the notation of that page. */

static uint8_t content[LS_BLOB_PART_BYTES];

/* The packet with its check. */
static size_t sealed(wire_bits *wire)
{
    wire->count = wire_size(wire) * 8;
    wire_u(wire, ls_hash_bytes(wire->bytes, wire_size(wire), 0) & UINT32_MAX, 32);
    return wire_size(wire);
}

static wire_bits part_wire(uint32_t index, bool is_last, uint32_t size)
{
    wire_bits wire = WIRE(U(36, 6), U(200, 8), U(is_last, 1), U(index, 25), U(0xfedcba98, 32));
    for (uint32_t i = 0; i < size; i++) {
        wire_u(&wire, content[i], 8);
    }
    return wire;
}

static ls_blob_part packet_part(uint32_t index, bool is_last, uint32_t size)
{
    for (uint32_t i = 0; i < sizeof content; i++) {
        content[i] = (uint8_t)(i * 7 + 1);
    }
    return (ls_blob_part){.blob = 200,
                          .is_last = is_last,
                          .index = index,
                          .packet = 0xfedcba98,
                          .size = size,
                          .bytes = content};
}

static void expect_part(ls_blob_part part)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    wire_bits wire = part_wire(part.index, part.is_last, part.size);
    size_t size = sealed(&wire);
    memset(bytes, 0xff, sizeof bytes);
    cr_assert_eq(ls_blob_part_write(&part, bytes), size);
    cr_assert_arr_eq(bytes, wire.bytes, size);

    ls_blob_part read;
    cr_assert_eq(ls_blob_part_read(bytes, size, &read), LS_OK);
    cr_assert(read.blob == part.blob && read.is_last == part.is_last && read.index == part.index);
    cr_assert(read.packet == part.packet && read.size == part.size);
    cr_assert_eq(memcmp(read.bytes, part.bytes, part.size), 0);
}

Test(blob_packet, a_part_is_laid_out_as_written)
{
    expect_part(packet_part(0, false, LS_BLOB_PART_BYTES));
    expect_part(packet_part((1u << 25) - 1, true, LS_BLOB_PART_BYTES));
    expect_part(packet_part(5, true, 1));
    ls_blob_part whole = packet_part(0, true, LS_BLOB_PART_BYTES);
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    cr_assert_eq(ls_blob_part_write(&whole, bytes), LS_PACKET_BYTES_MAX);
}

static ls_status read_part(wire_bits *wire)
{
    ls_blob_part part;
    return ls_blob_part_read(wire->bytes, sealed(wire), &part);
}

Test(blob_packet, a_part_of_another_size_is_malformed)
{
    packet_part(0, false, 1);
    wire_bits wire = part_wire(0, false, LS_BLOB_PART_BYTES - 1);
    cr_expect_eq(read_part(&wire), LS_MALFORMED);
    wire = part_wire(0, false, LS_BLOB_PART_BYTES);
    cr_expect_eq(read_part(&wire), LS_OK);
    wire = part_wire(0, true, LS_BLOB_PART_BYTES);
    wire_u(&wire, 1, 8);
    cr_expect_eq(read_part(&wire), LS_MALFORMED);
    wire = part_wire(0, true, 1);
    cr_expect_eq(read_part(&wire), LS_OK);
    wire = part_wire(0, true, 0);
    cr_expect_eq(read_part(&wire), LS_MALFORMED);
    wire = part_wire(0, true, 1);
    wire.bytes[0] ^= 1; /* another kind */
    cr_expect_eq(read_part(&wire), LS_MALFORMED);
}

static wire_bits ack_wire(uint32_t count)
{
    wire_bits wire = WIRE(U(37, 6), U(200, 8), U(0x1234567, 25), U(99, 32), U(0xffffffff, 32),
                          U(254, 8), UVAR(count));
    for (uint32_t i = 0; i < count; i++) {
        wire_u(&wire, i % 3 == 0, 1);
    }
    return wire;
}

Test(blob_packet, an_acknowledgement_is_laid_out_as_written)
{
    static const uint32_t counts[] = {0, 1, 8, 500, LS_BLOB_ACK_PARTS - 1};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint8_t bytes[LS_PACKET_BYTES_MAX];
        ls_blob_ack ack = {
            .blob = 200, .first = 0x1234567, .received = 99, .newest = 0xffffffff, .hold = 254};
        ack.count = counts[i];
        for (uint32_t part = 0; part < ack.count; part += 3) {
            ack.has[part / 8] |= (uint8_t)(1u << (part % 8));
        }
        wire_bits wire = ack_wire(ack.count);
        size_t size = sealed(&wire);
        memset(bytes, 0xff, sizeof bytes);
        cr_assert_eq(ls_blob_ack_write(&ack, bytes), size);
        cr_assert_arr_eq(bytes, wire.bytes, size);
        ls_blob_ack read;
        cr_assert_eq(ls_blob_ack_read(bytes, size, &read), LS_OK);
        cr_assert_eq(memcmp(&read, &ack, sizeof ack), 0);
    }
}

static ls_status read_ack(wire_bits *wire)
{
    ls_blob_ack ack;
    return ls_blob_ack_read(wire->bytes, sealed(wire), &ack);
}

Test(blob_packet, an_acknowledgement_of_too_many_or_with_more_behind_is_malformed)
{
    wire_bits wire = ack_wire(LS_BLOB_ACK_PARTS);
    cr_expect_eq(read_ack(&wire), LS_MALFORMED);
    wire = ack_wire(9);
    wire.count = wire_size(&wire) * 8;
    wire_u(&wire, 0, 8);
    cr_expect_eq(read_ack(&wire), LS_MALFORMED);
    wire = ack_wire(9);
    wire.bytes[wire_size(&wire) - 1] |= 0x80; /* the padding */
    cr_expect_neq(wire.count % 8, 0);
    cr_expect_eq(read_ack(&wire), LS_MALFORMED);
    wire = ack_wire(9);
    cr_expect_eq(read_ack(&wire), LS_OK);
}

/* Everything that is not what was sent is refused, and leaves what was there. */
static void expect_refused(const uint8_t *bytes, size_t size)
{
    ls_blob_part part;
    ls_blob_ack ack;
    memset(&part, 0x55, sizeof part);
    memset(&ack, 0x55, sizeof ack);
    ls_blob_part part_before = part;
    ls_blob_ack ack_before = ack;
    cr_assert_eq(ls_blob_part_read(bytes, size, &part), LS_MALFORMED);
    cr_assert_eq(ls_blob_ack_read(bytes, size, &ack), LS_MALFORMED);
    cr_assert_eq(memcmp(&part, &part_before, sizeof part), 0);
    cr_assert_eq(memcmp(&ack, &ack_before, sizeof ack), 0);
}

Test(blob_packet, an_altered_or_cut_packet_is_refused)
{
    uint8_t bytes[2][LS_PACKET_BYTES_MAX + 1] = {{0}};
    ls_blob_part part = packet_part(3, true, 40);
    ls_blob_ack ack = {.blob = 1, .first = 2, .count = 77};
    size_t sizes[2] = {ls_blob_part_write(&part, bytes[0]), ls_blob_ack_write(&ack, bytes[1])};
    for (uint32_t kind = 0; kind < 2; kind++) {
        for (size_t size = 0; size < sizes[kind]; size++) {
            expect_refused(bytes[kind], size);
        }
        expect_refused(bytes[kind], sizes[kind] + 1);
        for (size_t bit = 0; bit < sizes[kind] * 8; bit++) {
            bytes[kind][bit / 8] ^= (uint8_t)(1u << (bit % 8));
            expect_refused(bytes[kind], sizes[kind]);
            bytes[kind][bit / 8] ^= (uint8_t)(1u << (bit % 8));
        }
    }
    expect_refused(bytes[0], sizeof bytes[0]);
}

Test(blob_packet, the_stream_has_a_frame_for_each_piece)
{
    cr_expect_eq(ls_blob_piece_count(1), 1);
    cr_expect_eq(ls_blob_piece_count(65536), 1);
    cr_expect_eq(ls_blob_piece_count(65537), 2);
    cr_expect_eq(ls_blob_stream_bytes_max(65537), 65537 + 8);
    cr_expect_eq(ls_blob_piece_count(LS_BLOB_BYTES_MAX), 4096);
}

/* ==== blob_receiver ==== */

enum {
    RAW_BYTES = 70000, /* two pieces, random: the stream has 62 parts */
    PARTS = 62,
    BLOB = 4,
};

static uint8_t raw[RAW_BYTES];
static uint8_t sent[RAW_BYTES + 8];

/* The stream of `raw`, as it is. */
static uint32_t make_stream(void)
{
    ls_rng rng = ls_rng_make(2, 1);
    for (uint32_t i = 0; i < RAW_BYTES; i++) {
        raw[i] = (uint8_t)ls_rng_next(&rng);
    }
    ls_store_u32(sent, LS_BLOB_PIECE_BYTES);
    memcpy(sent + 4, raw, LS_BLOB_PIECE_BYTES);
    ls_store_u32(sent + 4 + LS_BLOB_PIECE_BYTES, RAW_BYTES - LS_BLOB_PIECE_BYTES);
    memcpy(sent + 8 + LS_BLOB_PIECE_BYTES, raw + LS_BLOB_PIECE_BYTES,
           RAW_BYTES - LS_BLOB_PIECE_BYTES);
    return sizeof sent;
}

static ls_blob_promise promise_of(uint32_t bytes)
{
    return (ls_blob_promise){BLOB, bytes, ls_hash_bytes(raw, bytes, 0)};
}

static void destroy_receiver(void *receiver)
{
    ls_blob_receiver_destroy(receiver);
}

static ls_blob_receiver *open_receiver(const ls_blob_promise *promise)
{
    ls_blob_receiver *receiver = NULL;
    cr_assert_eq(ls_blob_receiver_create(RAW_BYTES, ls_allocator_heap(), &receiver), LS_OK);
    cr_assert_eq(ls_blob_receiver_start(receiver, promise, 0), LS_OK);
    return keep_until_end(receiver, destroy_receiver);
}

static ls_status give(ls_blob_receiver *receiver, uint64_t now_ns, ls_blob_part part)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = ls_blob_part_write(&part, bytes);
    return ls_blob_receiver_receive_part(receiver, now_ns, bytes, size);
}

/* Of a stream of so many bytes. */
static ls_blob_part part_of(uint32_t index, uint32_t stream_bytes)
{
    uint32_t start = index * LS_BLOB_PART_BYTES;
    uint32_t left = stream_bytes - start;
    bool is_last = left <= LS_BLOB_PART_BYTES;
    return (ls_blob_part){.blob = BLOB,
                          .is_last = is_last,
                          .index = index,
                          .packet = index,
                          .size = is_last ? left : LS_BLOB_PART_BYTES,
                          .bytes = sent + start};
}

static void give_all(ls_blob_receiver *receiver, uint32_t stream_bytes)
{
    for (uint32_t index = 0; index * LS_BLOB_PART_BYTES < stream_bytes; index++) {
        cr_assert_eq(give(receiver, 0, part_of(index, stream_bytes)), LS_OK);
    }
}

static ls_blob_receiver_state result_of(ls_blob_receiver *receiver)
{
    while (ls_blob_receiver_advance(receiver, 1)) {
    }
    return ls_blob_receiver_state_of(receiver);
}

TestSuite(blob_receiver, .fini = destroy_kept);

Test(blob_receiver, puts_parts_together_in_any_order)
{
    uint32_t size = make_stream();
    ls_blob_promise promise = promise_of(RAW_BYTES);
    ls_blob_receiver *receiver = open_receiver(&promise);
    for (uint32_t i = 0; i < PARTS; i++) {
        cr_assert_eq(ls_blob_receiver_state_of(receiver), LS_BLOB_RECEIVING);
        cr_assert_null(ls_blob_receiver_bytes(receiver));
        cr_assert_eq(give(receiver, i, part_of(i * 7 % PARTS, size)), LS_OK);
        cr_assert_eq(give(receiver, i, part_of(i * 7 % PARTS, size)), LS_OK);
        while (ls_blob_receiver_advance(receiver, 1)) {
        }
    }
    cr_assert_eq(ls_blob_receiver_state_of(receiver), LS_BLOB_COMPLETE);
    cr_assert_eq(memcmp(ls_blob_receiver_bytes(receiver), raw, RAW_BYTES), 0);
    ls_blob_receiver_stop(receiver);
    cr_assert_null(ls_blob_receiver_bytes(receiver));
}

Test(blob_receiver, decompresses_no_more_than_it_is_told)
{
    uint32_t size = make_stream();
    ls_blob_promise promise = promise_of(RAW_BYTES);
    ls_blob_receiver *receiver = open_receiver(&promise);
    give_all(receiver, size);
    cr_expect(ls_blob_receiver_advance(receiver, 0));
    cr_expect_eq(ls_blob_receiver_progress(receiver), 0);
    cr_expect(ls_blob_receiver_advance(receiver, 1));
    cr_expect_eq(ls_blob_receiver_progress(receiver), LS_BLOB_PIECE_BYTES);
    cr_expect(!ls_blob_receiver_advance(receiver, 1));
    cr_expect_eq(ls_blob_receiver_progress(receiver), RAW_BYTES);
    cr_expect_eq(ls_blob_receiver_state_of(receiver), LS_BLOB_COMPLETE);
}

Test(blob_receiver, a_promise_out_of_range_is_malformed)
{
    make_stream();
    ls_blob_promise promise = promise_of(RAW_BYTES);
    ls_blob_receiver *receiver = open_receiver(&promise);
    ls_blob_promise wrong = promise;
    wrong.bytes = RAW_BYTES + 1;
    cr_expect_eq(ls_blob_receiver_start(receiver, &wrong, 0), LS_MALFORMED);
    wrong.bytes = 0;
    cr_expect_eq(ls_blob_receiver_start(receiver, &wrong, 0), LS_MALFORMED);
    wrong = promise;
    wrong.number = 256;
    cr_expect_eq(ls_blob_receiver_start(receiver, &wrong, 0), LS_MALFORMED);
    cr_expect_eq(ls_blob_receiver_state_of(receiver), LS_BLOB_RECEIVING);
}

Test(blob_receiver, parts_that_contradict_others_are_malformed)
{
    uint32_t size = make_stream();
    ls_blob_promise promise = promise_of(RAW_BYTES);
    ls_blob_receiver *receiver = open_receiver(&promise);
    ls_blob_part part = part_of(5, size);
    cr_assert_eq(give(receiver, 0, part), LS_OK);
    part = part_of(4, size);
    part.is_last = true; /* before one that was seen */
    cr_expect_eq(give(receiver, 0, part), LS_MALFORMED);
    part.index = PARTS; /* beyond what its size allows */
    part.is_last = false;
    cr_expect_eq(give(receiver, 0, part), LS_MALFORMED);
    cr_assert_eq(give(receiver, 0, part_of(PARTS - 1, size)), LS_OK);
    part.index = PARTS - 1; /* the last is not the last */
    cr_expect_eq(give(receiver, 0, part), LS_MALFORMED);
    part.is_last = true; /* it has another size */
    part.size = 1;
    cr_expect_eq(give(receiver, 0, part), LS_MALFORMED);
    part.index = PARTS - 2; /* another one is it */
    cr_expect_eq(give(receiver, 0, part), LS_MALFORMED);
    cr_expect_eq(ls_blob_receiver_receive_part(receiver, 0, raw, 100), LS_MALFORMED);
    give_all(receiver, size);
    cr_expect_eq(result_of(receiver), LS_BLOB_COMPLETE);
}

Test(blob_receiver, parts_of_another_blob_are_stale)
{
    uint32_t size = make_stream();
    ls_blob_promise promise = promise_of(RAW_BYTES);
    ls_blob_receiver *receiver = NULL;
    cr_assert_eq(ls_blob_receiver_create(RAW_BYTES, ls_allocator_heap(), &receiver), LS_OK);
    keep_until_end(receiver, destroy_receiver);
    cr_expect_eq(give(receiver, 0, part_of(0, size)), LS_STALE);
    cr_expect_eq(ls_blob_receiver_next_ns(receiver), UINT64_MAX);
    cr_assert_eq(ls_blob_receiver_start(receiver, &promise, 0), LS_OK);
    ls_blob_part part = part_of(0, size);
    part.blob++;
    cr_expect_eq(give(receiver, 0, part), LS_STALE);
    ls_blob_receiver_stop(receiver);
    cr_expect_eq(give(receiver, 0, part_of(0, size)), LS_STALE);
}

/* A stream of so many bytes fails. */
static void expect_failure(uint32_t stream_bytes, ls_blob_promise promise)
{
    ls_blob_receiver *receiver = open_receiver(&promise);
    give_all(receiver, stream_bytes);
    cr_expect_eq(result_of(receiver), LS_BLOB_FAILED);
    cr_expect_null(ls_blob_receiver_bytes(receiver));
    cr_expect_eq(ls_blob_receiver_next_ns(receiver), UINT64_MAX);
    cr_expect_eq(give(receiver, 0, part_of(0, stream_bytes)), LS_STALE);
}

Test(blob_receiver, a_stream_that_is_not_what_was_promised_fails)
{
    uint32_t size = make_stream();
    ls_blob_promise promise = promise_of(RAW_BYTES);
    expect_failure(size - 1, promise); /* ends early */
    expect_failure(3, promise);
    ls_blob_promise smaller = promise_of(LS_BLOB_PIECE_BYTES - 1);
    expect_failure(LS_BLOB_PIECE_BYTES, smaller); /* a piece that is too large */
    ls_blob_promise other = promise;
    other.hash ^= 1;
    expect_failure(size, other);
    ls_store_u32(sent, 0); /* an empty piece */
    expect_failure(size, promise);
    ls_store_u32(sent, LS_BLOB_PIECE_BYTES - 1); /* no zstd frame */
    expect_failure(size, promise);
}

Test(blob_receiver, a_stream_that_goes_on_fails)
{
    static uint8_t packed[1000];
    make_stream();
    memset(raw, 0, 500);
    size_t size = ls_compress(raw, 500, packed, sizeof packed);
    cr_assert(size > 0 && size < 100);
    ls_store_u32(sent, (uint32_t)size);
    memcpy(sent + 4, packed, size);
    ls_blob_promise promise = promise_of(500);
    expect_failure((uint32_t)size + 5, promise);
    ls_blob_receiver *receiver = open_receiver(&promise);
    give_all(receiver, (uint32_t)size + 4);
    cr_expect_eq(result_of(receiver), LS_BLOB_COMPLETE);
    promise.bytes = 499; /* more comes out than should */
    expect_failure((uint32_t)size + 4, promise);
}

static ls_blob_ack ack_at(ls_blob_receiver *receiver, uint64_t now_ns)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = ls_blob_receiver_next(receiver, now_ns, bytes);
    ls_blob_ack ack;
    cr_assert_gt(size, 0);
    cr_assert_eq(ls_blob_ack_read(bytes, size, &ack), LS_OK);
    cr_assert_eq(ack.blob, BLOB);
    return ack;
}

Test(blob_receiver, acknowledges_what_it_has)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    uint32_t size = make_stream();
    ls_blob_promise promise = promise_of(RAW_BYTES);
    ls_blob_receiver *receiver = open_receiver(&promise);
    cr_expect_eq(ls_blob_receiver_next_ns(receiver), LS_BLOB_ACK_IDLE_NS);
    cr_expect_eq(ls_blob_receiver_next(receiver, LS_BLOB_ACK_IDLE_NS - 1, bytes), 0);
    ls_blob_ack ack = ack_at(receiver, LS_BLOB_ACK_IDLE_NS);
    cr_expect(ack.first == 0 && ack.received == 0 && ack.count == 0 && ack.hold == 255);

    uint64_t now_ns = 10 * LS_NS_PER_SECOND;
    static const uint32_t given[] = {0, 1, 3, 6, 3};
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(give(receiver, now_ns, part_of(given[i], size)), LS_OK);
    }
    ack = ack_at(receiver, now_ns + LS_NS_PER_MS);
    cr_expect(ack.first == 2 && ack.received == 5 && ack.newest == 6 && ack.hold == 4);
    cr_expect(ack.count == 4 && ack.has[0] == 0x9); /* 3 and 6 */
    cr_expect_eq(ls_blob_receiver_next(receiver, now_ns + 2 * LS_NS_PER_MS, bytes), 0);
    cr_assert_eq(give(receiver, now_ns + 2 * LS_NS_PER_MS, part_of(2, size)), LS_OK);
    now_ns += LS_NS_PER_MS + LS_BLOB_ACK_FIRST_NS;
    cr_expect_eq(ls_blob_receiver_next_ns(receiver), now_ns);
    ack = ack_at(receiver, now_ns);
    cr_expect(ack.first == 4 && ack.received == 6 && ack.count == 2);
}

Test(blob_receiver, acknowledges_more_often_at_first)
{
    uint32_t size = make_stream();
    ls_blob_promise promise = promise_of(RAW_BYTES);
    ls_blob_receiver *receiver = open_receiver(&promise);
    uint64_t now_ns = LS_NS_PER_SECOND;
    for (uint32_t acks = 0; acks < 2 * LS_BLOB_ACKS_FIRST; acks++) {
        cr_assert_eq(give(receiver, now_ns, part_of(0, size)), LS_OK);
        cr_assert_eq(ack_at(receiver, now_ns).received, acks + 1);
        cr_assert_eq(give(receiver, now_ns, part_of(0, size)), LS_OK);
        bool is_early = acks + 1 < LS_BLOB_ACKS_FIRST;
        uint64_t wait_ns = is_early ? LS_BLOB_ACK_FIRST_NS : LS_BLOB_ACK_NS;
        cr_assert_eq(ls_blob_receiver_next_ns(receiver), now_ns + wait_ns);
        now_ns += LS_NS_PER_SECOND;
        acks++;
        cr_assert_eq(ack_at(receiver, now_ns).received, acks + 1);
        now_ns += LS_NS_PER_SECOND;
    }
}

Test(blob_receiver, a_complete_blob_is_acknowledged_when_asked)
{
    uint32_t size = make_stream();
    ls_blob_promise promise = promise_of(RAW_BYTES);
    ls_blob_receiver *receiver = open_receiver(&promise);
    give_all(receiver, size);
    cr_assert_eq(result_of(receiver), LS_BLOB_COMPLETE);
    cr_expect_eq(ack_at(receiver, LS_NS_PER_SECOND).first, PARTS);
    cr_expect_eq(ls_blob_receiver_next_ns(receiver), UINT64_MAX);
    cr_assert_eq(give(receiver, 2 * LS_NS_PER_SECOND, part_of(9, size)), LS_OK);
    cr_expect_eq(ack_at(receiver, 2 * LS_NS_PER_SECOND).first, PARTS);
}

Test(blob_receiver, a_part_beyond_the_window_is_not_kept)
{
    enum {
        LARGE = 20 << 20
    };
    ls_blob_receiver *receiver = NULL;
    cr_assert_eq(ls_blob_receiver_create(LARGE, ls_allocator_heap(), &receiver), LS_OK);
    keep_until_end(receiver, destroy_receiver);
    ls_blob_promise promise = {BLOB, LARGE, 0};
    cr_assert_eq(ls_blob_receiver_start(receiver, &promise, 0), LS_OK);
    make_stream();
    ls_blob_part part = part_of(0, RAW_BYTES);
    part.index = LS_BLOB_WINDOW_PARTS;
    cr_expect_eq(give(receiver, 0, part), LS_FUTURE);
    part.index = LS_BLOB_WINDOW_PARTS - 1;
    cr_expect_eq(give(receiver, 0, part), LS_OK);
    part.index = 0;
    cr_expect_eq(give(receiver, 0, part), LS_OK);
    ls_blob_ack ack = ack_at(receiver, LS_NS_PER_SECOND);
    cr_expect(ack.first == 1 && ack.count == 0, "no acknowledgement tells so far ahead");
    part.index = LS_BLOB_ACK_PARTS;
    cr_expect_eq(give(receiver, 2 * LS_NS_PER_SECOND, part), LS_OK);
    ack = ack_at(receiver, 2 * LS_NS_PER_SECOND);
    cr_expect(ack.first == 1 && ack.count == LS_BLOB_ACK_PARTS - 1);
    cr_expect(!ls_blob_receiver_advance(receiver, 1)); /* part 0 leaves the ring */
    part.index = LS_BLOB_WINDOW_PARTS;
    cr_expect_eq(give(receiver, 0, part), LS_OK);
}

Test(blob_receiver, every_failed_allocation_is_survived)
{
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_blob_receiver *receiver = NULL;
        refused.status = ls_blob_receiver_create(RAW_BYTES, &refused.counting.allocator, &receiver);
        ls_blob_receiver_destroy(receiver);
    }
    ls_blob_receiver_destroy(NULL);
}
