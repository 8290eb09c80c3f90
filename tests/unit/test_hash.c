#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/hash_wide.h"

#include <criterion/criterion.h>
#include <string.h>

#define PRIME_32 UINT64_C(2654435761)
#define PRIME_64 UINT64_C(11400714785074694797)

enum {
    SAMPLE_BYTES = 2048
};

/* The sample of xxHash's own sanity checks (xxhash v0.8, tests/sanity_test.c). */
static void fill_sample(uint8_t sample[SAMPLE_BYTES])
{
    uint64_t generator = PRIME_32;
    for (size_t i = 0; i < SAMPLE_BYTES; i++) {
        sample[i] = (uint8_t)(generator >> 56);
        generator *= PRIME_64;
    }
}

Test(hash, equals_the_published_vectors_of_xxh3)
{
    static const struct {
        size_t size;
        uint64_t seed;
        uint64_t hash;
    } vectors[] = {
        {0, 0, UINT64_C(0x2D06800538D394C2)},    {0, PRIME_64, UINT64_C(0xA8A6B918B2F0364A)},
        {1, 0, UINT64_C(0xC44BDFF4074EECDB)},    {1, PRIME_64, UINT64_C(0x032BE332DD766EF8)},
        {6, 0, UINT64_C(0x27B56A84CD2D7325)},    {6, PRIME_64, UINT64_C(0x84589C116AB59AB9)},
        {12, 0, UINT64_C(0xA713DAF0DFBB77E7)},   {24, 0, UINT64_C(0xA3FE70BF9D3510EB)},
        {48, 0, UINT64_C(0x397DA259ECBA1F11)},   {80, 0, UINT64_C(0xBCDEFBBB2C47C90A)},
        {195, 0, UINT64_C(0xCD94217EE362EC3A)},  {403, 0, UINT64_C(0xCDEB804D65C6DEA4)},
        {2048, 0, UINT64_C(0xDD59E2C3A5F038E0)},
    };
    uint8_t sample[SAMPLE_BYTES];
    fill_sample(sample);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint64_t hash = ls_hash_bytes(sample, vectors[i].size, vectors[i].seed);
        cr_expect_eq(hash, vectors[i].hash, "%zu bytes: %016llx", vectors[i].size,
                     (unsigned long long)hash);
    }
}

Test(hash, chunks_are_hashed_each_for_itself)
{
    uint8_t sample[SAMPLE_BYTES];
    uint8_t hashes[3 * sizeof(uint64_t)];
    fill_sample(sample);
    ls_hash_chunks(sample, 2000, 900, hashes);
    cr_expect_eq(ls_load_u64(hashes), ls_hash_bytes(sample, 900, 0));
    cr_expect_eq(ls_load_u64(hashes + 8), ls_hash_bytes(sample + 900, 900, 0));
    cr_expect_eq(ls_load_u64(hashes + 16), ls_hash_bytes(sample + 1800, 200, 0));
}

/* ---- processors with wide registers ---- */

#if defined(__x86_64__)
typedef uint64_t (*bytes_hash)(const void *bytes, size_t size, uint64_t seed);
typedef void (*chunks_hash)(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes);

static void expect_same(bytes_hash wide, chunks_hash chunks)
{
    enum {
        LEAST_CHUNK_BYTES = 900
    };
    static const size_t chunk_bytes[] = {4096, 1024, 2048, LEAST_CHUNK_BYTES};
    static uint8_t bytes[1 << 17];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * i >> 3);
    }
    for (size_t size = 0; size + 4 <= sizeof bytes; size += 1 + size / 7) {
        for (size_t at = 0; at < 3; at++) {
            cr_assert_eq(wide(bytes + at, size, size), ls_hash_bytes_plain(bytes + at, size, size),
                         "%zu bytes from %zu", size, at);
        }
        for (size_t i = 0; i < sizeof chunk_bytes / sizeof chunk_bytes[0]; i++) {
            uint8_t hashes[2][sizeof bytes / LEAST_CHUNK_BYTES * 8 + 8] = {{0}};
            chunks(bytes + i, size, chunk_bytes[i], hashes[0]);
            ls_hash_chunks_plain(bytes + i, size, chunk_bytes[i], hashes[1]);
            cr_assert_arr_eq(hashes[0], hashes[1], sizeof hashes[0], "%zu bytes in chunks of %zu",
                             size, chunk_bytes[i]);
        }
    }
}

Test(hash, is_the_same_with_avx2)
{
    if (!__builtin_cpu_supports("avx2")) {
        cr_skip("this processor has no AVX2");
    }
    expect_same(ls_hash_bytes_avx2, ls_hash_chunks_avx2);
}

Test(hash, is_the_same_with_avx512)
{
    if (!__builtin_cpu_supports("avx512f")) {
        cr_skip("this processor has no AVX-512");
    }
    expect_same(ls_hash_bytes_avx512, ls_hash_chunks_avx512);
}
#endif

Test(hash, no_bytes_at_all_need_no_address)
{
    cr_assert_eq(ls_hash_bytes(NULL, 0, 0), ls_hash_bytes("x", 0, 0));
}

Test(hash, does_not_depend_on_the_address)
{
    uint8_t sample[SAMPLE_BYTES];
    uint8_t moved[SAMPLE_BYTES + 16];
    fill_sample(sample);
    uint64_t hash = ls_hash_bytes(sample, SAMPLE_BYTES, 0);
    for (size_t at = 0; at < 16; at++) {
        memcpy(moved + at, sample, SAMPLE_BYTES);
        cr_assert_eq(ls_hash_bytes(moved + at, SAMPLE_BYTES, 0), hash);
    }
}

Test(hash, every_flipped_bit_changes_it)
{
    uint8_t sample[SAMPLE_BYTES];
    fill_sample(sample);
    uint64_t hash = ls_hash_bytes(sample, SAMPLE_BYTES, 0);
    for (size_t bit = 0; bit < 8 * SAMPLE_BYTES; bit++) {
        sample[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_neq(ls_hash_bytes(sample, SAMPLE_BYTES, 0), hash, "bit %zu", bit);
        sample[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

Test(hash, a_pair_is_the_hash_of_its_little_endian_bytes)
{
    static const uint8_t bytes[] = {8,    7,    6,    5,    4,    3,    2,    1,
                                    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11};
    cr_assert_eq(ls_hash_pair(UINT64_C(0x0102030405060708), UINT64_C(0x1112131415161718)),
                 ls_hash_bytes(bytes, sizeof bytes, 0));
}

Test(hash, a_pair_has_an_order)
{
    cr_assert_neq(ls_hash_pair(1, 2), ls_hash_pair(2, 1));
    cr_assert_neq(ls_hash_pair(0, 0), 0);
    cr_assert_neq(ls_hash_pair(0, 1), ls_hash_pair(0, 0));
}
