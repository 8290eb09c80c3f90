#include "lockstep/common/base/hash_avx2.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t ls_hash_bytes_avx2(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}
