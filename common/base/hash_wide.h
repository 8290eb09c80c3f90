/* Hash for processors with wide registers: the same values, at 1.5 times the speed or more. A file
 * for each kind, since it is built for those processors alone. */
#ifndef LOCKSTEP_COMMON_BASE_HASH_WIDE_H
#define LOCKSTEP_COMMON_BASE_HASH_WIDE_H

#include <stddef.h>
#include <stdint.h>

uint64_t ls_hash_bytes_avx2(const void *bytes, size_t size, uint64_t seed);
uint64_t ls_hash_bytes_avx512(const void *bytes, size_t size, uint64_t seed);

void ls_hash_chunks_avx2(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes);
void ls_hash_chunks_avx512(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes);

/* For any processor. */
uint64_t ls_hash_bytes_plain(const void *bytes, size_t size, uint64_t seed);
void ls_hash_chunks_plain(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes);

#endif
