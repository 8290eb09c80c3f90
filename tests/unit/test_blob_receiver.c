#include "lockstep/protocol/blob/blob_receiver.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    RAW_BYTES = 70000, /* two pieces, random: the stream has 62 parts */
    PARTS = 62,
    BLOB = 4,
};

static uint8_t raw[RAW_BYTES];
static uint8_t stream[RAW_BYTES + 8];

/* The stream of `raw`, as it is. */
static uint32_t make_stream(void)
{
    ls_rng rng = ls_rng_make(2, 1);
    for (uint32_t i = 0; i < RAW_BYTES; i++) {
        raw[i] = (uint8_t)ls_rng_next(&rng);
    }
    ls_store_u32(stream, LS_BLOB_PIECE_BYTES);
    memcpy(stream + 4, raw, LS_BLOB_PIECE_BYTES);
    ls_store_u32(stream + 4 + LS_BLOB_PIECE_BYTES, RAW_BYTES - LS_BLOB_PIECE_BYTES);
    memcpy(stream + 8 + LS_BLOB_PIECE_BYTES, raw + LS_BLOB_PIECE_BYTES,
           RAW_BYTES - LS_BLOB_PIECE_BYTES);
    return sizeof stream;
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
                          .bytes = stream + start};
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
    ls_store_u32(stream, 0); /* an empty piece */
    expect_failure(size, promise);
    ls_store_u32(stream, LS_BLOB_PIECE_BYTES - 1); /* no zstd frame */
    expect_failure(size, promise);
}

Test(blob_receiver, a_stream_that_goes_on_fails)
{
    static uint8_t packed[1000];
    make_stream();
    memset(raw, 0, 500);
    size_t size = ls_compress(raw, 500, packed, sizeof packed);
    cr_assert(size > 0 && size < 100);
    ls_store_u32(stream, (uint32_t)size);
    memcpy(stream + 4, packed, size);
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
