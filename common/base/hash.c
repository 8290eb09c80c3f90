#include "lockstep/common/base/hash.h"

#include "lockstep/common/base/byte_io.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#if defined(LS_HAS_HASH_AVX2)
#include "lockstep/common/base/hash_avx2.h"

#define LONG_BYTES 1024 /* from here on asking the processor costs less than it saves */
#endif

uint64_t ls_hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
#if defined(LS_HAS_HASH_AVX2)
    if (size >= LONG_BYTES && __builtin_cpu_supports("avx2")) {
        return ls_hash_bytes_avx2(bytes, size, seed);
    }
#endif
    return XXH3_64bits_withSeed(bytes, size, seed);
}

uint64_t ls_hash_pair(uint64_t a, uint64_t b)
{
    uint8_t bytes[16];
    ls_store_u64(bytes, a);
    ls_store_u64(bytes + 8, b);
    return ls_hash_bytes(bytes, sizeof bytes, 0);
}

#define TEXT_OF(number) #number
#define NUMBER_TEXT(number) TEXT_OF(number)

const char *ls_hash_library(void)
{
    return "xxhash " NUMBER_TEXT(XXH_VERSION_MAJOR) "." NUMBER_TEXT(
        XXH_VERSION_MINOR) "." NUMBER_TEXT(XXH_VERSION_RELEASE);
}
