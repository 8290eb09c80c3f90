/* Streams of bytes and blocks, and what compresses them. */
#include "lockstep/common/base/byte_stream.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- byte_stream ---- */

typedef struct sample {
    uint8_t small;
    uint32_t ranged;
    uint64_t large;
    char text[8];
    uint8_t bytes[3];
} sample;

static void sample_stream(ls_byte_stream *stream, sample *value)
{
    ls_byte_stream_u8(stream, &value->small);
    ls_byte_stream_ranged(stream, &value->ranged, 5, 9);
    ls_byte_stream_u64(stream, &value->large);
    ls_byte_stream_text(stream, value->text, sizeof value->text);
    ls_byte_stream_bytes(stream, value->bytes, sizeof value->bytes);
}

static const sample one = {7, 9, UINT64_C(0x0102030405060708), "seven77", {1, 2, 3}};

enum {
    SAMPLE_BYTES = 1 + 4 + 8 + 4 + 7 + 3
};

Test(byte_stream, measured_fields_are_written_and_read_back)
{
    sample value = one;
    ls_byte_stream measured = ls_byte_stream_measure();
    sample_stream(&measured, &value);
    cr_expect_eq(measured.at, SAMPLE_BYTES);
    uint8_t bytes[SAMPLE_BYTES];
    ls_byte_stream written = ls_byte_stream_write(bytes, sizeof bytes);
    sample_stream(&written, &value);
    cr_assert_not(written.has_failed);
    cr_expect_eq(written.at, SAMPLE_BYTES);
    cr_expect_eq(bytes[5], 8, "little-endian");
    sample read;
    memset(&read, 0, sizeof read);
    ls_byte_stream reader = ls_byte_stream_read(bytes, sizeof bytes);
    sample_stream(&reader, &read);
    cr_assert_not(reader.has_failed);
    cr_expect_eq(reader.at, SAMPLE_BYTES);
    cr_expect_eq(read.small, 7);
    cr_expect_eq(read.ranged, 9);
    cr_expect_eq(read.large, one.large);
    cr_expect_str_eq(read.text, "seven77");
    cr_expect_eq(memcmp(read.bytes, one.bytes, 3), 0);
}

Test(byte_stream, a_byte_too_few_fails_wherever_it_is_missing)
{
    uint8_t bytes[SAMPLE_BYTES];
    for (size_t size = 0; size < SAMPLE_BYTES; size++) {
        sample value = one;
        ls_byte_stream stream = ls_byte_stream_write(bytes, size);
        sample_stream(&stream, &value);
        cr_assert(stream.has_failed);
        stream = ls_byte_stream_read(bytes, size);
        sample_stream(&stream, &value);
        cr_assert(stream.has_failed);
        cr_assert_leq(stream.at, size);
    }
}

Test(byte_stream, values_out_of_range_fail_and_are_brought_into_it)
{
    uint8_t bytes[4] = {10, 0, 0, 0};
    uint32_t value = 0;
    ls_byte_stream stream = ls_byte_stream_read(bytes, sizeof bytes);
    ls_byte_stream_ranged(&stream, &value, 5, 9);
    cr_expect(stream.has_failed);
    cr_expect_eq(value, 5);
}

Test(byte_stream, texts_that_are_too_long_or_unprintable_do_no_harm)
{
    uint8_t bytes[] = {8, 0, 0, 0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
    char text[8];
    ls_byte_stream stream = ls_byte_stream_read(bytes, sizeof bytes);
    ls_byte_stream_text(&stream, text, sizeof text);
    cr_expect(stream.has_failed);
    cr_expect_str_eq(text, "");
    bytes[0] = 7;
    bytes[5] = '\n';
    stream = ls_byte_stream_read(bytes, sizeof bytes);
    ls_byte_stream_text(&stream, text, sizeof text);
    cr_expect_not(stream.has_failed);
    cr_expect_str_eq(text, "a?cdefg");
}

/* ---- compress ---- */

enum {
    BYTES = 100000
};

static uint8_t input[BYTES], packed[2 * BYTES], output[BYTES + 1];

static size_t pack(void)
{
    for (size_t i = 0; i < BYTES; i++) {
        input[i] = (uint8_t)(i * i / 1000);
    }
    cr_assert_leq(ls_compress_bound(BYTES), sizeof packed);
    return ls_compress(input, BYTES, packed, sizeof packed);
}

Test(compress, gives_back_what_it_took)
{
    size_t size = pack();
    cr_assert(size > 0 && size < BYTES);
    cr_assert_eq(ls_decompress(packed, size, output, BYTES), LS_OK);
    cr_expect_eq(memcmp(input, output, BYTES), 0);
}

Test(compress, only_the_stated_size_comes_out)
{
    size_t size = pack();
    cr_expect_eq(ls_decompress(packed, size, output, BYTES - 1), LS_MALFORMED);
    cr_expect_eq(ls_decompress(packed, size, output, BYTES + 1), LS_MALFORMED);
    cr_expect_eq(ls_decompress(packed, size - 1, output, BYTES), LS_MALFORMED);
    cr_expect_eq(ls_decompress(packed, 0, output, BYTES), LS_MALFORMED);
    cr_expect_eq(ls_decompress(input, BYTES, output, BYTES), LS_MALFORMED);
}

Test(compress, bytes_that_do_not_fit_are_not_written)
{
    size_t size = pack();
    cr_expect_eq(ls_compress(input, BYTES, packed, size / 2), 0);
}

Test(compress, contexts_take_their_memory_once)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_compressor *compressor = ls_compressor_create(&counting.allocator);
    ls_decompressor *decompressor = ls_decompressor_create(&counting.allocator);
    cr_assert(compressor && decompressor);
    uint64_t bytes = counting.live_bytes;
    cr_expect_leq(bytes, 720u << 10);
    size_t size = pack();
    for (size_t part = BYTES; part > 0; part /= 3) {
        size = ls_compressor_run(compressor, input, part, packed, sizeof packed);
        cr_assert_gt(size, 0);
        cr_assert_eq(ls_decompressor_run(decompressor, packed, size, output, part), LS_OK);
        cr_assert_eq(memcmp(input, output, part), 0);
        cr_assert_eq(ls_decompressor_run(decompressor, packed, size, output, part + 1),
                     LS_MALFORMED);
        cr_assert_eq(ls_decompressor_run(decompressor, packed, size - 1, output, part),
                     LS_MALFORMED);
    }
    cr_expect_eq(counting.live_bytes, bytes);
    ls_compressor_destroy(compressor);
    ls_decompressor_destroy(decompressor);
    cr_expect_eq(counting.live_blocks, 0);
    counting.allowed = 0;
    cr_expect_null(ls_compressor_create(&counting.allocator));
    cr_expect_null(ls_decompressor_create(&counting.allocator));
}
