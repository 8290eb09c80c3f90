#include "lockstep/protocol/sealed/address_cookie.h"

#include "lockstep/common/base/byte_io.h"

#include <string.h>

#define ENDPOINT_BYTES (LS_ENDPOINT_ADDRESS_BYTES + 2u)

static void write_endpoint(const ls_endpoint *endpoint, uint8_t bytes[ENDPOINT_BYTES])
{
    memcpy(bytes, endpoint->address, LS_ENDPOINT_ADDRESS_BYTES);
    ls_store_u16(bytes + LS_ENDPOINT_ADDRESS_BYTES, endpoint->port);
}

void ls_address_cookie_make(const uint8_t key[LS_CIPHER_KEY_BYTES], const ls_endpoint *address,
                            const uint8_t client_key[LS_CIPHER_KEY_BYTES], uint64_t time_ms,
                            uint8_t out[LS_ADDRESS_COOKIE_BYTES])
{
    uint8_t bytes[ENDPOINT_BYTES + LS_CIPHER_KEY_BYTES + 8];
    write_endpoint(address, bytes);
    memcpy(bytes + ENDPOINT_BYTES, client_key, LS_CIPHER_KEY_BYTES);
    ls_store_u64(bytes + ENDPOINT_BYTES + LS_CIPHER_KEY_BYTES, time_ms);
    ls_cipher_hash(key, LS_CIPHER_KEY_BYTES, bytes, sizeof bytes, out, LS_ADDRESS_COOKIE_BYTES);
}

bool ls_address_cookie_is_good(const uint8_t key[LS_CIPHER_KEY_BYTES], const ls_endpoint *address,
                               const ls_address_cookie *cookie, uint64_t now_ms)
{
    if (cookie->time_ms > now_ms || now_ms - cookie->time_ms > LS_ADDRESS_COOKIE_LIFE_MS) {
        return false;
    }
    uint8_t made[LS_ADDRESS_COOKIE_BYTES];
    ls_address_cookie_make(key, address, cookie->client_key, cookie->time_ms, made);
    return ls_cipher_is_equal(made, cookie->bytes, sizeof made);
}

uint64_t ls_address_path_number(const uint8_t key[LS_CIPHER_KEY_BYTES], const ls_endpoint *address,
                                uint64_t salt)
{
    uint8_t bytes[ENDPOINT_BYTES + 8];
    write_endpoint(address, bytes);
    ls_store_u64(bytes + ENDPOINT_BYTES, salt);
    uint8_t out[16];
    ls_cipher_hash(key, LS_CIPHER_KEY_BYTES, bytes, sizeof bytes, out, sizeof out);
    return ls_load_u64(out);
}
