/* Sealed connections: the places for a server's connections, of a fixed number: which are free, in
 * which order half-open ones came, and which belongs to a client's key. Knows no packet and no
 * cipher: what stands in a place is the server's. Private to sealed_server. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_SEALED_CONNECTIONS_H
#define LOCKSTEP_PROTOCOL_SEALED_SEALED_CONNECTIONS_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_SEALED_NO_CONNECTION UINT32_MAX

typedef struct ls_sealed_connections ls_sealed_connections;

/* `seed` is random and secret: it decides where a client's key is found. NO_MEMORY. */
ls_status ls_sealed_connections_create(uint32_t places, uint64_t seed,
                                       const ls_allocator *allocator, ls_sealed_connections **out);
void ls_sealed_connections_destroy(ls_sealed_connections *connections);

/* A free place, the one that has been free for longest, half-open from now on; NO_CONNECTION when
 * none is. `client_key` is that of no other place. */
uint32_t ls_sealed_connections_claim(ls_sealed_connections *connections,
                                     const uint8_t client_key[LS_CIPHER_KEY_BYTES]);
/* The half-open place `index` is open. */
void ls_sealed_connections_open(ls_sealed_connections *connections, uint32_t index);
/* The place `index`, open or half-open, is free again. */
void ls_sealed_connections_release(ls_sealed_connections *connections, uint32_t index);

/* The place of a client's key, or NO_CONNECTION. */
uint32_t ls_sealed_connections_find(const ls_sealed_connections *connections,
                                    const uint8_t client_key[LS_CIPHER_KEY_BYTES]);
/* The half-open place that was taken first, or NO_CONNECTION. */
uint32_t ls_sealed_connections_oldest(const ls_sealed_connections *connections);
/* How many places are half-open. */
uint32_t ls_sealed_connections_half_open(const ls_sealed_connections *connections);

bool ls_sealed_connections_is_used(const ls_sealed_connections *connections, uint32_t index);
bool ls_sealed_connections_is_open(const ls_sealed_connections *connections, uint32_t index);

LS_C_END

#endif
