/* SHA-1, and HMAC with it: for handshakes that ask for it (RFC 6455, RFC 8489), and for nothing
 * that has to be safe. Pure. Called by web_frames and stun. */
#ifndef LOCKSTEP_SERVER_DOOR_SHA1_H
#define LOCKSTEP_SERVER_DOOR_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define LS_SHA1_BYTES 20u

typedef struct ls_sha1 {
    uint32_t state[5];
    uint64_t bytes;
    uint8_t block[64];
} ls_sha1;

void ls_sha1_begin(ls_sha1 *hash);
void ls_sha1_add(ls_sha1 *hash, const void *bytes, size_t size);
void ls_sha1_end(ls_sha1 *hash, uint8_t out[LS_SHA1_BYTES]);

/* HMAC-SHA1 with this key. */
void ls_sha1_hmac(const uint8_t *key, size_t key_size, const uint8_t *bytes, size_t size,
                  uint8_t out[LS_SHA1_BYTES]);

#endif
