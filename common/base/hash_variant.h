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
static inline void ls_hash_variant_chunks(const void *bytes, size_t size, size_t chunk_bytes,
                                          uint8_t *hashes)
{
    const uint8_t *chunk = bytes;
    for (size_t rest = size; rest > 0; hashes += sizeof(uint64_t)) {
        size_t now = LS_MIN(rest, chunk_bytes);
        ls_store_u64(hashes, XXH3_64bits(chunk, now));
        chunk += now;
        rest -= now;
    }
}

#endif
