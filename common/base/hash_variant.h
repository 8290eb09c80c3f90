/* Hash variant: the hashes of hash.h as the file that includes this is built, for any processor or
 * for those with wide registers. Included by the files of the variants alone. */
#ifndef LOCKSTEP_COMMON_BASE_HASH_VARIANT_H
#define LOCKSTEP_COMMON_BASE_HASH_VARIANT_H

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/language.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t ls_hash_variant_bytes(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}

/* For any seed but 0 XXH3 would derive a new secret for every chunk. */
static inline void ls_hash_variant_each(const uint8_t *chunks, size_t size, size_t chunk_bytes,
                                        uint8_t *hashes)
{
    for (size_t rest = size; rest > 0; hashes += sizeof(uint64_t)) {
        size_t now = LS_MIN(rest, chunk_bytes);
        ls_store_u64(hashes, XXH3_64bits(chunks, now));
        chunks += now;
        rest -= now;
    }
}

#if defined(__AVX2__)

#include <immintrin.h>

/* ---- chunks of whole blocks ----
 *
 * XXH3's long hash bit for bit, a seventh faster than its own: that one adds each word of the input
 * to the sum of the word's neighbour. Here the words are added up as they lie, and change places
 * once in a block in place of once in a stripe. With registers of 128 bits gcc runs out of them,
 * and XXH3's own is faster.
 *
 * The processor fetches ahead on its own, but stops at the end of a page, which is where a chunk
 * ends: without LS_HASH_AHEAD_BYTES a state beyond the caches takes a tenth more time. */

#if defined(__AVX512F__)

typedef uint64_t ls_hash_register __attribute__((vector_size(64)));

/* Of the two halves of each word. */
static inline ls_hash_register ls_hash_products(ls_hash_register words)
{
    return (ls_hash_register)_mm512_mul_epu32((__m512i)words, (__m512i)(words >> 32));
}

static inline ls_hash_register ls_hash_neighbours(ls_hash_register words)
{
    return (ls_hash_register)_mm512_shuffle_epi32((__m512i)words,
                                                  (_MM_PERM_ENUM)_MM_SHUFFLE(1, 0, 3, 2));
}

#else

typedef uint64_t ls_hash_register __attribute__((vector_size(32)));

static inline ls_hash_register ls_hash_products(ls_hash_register words)
{
    return (ls_hash_register)_mm256_mul_epu32((__m256i)words, (__m256i)(words >> 32));
}

static inline ls_hash_register ls_hash_neighbours(ls_hash_register words)
{
    return (ls_hash_register)_mm256_shuffle_epi32((__m256i)words, _MM_SHUFFLE(1, 0, 3, 2));
}

#endif

#define LS_HASH_STRIPES ((sizeof XXH3_kSecret - XXH_STRIPE_LEN) / XXH_SECRET_CONSUME_RATE)
#define LS_HASH_BLOCK_BYTES (LS_HASH_STRIPES * XXH_STRIPE_LEN)
#define LS_HASH_REGISTERS (XXH_STRIPE_LEN / sizeof(ls_hash_register))
#define LS_HASH_AHEAD_BYTES 1024u

static inline ls_hash_register ls_hash_load(const uint8_t *bytes)
{
    ls_hash_register words;
    memcpy(&words, bytes, sizeof words);
    return words;
}

typedef union ls_hash_sums {
    XXH_ALIGN(XXH_ACC_ALIGN) xxh_u64 words[XXH_ACC_NB];
    ls_hash_register registers[LS_HASH_REGISTERS];
} ls_hash_sums;

/* Of one block, so that the next one's are added up while those of all blocks are scrambled. */
typedef struct ls_hash_block {
    ls_hash_register products[LS_HASH_REGISTERS];
    ls_hash_register words[LS_HASH_REGISTERS];
} ls_hash_block;

static inline void ls_hash_add_stripe(ls_hash_block *sums, const uint8_t *stripe,
                                      const uint8_t *key)
{
    __builtin_prefetch((const void *)((uintptr_t)stripe + LS_HASH_AHEAD_BYTES));
    for (size_t i = 0; i < LS_HASH_REGISTERS; i++) {
        ls_hash_register now = ls_hash_load(stripe + i * sizeof now);
        ls_hash_register mixed = now ^ ls_hash_load(key + i * sizeof now);
        sums->words[i] += now;
        sums->products[i] += ls_hash_products(mixed);
    }
}

/* The last stripe has a key of its own. */
static inline void ls_hash_add_block(ls_hash_sums *sums, const uint8_t *block,
                                     const uint8_t *last_key)
{
    ls_hash_block now = {0};
#if !defined(__clang__) /* gcc would need more registers than there are for all at once */
#pragma GCC unroll 2
#endif
    for (size_t i = 0; i + 1 < LS_HASH_STRIPES; i++) {
        ls_hash_add_stripe(&now, block + i * XXH_STRIPE_LEN,
                           XXH3_kSecret + i * XXH_SECRET_CONSUME_RATE);
    }
    ls_hash_add_stripe(&now, block + LS_HASH_BLOCK_BYTES - XXH_STRIPE_LEN, last_key);
    for (size_t i = 0; i < LS_HASH_REGISTERS; i++) {
        sums->registers[i] += now.products[i] + ls_hash_neighbours(now.words[i]);
    }
}

static inline uint64_t ls_hash_blocks(const uint8_t *blocks, size_t size)
{
    static const ls_hash_sums first = {.words = XXH3_INIT_ACC};
    const uint8_t *end_key = XXH3_kSecret + sizeof XXH3_kSecret - XXH_STRIPE_LEN;
    ls_hash_sums sums = first;
    size_t at = 0;
    for (; at + LS_HASH_BLOCK_BYTES < size; at += LS_HASH_BLOCK_BYTES) {
        ls_hash_add_block(&sums, blocks + at, end_key - XXH_SECRET_CONSUME_RATE);
        XXH3_scrambleAcc(sums.words, end_key);
    }
    ls_hash_add_block(&sums, blocks + at, end_key - XXH_SECRET_LASTACC_START);
    return XXH3_mergeAccs(sums.words, XXH3_kSecret + XXH_SECRET_MERGEACCS_START,
                          (xxh_u64)size * XXH_PRIME64_1);
}

static inline void ls_hash_variant_chunks(const void *bytes, size_t size, size_t chunk_bytes,
                                          uint8_t *hashes)
{
    const uint8_t *chunks = bytes;
    size_t whole = chunk_bytes % LS_HASH_BLOCK_BYTES == 0 ? size - size % chunk_bytes : 0;
    for (size_t at = 0; at < whole; at += chunk_bytes, hashes += sizeof(uint64_t)) {
        ls_store_u64(hashes, ls_hash_blocks(chunks + at, chunk_bytes));
    }
    ls_hash_variant_each(chunks + whole, size - whole, chunk_bytes, hashes);
}

#else

static inline void ls_hash_variant_chunks(const void *bytes, size_t size, size_t chunk_bytes,
                                          uint8_t *hashes)
{
    ls_hash_variant_each(bytes, size, chunk_bytes, hashes);
}

#endif

#endif
