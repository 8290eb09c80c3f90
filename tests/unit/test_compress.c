#include "lockstep/common/compress.h"

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

Test(compress, what_does_not_fit_is_not_written)
{
    size_t size = pack();
    cr_expect_eq(ls_compress(input, BYTES, packed, size / 2), 0);
}
