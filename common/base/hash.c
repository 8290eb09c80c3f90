#include "lockstep/common/base/hash.h"

#include "lockstep/common/base/byte_io.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t ls_hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
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
