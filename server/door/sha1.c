#include "lockstep/server/door/sha1.h"

#include "lockstep/common/base/language.h"

#include <string.h>

enum {
    BLOCK_BYTES = 64,
    LENGTH_AT = 56, /* in the last block */
};

static uint32_t rotate(uint32_t value, uint32_t bits)
{
    return value << bits | value >> (32 - bits);
}

void ls_sha1_begin(ls_sha1 *hash)
{
    *hash = (ls_sha1){.state = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u}};
}

static void expand(const uint8_t block[BLOCK_BYTES], uint32_t words[80])
{
    for (uint32_t i = 0; i < 16; i++) {
        const uint8_t *at = block + 4 * i;
        words[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (uint32_t i = 16; i < 80; i++) {
        words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    }
}

static uint32_t mix(uint32_t round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999u;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1u;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
    default:
        return (b ^ c ^ d) + 0xca62c1d6u;
    }
}

static void add_block(ls_sha1 *hash)
{
    uint32_t words[80];
    uint32_t v[5];
    expand(hash->block, words);
    memcpy(v, hash->state, sizeof v);
    for (uint32_t i = 0; i < 80; i++) {
        uint32_t next = rotate(v[0], 5) + mix(i, v[1], v[2], v[3]) + v[4] + words[i];
        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = next;
    }
    for (uint32_t i = 0; i < 5; i++) {
        hash->state[i] += v[i];
    }
}

void ls_sha1_add(ls_sha1 *hash, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    while (size > 0) {
        size_t at = (size_t)(hash->bytes % BLOCK_BYTES);
        size_t part = LS_MIN(size, BLOCK_BYTES - at);
        memcpy(hash->block + at, from, part);
        hash->bytes += part;
        from += part;
        size -= part;
        if (at + part == BLOCK_BYTES) {
            add_block(hash);
        }
    }
}

void ls_sha1_end(ls_sha1 *hash, uint8_t out[LS_SHA1_BYTES])
{
    static const uint8_t first = 0x80;
    static const uint8_t zero = 0;
    uint8_t bits[8];
    for (uint32_t i = 0; i < 8; i++) {
        bits[i] = (uint8_t)(hash->bytes * 8 >> (56 - 8 * i));
    }
    ls_sha1_add(hash, &first, 1);
    while (hash->bytes % BLOCK_BYTES != LENGTH_AT) {
        ls_sha1_add(hash, &zero, 1);
    }
    ls_sha1_add(hash, bits, sizeof bits);
    for (uint32_t i = 0; i < LS_SHA1_BYTES; i++) {
        out[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
    }
}

/* A block of the key, with each byte altered. */
static void add_key(ls_sha1 *hash, const uint8_t key[BLOCK_BYTES], uint8_t altered)
{
    uint8_t block[BLOCK_BYTES];
    for (uint32_t i = 0; i < BLOCK_BYTES; i++) {
        block[i] = key[i] ^ altered;
    }
    ls_sha1_begin(hash);
    ls_sha1_add(hash, block, sizeof block);
}

void ls_sha1_hmac(const uint8_t *key, size_t key_size, const uint8_t *bytes, size_t size,
                  uint8_t out[LS_SHA1_BYTES])
{
    uint8_t block[BLOCK_BYTES] = {0};
    ls_sha1 hash;
    if (key_size > BLOCK_BYTES) {
        ls_sha1_begin(&hash);
        ls_sha1_add(&hash, key, key_size);
        ls_sha1_end(&hash, block);
    } else {
        memcpy(block, key, key_size);
    }
    add_key(&hash, block, 0x36);
    ls_sha1_add(&hash, bytes, size);
    ls_sha1_end(&hash, out);
    add_key(&hash, block, 0x5c);
    ls_sha1_add(&hash, out, LS_SHA1_BYTES);
    ls_sha1_end(&hash, out);
}
