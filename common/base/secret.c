#include "lockstep/common/base/secret.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/cipher.h"

#include <string.h>

static const uint8_t match_id_name[] = "lockstep match";
static const uint8_t seal_name[] = "lockstep seal";
static const uint8_t return_name[] = "lockstep return";

ls_status ls_secret_key_random(ls_secret_key *out)
{
    ls_status status = ls_cipher_init();
    if (status == LS_OK) {
        ls_cipher_random(out->bytes, sizeof out->bytes);
    }
    return status;
}

static void keyed_hash(const ls_secret_key *key, const uint8_t *bytes, size_t size,
                       uint8_t out[LS_SECRET_BYTES])
{
    ls_cipher_hash(key->bytes, sizeof key->bytes, bytes, size, out, LS_SECRET_BYTES);
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

void ls_secret_renew(const ls_secret_key *key, const uint8_t first[LS_SECRET_BYTES],
                     uint32_t number, uint8_t out[LS_SECRET_BYTES])
{
    uint8_t bytes[sizeof return_name + LS_SECRET_BYTES + 4];
    if (number == 0) {
        memmove(out, first, LS_SECRET_BYTES);
        return;
    }
    memcpy(bytes, return_name, sizeof return_name);
    memcpy(bytes + sizeof return_name, first, LS_SECRET_BYTES);
    ls_store_u32(bytes + sizeof return_name + LS_SECRET_BYTES, number);
    keyed_hash(key, bytes, sizeof bytes, out);
}

uint32_t ls_secret_seal(const ls_secret_key *key, uint64_t match_id, uint32_t tick, uint64_t chain)
{
    uint8_t bytes[sizeof seal_name + 20];
    uint8_t hash[LS_SECRET_BYTES];
    memcpy(bytes, seal_name, sizeof seal_name);
    ls_store_u64(bytes + sizeof seal_name, match_id);
    ls_store_u32(bytes + sizeof seal_name + 8, tick);
    ls_store_u64(bytes + sizeof seal_name + 12, chain);
    keyed_hash(key, bytes, sizeof bytes, hash);
    return ls_load_u32(hash);
}

bool ls_secret_is_equal(const uint8_t a[LS_SECRET_BYTES], const uint8_t b[LS_SECRET_BYTES])
{
    return ls_cipher_is_equal(a, b, LS_SECRET_BYTES);
}
