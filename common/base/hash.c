#include "lockstep/common/base/hash.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash_variant.h"

#define LONG_BYTES 1024 /* from here on asking the processor costs less than it saves */

uint64_t ls_hash_bytes_plain(const void *bytes, size_t size, uint64_t seed)
{
    return ls_hash_variant_bytes(bytes, size, seed);
}

void ls_hash_chunks_plain(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes)
{
    ls_hash_variant_chunks(bytes, size, chunk_bytes, hashes);
}

#if defined(LS_HAS_HASH_WIDE)
uint64_t ls_hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
    if (size >= LONG_BYTES && __builtin_cpu_supports("avx512f")) {
        return ls_hash_bytes_avx512(bytes, size, seed);
    } else if (size >= LONG_BYTES && __builtin_cpu_supports("avx2")) {
        return ls_hash_bytes_avx2(bytes, size, seed);
    }
    return ls_hash_bytes_plain(bytes, size, seed);
}

void ls_hash_chunks(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes)
{
    if (size >= LONG_BYTES && __builtin_cpu_supports("avx512f")) {
        ls_hash_chunks_avx512(bytes, size, chunk_bytes, hashes);
    } else if (size >= LONG_BYTES && __builtin_cpu_supports("avx2")) {
        ls_hash_chunks_avx2(bytes, size, chunk_bytes, hashes);
    } else {
        ls_hash_chunks_plain(bytes, size, chunk_bytes, hashes);
    }
}
#else
uint64_t ls_hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
    return ls_hash_bytes_plain(bytes, size, seed);
}

void ls_hash_chunks(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes)
{
    ls_hash_chunks_plain(bytes, size, chunk_bytes, hashes);
}
#endif

LS_TICK_CODE uint64_t ls_hash_pair(uint64_t a, uint64_t b)
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
