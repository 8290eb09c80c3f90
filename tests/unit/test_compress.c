#include "lockstep/common/compress/compress.h"

#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

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
