/* Cipher: the algorithms that secrets, sealed datagrams and connect tokens are made of, under plain
 * names. The only place that names libsodium. Deterministic but for the two calls that ask the
 * system for random bytes; call ls_cipher_init before those. Keys are wiped by their owners with
 * ls_cipher_wipe. */
#ifndef LOCKSTEP_COMMON_BASE_CIPHER_H
#define LOCKSTEP_COMMON_BASE_CIPHER_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_CIPHER_KEY_BYTES 32u
#define LS_CIPHER_TAG_BYTES 16u
#define LS_CIPHER_NONCE_BYTES 12u
#define LS_CIPHER_LONG_NONCE_BYTES 24u

/* Once before anything that is random; as often as one likes. IO when the system has no randomness
 * to give. */
ls_status ls_cipher_init(void);

void ls_cipher_random(uint8_t *bytes, size_t size);

/* Overwrites a key so that no compiler leaves it out. */
void ls_cipher_wipe(void *bytes, size_t size);

/* Zeroed memory for secrets that live long, or NULL: never swapped out and in no core dump as far
 * as the system allows it, between pages that nothing may touch. Costs pages and system calls. */
void *ls_cipher_allocate(size_t bytes);
/* Wipes and gives back; NULL is allowed. */
void ls_cipher_release(void *memory);

/* Takes as long whatever they differ in. */
bool ls_cipher_is_equal(const uint8_t *a, const uint8_t *b, size_t size);

/* ---- BLAKE2b ---- */

/* Keyed hash of 16 to 64 bytes; key_bytes may be 0 (no key) or 16 .. 64. */
void ls_cipher_hash(const uint8_t *key, size_t key_bytes, const uint8_t *bytes, size_t size,
                    uint8_t *out, size_t out_bytes);

/* ---- SHA-256: where others name a file by it ---- */

#define LS_CIPHER_SHA256_BYTES 32u

void ls_cipher_sha256(const uint8_t *bytes, size_t size, uint8_t out[LS_CIPHER_SHA256_BYTES]);

/* ---- X25519 ---- */

typedef struct ls_key_pair {
    uint8_t private_key[LS_CIPHER_KEY_BYTES];
    uint8_t public_key[LS_CIPHER_KEY_BYTES];
} ls_key_pair;

/* Needs ls_cipher_init. */
void ls_key_pair_random(ls_key_pair *out);
/* The pair of a private key that was kept. */
void ls_key_pair_from_private(const uint8_t private_key[LS_CIPHER_KEY_BYTES], ls_key_pair *out);
/* The secret that both sides compute; false for a public key that gives the same one with every
 * other. */
bool ls_key_pair_agree(const ls_key_pair *own, const uint8_t other_public[LS_CIPHER_KEY_BYTES],
                       uint8_t shared[LS_CIPHER_KEY_BYTES]);

/* ---- ristretto255: for what two sides prove to each other by a short secret ---- */

#define LS_GROUP_BYTES 32u /* of points and scalars */
#define LS_GROUP_HASH_BYTES 64u

/* A point of which nobody knows how it comes from another one. */
void ls_group_point(const uint8_t hash[LS_GROUP_HASH_BYTES], uint8_t point[LS_GROUP_BYTES]);
/* Needs ls_cipher_init. */
void ls_group_scalar_random(uint8_t scalar[LS_GROUP_BYTES]);
/* False for what is no point, and when the product is the identity. */
bool ls_group_multiply(const uint8_t scalar[LS_GROUP_BYTES], const uint8_t point[LS_GROUP_BYTES],
                       uint8_t product[LS_GROUP_BYTES]);

/* ---- Authenticated encryption ---- */

/* Keys, nonces and tags have the same sizes in all of them. */
typedef enum ls_cipher_suite {
    LS_CIPHER_CHACHA20_POLY1305, /* as the IETF has it (RFC 8439): on any machine */
    LS_CIPHER_AES_256_GCM,       /* where ls_cipher_has_aes says so: in half the time */
    LS_CIPHER_SUITE_COUNT,
} ls_cipher_suite;

/* Whether this processor has instructions for AES and for its authentication. Needs
 * ls_cipher_init. */
bool ls_cipher_has_aes(void);

/* Encrypts `size` bytes in place and writes LS_CIPHER_TAG_BYTES behind them. */
void ls_cipher_seal(ls_cipher_suite suite, const uint8_t key[LS_CIPHER_KEY_BYTES],
                    const uint8_t nonce[LS_CIPHER_NONCE_BYTES], const uint8_t *header,
                    size_t header_bytes, uint8_t *bytes, size_t size);
/* Decrypts in place `size` bytes with the tag behind them; false, and the bytes are of no use, when
 * anything differs from what was sealed. */
bool ls_cipher_open(ls_cipher_suite suite, const uint8_t key[LS_CIPHER_KEY_BYTES],
                    const uint8_t nonce[LS_CIPHER_NONCE_BYTES], const uint8_t *header,
                    size_t header_bytes, uint8_t *bytes, size_t size);

/* ---- ChaCha20-Poly1305 with XChaCha20, whose nonce is long enough to be random ---- */

void ls_cipher_seal_long(const uint8_t key[LS_CIPHER_KEY_BYTES],
                         const uint8_t nonce[LS_CIPHER_LONG_NONCE_BYTES], const uint8_t *header,
                         size_t header_bytes, uint8_t *bytes, size_t size);
bool ls_cipher_open_long(const uint8_t key[LS_CIPHER_KEY_BYTES],
                         const uint8_t nonce[LS_CIPHER_LONG_NONCE_BYTES], const uint8_t *header,
                         size_t header_bytes, uint8_t *bytes, size_t size);

LS_C_END

#endif
