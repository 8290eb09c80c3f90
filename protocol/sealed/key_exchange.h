/* Key exchange: the layouts of its five packets, and the keys that both sides derive, as
 * protocol/SEALED.md has them. Pure functions: no state, no time, no randomness. Read functions
 * check lengths and fixed bytes and touch `out` only when they return true. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_KEY_EXCHANGE_H
#define LOCKSTEP_PROTOCOL_SEALED_KEY_EXCHANGE_H

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/language.h"
#include "lockstep/protocol/sealed/sealed_content.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_KEY_EXCHANGE_VERSION 1u
#define LS_KEY_EXCHANGE_START_BYTES 8u /* of E, by which an answer names its question */
#define LS_KEY_EXCHANGE_COOKIE_BYTES 16u
#define LS_KEY_EXCHANGE_TOKEN_BYTES 1064u /* what a connect token shows: 8 + 8 + 24 + 1,024 */
#define LS_KEY_EXCHANGE_SECRET_BYTES 16u  /* of an invite */

#define LS_CHALLENGE_BYTES_MAX 73u
#define LS_CONFIRM_BYTES_MIN 200u
#define LS_CONFIRM_BYTES_MAX 1200u
#define LS_ACCEPT_BYTES 59u
#define LS_DENIED_BYTES 26u

/* The first byte of each packet. */
typedef enum ls_key_exchange_kind {
    LS_KEY_EXCHANGE_REQUEST = 1,
    LS_KEY_EXCHANGE_CHALLENGE,
    LS_KEY_EXCHANGE_CONFIRM,
    LS_KEY_EXCHANGE_ACCEPT,
    LS_KEY_EXCHANGE_DENIED,
} ls_key_exchange_kind;

typedef enum ls_credential {
    LS_CREDENTIAL_NONE,
    LS_CREDENTIAL_SECRET,
    LS_CREDENTIAL_TOKEN,
    LS_CREDENTIAL_COUNT,
} ls_credential;

/* ---- layouts: write returns the bytes of the datagram ---- */

/* Where a packet of a client wants to go, for what steers datagrams of one port to workers: a hint,
 * which is not authenticated. Worker k is route k + 1, and k + 1 + LS_ROUTE_ASKED in CHALLENGE and
 * CONFIRM when the client asked for this worker. */
#define LS_ROUTE_ANYWHERE 0u
#define LS_ROUTE_ASKED 16u /* LS_SEALED_WORKERS_MAX */

typedef struct ls_request {
    uint8_t version;
    bool asks_key;
    uint8_t client_key[LS_CIPHER_KEY_BYTES]; /* E */
    uint8_t number;                          /* of the repeat: 0, 1 .. and again from 0 */
    uint8_t route;
    bool is_short; /* LS_SEALED_REQUEST_BYTES_MIN; the path may let nothing longer through */
} ls_request;

size_t ls_request_write(const ls_request *request, uint8_t datagram[LS_SEALED_REQUEST_BYTES]);
bool ls_request_read(const uint8_t *datagram, size_t size, ls_request *out);

typedef struct ls_challenge {
    uint8_t start[LS_KEY_EXCHANGE_START_BYTES];
    uint8_t version; /* the server's */
    uint8_t number;  /* of the REQUEST that it answers */
    uint8_t route;   /* to the server that made the cookie; what no route can be is read as 0 */
    uint64_t time_ms;
    uint8_t cookie[LS_KEY_EXCHANGE_COOKIE_BYTES];
    bool has_aes; /* the server can seal packets with AES-256-GCM */
    bool has_server_key;
    uint8_t server_key[LS_CIPHER_KEY_BYTES]; /* S */
} ls_challenge;

size_t ls_challenge_write(const ls_challenge *challenge, uint8_t datagram[LS_CHALLENGE_BYTES_MAX]);
bool ls_challenge_read(const uint8_t *datagram, size_t size, ls_challenge *out);

typedef struct ls_confirm {
    ls_credential credential;
    ls_cipher_suite suite; /* of the packets: AES-256-GCM only if CHALLENGE has it */
    uint8_t client_key[LS_CIPHER_KEY_BYTES];
    uint64_t time_ms;
    uint8_t cookie[LS_KEY_EXCHANGE_COOKIE_BYTES];
    const uint8_t *token; /* TOKEN_BYTES, borrowed; NULL without one */
    uint8_t route;        /* of the CHALLENGE; 0 from a client that knows of no workers */
    uint64_t match;       /* that the client comes back to; 0: it names none; read by match_of */
} ls_confirm;

/* Sealed with k1. */
size_t ls_confirm_write(const ls_confirm *confirm, const uint8_t first_key[LS_CIPHER_KEY_BYTES],
                        uint8_t datagram[LS_CONFIRM_BYTES_MAX]);
/* `token` points into the datagram. Nothing is proven before is_sealed says so. */
bool ls_confirm_read(const uint8_t *datagram, size_t size, ls_confirm *out);
/* Of a datagram that read took. */
bool ls_confirm_is_sealed(const uint8_t *datagram, const uint8_t first_key[LS_CIPHER_KEY_BYTES]);
/* Likewise, if it is sealed; 0: it names no match. */
uint64_t ls_confirm_match_of(const uint8_t *datagram, size_t size,
                             const uint8_t first_key[LS_CIPHER_KEY_BYTES]);

typedef struct ls_accept {
    uint8_t start[LS_KEY_EXCHANGE_START_BYTES];
    uint8_t server_key[LS_CIPHER_KEY_BYTES]; /* F */
    uint16_t index;
} ls_accept;

/* Sealed with the key of the server's packets. */
size_t ls_accept_write(const ls_accept *accept, const uint8_t server_packets[LS_CIPHER_KEY_BYTES],
                       uint8_t datagram[LS_ACCEPT_BYTES]);
bool ls_accept_read(const uint8_t *datagram, size_t size, ls_accept *out);
bool ls_accept_is_sealed(const uint8_t *datagram,
                         const uint8_t server_packets[LS_CIPHER_KEY_BYTES]);

typedef struct ls_denied {
    uint8_t start[LS_KEY_EXCHANGE_START_BYTES];
    ls_denial reason;
    uint8_t worker; /* REDIRECTED: the one to ask, below LS_SEALED_WORKERS_MAX; else 0 */
} ls_denied;

/* Sealed with k1. */
size_t ls_denied_write(const ls_denied *denied, const uint8_t first_key[LS_CIPHER_KEY_BYTES],
                       uint8_t datagram[LS_DENIED_BYTES]);
bool ls_denied_read(const uint8_t *datagram, size_t size, ls_denied *out);
bool ls_denied_is_sealed(const uint8_t *datagram, const uint8_t first_key[LS_CIPHER_KEY_BYTES]);

/* ---- keys ---- */

/* The credential's key p of an invite's secret. Without a credential it is 32 zeros. */
void ls_credential_key_of_secret(const uint8_t secret[LS_KEY_EXCHANGE_SECRET_BYTES],
                                 uint8_t out[LS_CIPHER_KEY_BYTES]);
/* And that of a token's two keys. */
void ls_credential_key_of_token(const uint8_t client_to_server[LS_CIPHER_KEY_BYTES],
                                const uint8_t server_to_client[LS_CIPHER_KEY_BYTES],
                                uint8_t out[LS_CIPHER_KEY_BYTES]);

/* k1, from the own pair and the other's public key: (e, S) on the client, (s, E) on the server.
 * False for a public key that is no key. */
bool ls_first_key_of_client(const ls_key_pair *own, const uint8_t server_key[LS_CIPHER_KEY_BYTES],
                            const uint8_t credential_key[LS_CIPHER_KEY_BYTES],
                            uint8_t out[LS_CIPHER_KEY_BYTES]);
bool ls_first_key_of_server(const ls_key_pair *identity,
                            const uint8_t client_key[LS_CIPHER_KEY_BYTES],
                            const uint8_t credential_key[LS_CIPHER_KEY_BYTES],
                            uint8_t out[LS_CIPHER_KEY_BYTES]);

typedef struct ls_packet_keys {
    ls_cipher_suite suite;
    uint8_t of_client[LS_CIPHER_KEY_BYTES]; /* k_c: the packets of the client */
    uint8_t of_server[LS_CIPHER_KEY_BYTES]; /* k_s */
} ls_packet_keys;

/* From k1 and (e, F) on the client, (f, E) on the server, for the suite that `out` has. */
bool ls_packet_keys_of_client(const uint8_t first_key[LS_CIPHER_KEY_BYTES], const ls_key_pair *own,
                              const uint8_t server_key[LS_CIPHER_KEY_BYTES], ls_packet_keys *out);
bool ls_packet_keys_of_server(const uint8_t first_key[LS_CIPHER_KEY_BYTES], const ls_key_pair *own,
                              const uint8_t client_key[LS_CIPHER_KEY_BYTES], ls_packet_keys *out);

LS_C_END

#endif
