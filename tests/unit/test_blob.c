#include "lockstep/protocol/blob/blob.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

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
