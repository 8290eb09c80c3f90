/* Relay keys: what proves a server to its relay, and a server to a player who has its code alone
 * (CPace over ristretto255), as docs/relay.md has it. Keys are wiped by their owners. Needs
 * ls_cipher_init. Called by relay_server, relay_client and the relay. */
#ifndef LOCKSTEP_PROTOCOL_RELAY_RELAY_KEYS_H
#define LOCKSTEP_PROTOCOL_RELAY_RELAY_KEYS_H

#include "lockstep/protocol/relay/relay_packet.h"

/* Of one registration. */
typedef struct ls_relay_keys {
    uint8_t proof[LS_CIPHER_KEY_BYTES];     /* k */
    uint8_t to_relay[LS_CIPHER_KEY_BYTES];  /* k_s */
    uint8_t to_server[LS_CIPHER_KEY_BYTES]; /* k_r */
} ls_relay_keys;

typedef struct ls_relay_keys_of {
    const ls_key_pair *own;
    const uint8_t *server; /* S */
    const uint8_t *relay;  /* R: the one of these that is not `own` is agreed with */
    const uint8_t *nonce;  /* of REGISTER */
    uint64_t time_ms;      /* likewise */
} ls_relay_keys_of;

/* False for a public key that agrees with every other one. */
bool ls_relay_keys_make(const ls_relay_keys_of *of, ls_relay_keys *out);

/* The key that a file's key makes for REGISTER. */
void ls_relay_access_key(const uint8_t file_key[LS_CIPHER_KEY_BYTES],
                         uint8_t out[LS_CIPHER_KEY_BYTES]);

/* A cookie of the relay. */
void ls_relay_cookie(const uint8_t key[LS_CIPHER_KEY_BYTES], const ls_endpoint *from,
                     const uint8_t nonce[LS_RELAY_NONCE_BYTES], uint64_t time_ms,
                     uint8_t out[LS_RELAY_TAG_BYTES]);

/* A client's half of one proof: `point` is for PROVE. */
typedef struct ls_relay_proof {
    uint8_t scalar[LS_GROUP_BYTES];
    uint8_t point[LS_GROUP_BYTES];
} ls_relay_proof;

bool ls_relay_proof_begin(const ls_relay_code *code, uint64_t flow, ls_relay_proof *out);
/* The server's answer to PROVE; false for what is no point. */
bool ls_relay_proof_answer(const ls_relay_code *code, uint64_t flow, const ls_relay_packet *prove,
                           const uint8_t server[LS_CIPHER_KEY_BYTES], ls_relay_packet *proven);
/* Whether `proven` is of a server that knows the code, which vouches for the key in it. */
bool ls_relay_proof_is_good(const ls_relay_proof *own, uint64_t flow,
                            const ls_relay_packet *proven);

#endif
