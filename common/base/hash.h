/* Hash: 64-bit hashes of bytes (XXH3). The only place that names xxHash. Not cryptographic: it
 * finds accidents, not forgeries. */
#ifndef LOCKSTEP_COMMON_BASE_HASH_H
#define LOCKSTEP_COMMON_BASE_HASH_H

#include "lockstep/common/base/language.h"

#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* XXH3-64 with a seed; the same on every machine for the same bytes. `bytes` may be NULL when
 * `size` is 0. */
uint64_t ls_hash_bytes(const void *bytes, size_t size, uint64_t seed);

/* The hashes of chunks of `chunk_bytes`, the last one of what is left, each by seed 0 and stored as
 * a u64 in little-endian order. */
void ls_hash_chunks(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes);

/* A hash of two 64-bit numbers, order-sensitive: for chains and digests of numbers. */
uint64_t ls_hash_pair(uint64_t a, uint64_t b);

/* "xxhash 0.8.1" */
const char *ls_hash_library(void);

/* ---- for processors with wide registers: the same values, at 1.5 times the speed or more. A file
 * for each kind, since it is built for those processors alone ---- */

uint64_t ls_hash_bytes_avx2(const void *bytes, size_t size, uint64_t seed);
uint64_t ls_hash_bytes_avx512(const void *bytes, size_t size, uint64_t seed);

void ls_hash_chunks_avx2(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes);
void ls_hash_chunks_avx512(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes);

/* For any processor. */
uint64_t ls_hash_bytes_plain(const void *bytes, size_t size, uint64_t seed);
void ls_hash_chunks_plain(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes);

LS_C_END

#endif
