#include "lockstep/common/base/cipher.h"

#include <sodium.h>

_Static_assert(LS_CIPHER_KEY_BYTES == crypto_aead_chacha20poly1305_ietf_KEYBYTES, "key");
_Static_assert(LS_CIPHER_NONCE_BYTES == crypto_aead_chacha20poly1305_ietf_NPUBBYTES, "nonce");
_Static_assert(LS_CIPHER_TAG_BYTES == crypto_aead_chacha20poly1305_ietf_ABYTES, "tag");
_Static_assert(LS_CIPHER_KEY_BYTES == crypto_aead_aes256gcm_KEYBYTES, "key");
_Static_assert(LS_CIPHER_NONCE_BYTES == crypto_aead_aes256gcm_NPUBBYTES, "nonce");
_Static_assert(LS_CIPHER_TAG_BYTES == crypto_aead_aes256gcm_ABYTES, "tag");
_Static_assert(LS_CIPHER_LONG_NONCE_BYTES == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "nonce");
_Static_assert(LS_CIPHER_KEY_BYTES == crypto_scalarmult_BYTES, "shared secret");
_Static_assert(LS_GROUP_BYTES == crypto_scalarmult_ristretto255_BYTES, "point");
_Static_assert(LS_GROUP_HASH_BYTES == crypto_core_ristretto255_HASHBYTES, "hash of a point");

ls_status ls_cipher_init(void)
{
    return sodium_init() < 0 ? LS_IO : LS_OK;
}

void ls_cipher_random(uint8_t *bytes, size_t size)
{
    randombytes_buf(bytes, size);
}

void ls_cipher_wipe(void *bytes, size_t size)
{
    sodium_memzero(bytes, size);
}

void *ls_cipher_allocate(size_t bytes)
{
    void *memory = sodium_malloc(bytes);
    if (memory) {
        sodium_memzero(memory, bytes);
    }
    return memory;
}

void ls_cipher_release(void *memory)
{
    sodium_free(memory);
}

bool ls_cipher_is_equal(const uint8_t *a, const uint8_t *b, size_t size)
{
    return sodium_memcmp(a, b, size) == 0;
}

void ls_cipher_hash(const uint8_t *key, size_t key_bytes, const uint8_t *bytes, size_t size,
                    uint8_t *out, size_t out_bytes)
{
    /* Fails only for sizes that it does not know. */
    (void)crypto_generichash(out, out_bytes, bytes, size, key, key_bytes);
}

void ls_cipher_sha256(const uint8_t *bytes, size_t size, uint8_t out[LS_CIPHER_SHA256_BYTES])
{
    (void)crypto_hash_sha256(out, bytes, size); /* never fails */
}

void ls_key_pair_random(ls_key_pair *out)
{
    uint8_t private_key[LS_CIPHER_KEY_BYTES];
    randombytes_buf(private_key, sizeof private_key);
    ls_key_pair_from_private(private_key, out);
    sodium_memzero(private_key, sizeof private_key);
}

void ls_key_pair_from_private(const uint8_t private_key[LS_CIPHER_KEY_BYTES], ls_key_pair *out)
{
    for (uint32_t i = 0; i < LS_CIPHER_KEY_BYTES; i++) {
        out->private_key[i] = private_key[i];
    }
    (void)crypto_scalarmult_base(out->public_key, private_key);
}

bool ls_key_pair_agree(const ls_key_pair *own, const uint8_t other_public[LS_CIPHER_KEY_BYTES],
                       uint8_t shared[LS_CIPHER_KEY_BYTES])
{
    return crypto_scalarmult(shared, own->private_key, other_public) == 0;
}

void ls_group_point(const uint8_t hash[LS_GROUP_HASH_BYTES], uint8_t point[LS_GROUP_BYTES])
{
    (void)crypto_core_ristretto255_from_hash(point, hash); /* never fails */
}

void ls_group_scalar_random(uint8_t scalar[LS_GROUP_BYTES])
{
    crypto_core_ristretto255_scalar_random(scalar);
}

bool ls_group_multiply(const uint8_t scalar[LS_GROUP_BYTES], const uint8_t point[LS_GROUP_BYTES],
                       uint8_t product[LS_GROUP_BYTES])
{
    return crypto_scalarmult_ristretto255(product, scalar, point) == 0;
}

bool ls_cipher_has_aes(void)
{
    return crypto_aead_aes256gcm_is_available() != 0;
}

/* The round keys of AES are computed anew for each packet: that costs 20 ns, and less than to read
 * those of a thousand connections from memory. */
LS_TICK_CODE void ls_cipher_seal(ls_cipher_suite suite, const uint8_t key[LS_CIPHER_KEY_BYTES],
                                 const uint8_t nonce[LS_CIPHER_NONCE_BYTES], const uint8_t *header,
                                 size_t header_bytes, uint8_t *bytes, size_t size)
{
    if (suite == LS_CIPHER_AES_256_GCM) {
        (void)crypto_aead_aes256gcm_encrypt_detached(bytes, bytes + size, NULL, bytes, size, header,
                                                     header_bytes, NULL, nonce, key);
    } else {
        (void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(
            bytes, bytes + size, NULL, bytes, size, header, header_bytes, NULL, nonce, key);
    }
}

bool ls_cipher_open(ls_cipher_suite suite, const uint8_t key[LS_CIPHER_KEY_BYTES],
                    const uint8_t nonce[LS_CIPHER_NONCE_BYTES], const uint8_t *header,
                    size_t header_bytes, uint8_t *bytes, size_t size)
{
    if (suite == LS_CIPHER_AES_256_GCM) {
        return crypto_aead_aes256gcm_decrypt_detached(bytes, NULL, bytes, size, bytes + size,
                                                      header, header_bytes, nonce, key) == 0;
    }
    return crypto_aead_chacha20poly1305_ietf_decrypt_detached(
               bytes, NULL, bytes, size, bytes + size, header, header_bytes, nonce, key) == 0;
}

void ls_cipher_seal_long(const uint8_t key[LS_CIPHER_KEY_BYTES],
                         const uint8_t nonce[LS_CIPHER_LONG_NONCE_BYTES], const uint8_t *header,
                         size_t header_bytes, uint8_t *bytes, size_t size)
{
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
        bytes, bytes + size, NULL, bytes, size, header, header_bytes, NULL, nonce, key);
}

bool ls_cipher_open_long(const uint8_t key[LS_CIPHER_KEY_BYTES],
                         const uint8_t nonce[LS_CIPHER_LONG_NONCE_BYTES], const uint8_t *header,
                         size_t header_bytes, uint8_t *bytes, size_t size)
{
    return crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
               bytes, NULL, bytes, size, bytes + size, header, header_bytes, nonce, key) == 0;
}
