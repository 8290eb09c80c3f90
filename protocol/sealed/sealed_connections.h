/* Sealed connections: the places for a server's connections, of a fixed number: which are free, in
 * which order half-open ones came, and which belongs to a client's key. Knows no packet and no
 * cipher: what stands in a place is the server's. Private to sealed_server. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_SEALED_CONNECTIONS_H
#define LOCKSTEP_PROTOCOL_SEALED_SEALED_CONNECTIONS_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/sealed/sealed_content.h"

#include <stdbool.h>
#include <stddef.h>
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

/* ---- Connection paths: the addresses of a server's connection: where it is reached, where its
 * newest packet came from, which ones are challenged, and when it moves, as protocol/SEALED.md has
 * it. Knows no cipher and sends nothing. Private to sealed_server ---- */

/* Zeroed but for `active`: it has been nowhere else. */
typedef struct ls_connection_paths {
    ls_endpoint active;      /* where the connection is reached */
    bool has_candidate;      /* the newest packet came from `candidate`, which is not `active` */
    bool is_candidate_heard; /* the client hears what is sent there */
    bool is_active_heard;    /* likewise, since challenges go there */
    bool has_answered;       /* something else than a challenge went to the candidate since one */
    uint8_t unanswered;      /* challenges to `active` since the last one that was answered */
    uint32_t credit_bytes;   /* that the candidate may be sent, with headers */
    ls_endpoint candidate;
    uint64_t challenged_ns; /* both; 0: never */
    uint64_t silent_ns;     /* `active` has not answered since then */
    uint32_t moves;         /* PATH_MOVED's count when it moved last */
    ls_endpoint former; /* left because it was silent, until former_until_ns; 0: there is none */
    uint64_t former_until_ns;
    uint64_t former_challenged_ns;
} ls_connection_paths;

/* The newest packet so far came from there: a datagram of `size` bytes. */
void ls_connection_paths_receive(ls_connection_paths *paths, const ls_endpoint *from, size_t size,
                                 uint64_t now_ns);

/* Whether there is more than one address, so that challenges may be due. */
static inline bool ls_connection_paths_are_several(const ls_connection_paths *paths)
{
    return paths->has_candidate || paths->former_until_ns != 0;
}

/* Bytes that a datagram to the candidate may have, as an answer to what came from there; 0: none
 * may go there. */
size_t ls_connection_paths_room(const ls_connection_paths *paths);
/* A datagram of at most so many bytes goes there. */
void ls_connection_paths_spend(ls_connection_paths *paths, size_t size);

/* Where everything goes beside the active address, while it is not known which of both the client
 * will keep; NULL: nowhere. */
const ls_endpoint *ls_connection_paths_second(const ls_connection_paths *paths);

/* The addresses that are challenged now, with `size` bytes each; returns how many. */
uint32_t ls_connection_paths_challenge(ls_connection_paths *paths, size_t size, uint64_t now_ns,
                                       ls_endpoint to[LS_PATH_CHALLENGES_MAX]);

/* The client has answered the challenge of this address; it says that it moved so often, or 0.
 * Returns whether that is where the connection is reached from now on. */
bool ls_connection_paths_prove(ls_connection_paths *paths, const ls_endpoint *address,
                               uint32_t moves, uint64_t now_ns);

LS_C_END

#endif
