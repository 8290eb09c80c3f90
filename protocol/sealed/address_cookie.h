/* Address cookie: what a server sends to an address so that it keeps nothing until the address has
 * sent it back, as protocol/SEALED.md has it; and the number that proves a new path of a
 * connection. Pure functions of a key that only the server has. Called by sealed_server. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_ADDRESS_COOKIE_H
#define LOCKSTEP_PROTOCOL_SEALED_ADDRESS_COOKIE_H

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_ADDRESS_COOKIE_BYTES 16u
#define LS_ADDRESS_COOKIE_LIFE_MS UINT64_C(5000)

/* `client_key` is E. */
void ls_address_cookie_make(const uint8_t key[LS_CIPHER_KEY_BYTES], const ls_endpoint *address,
                            const uint8_t client_key[LS_CIPHER_KEY_BYTES], uint64_t time_ms,
                            uint8_t out[LS_ADDRESS_COOKIE_BYTES]);

typedef struct ls_address_cookie {
    const uint8_t *client_key;
    uint64_t time_ms; /* when it was made, as the client says */
    const uint8_t *bytes;
} ls_address_cookie;

/* Whether the cookie was made for this address and client with the key, and is neither from the
 * future nor too old. */
bool ls_address_cookie_is_good(const uint8_t key[LS_CIPHER_KEY_BYTES], const ls_endpoint *address,
                               const ls_address_cookie *cookie, uint64_t now_ms);

/* The number in a PATH_CHALLENGE to an address. `salt` is the connection's. */
uint64_t ls_address_path_number(const uint8_t key[LS_CIPHER_KEY_BYTES], const ls_endpoint *address,
                                uint64_t salt);

LS_C_END

#endif
