#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/hash_variant.h"

uint64_t ls_hash_bytes_avx2(const void *bytes, size_t size, uint64_t seed)
{
    return ls_hash_variant_bytes(bytes, size, seed);
}

void ls_hash_chunks_avx2(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes)
{
    ls_hash_variant_chunks(bytes, size, chunk_bytes, hashes);
}
