#include "lockstep/common/base/secret.h"

#include "lockstep/common/base/byte_io.h"

#include <sodium.h>

static const uint8_t match_id_name[] = "lockstep match";

ls_status ls_secret_key_random(ls_secret_key *out)
{
    if (sodium_init() < 0) {
        return LS_IO;
    }
    randombytes_buf(out->bytes, sizeof out->bytes);
    return LS_OK;
}

static void keyed_hash(const ls_secret_key *key, const uint8_t *bytes, size_t size,
                       uint8_t out[LS_SECRET_BYTES])
{
    /* Fails only for sizes that it does not know. */
    (void)crypto_generichash(out, LS_SECRET_BYTES, bytes, size, key->bytes, sizeof key->bytes);
}

uint64_t ls_secret_match_id(const ls_secret_key *key)
{
    uint8_t hash[LS_SECRET_BYTES];
    keyed_hash(key, match_id_name, sizeof match_id_name, hash);
    uint64_t id = ls_load_u64(hash);
    return id != 0 ? id : 1;
}

void ls_secret_derive(const ls_secret_key *key, uint64_t match_id, uint32_t slot, uint32_t turn,
                      uint8_t out[LS_SECRET_BYTES])
{
    uint8_t bytes[16];
    ls_store_u64(bytes, match_id);
    ls_store_u32(bytes + 8, slot);
    ls_store_u32(bytes + 12, turn);
    keyed_hash(key, bytes, sizeof bytes, out);
}

bool ls_secret_is_equal(const uint8_t a[LS_SECRET_BYTES], const uint8_t b[LS_SECRET_BYTES])
{
    return sodium_memcmp(a, b, LS_SECRET_BYTES) == 0;
}
