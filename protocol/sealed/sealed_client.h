/* Sealed client: a client's connection to a server, as protocol/SEALED.md has it. Does no I/O:
 * datagrams and time come in as arguments. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_SEALED_CLIENT_H
#define LOCKSTEP_PROTOCOL_SEALED_SEALED_CLIENT_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/sealed/connect_token.h"
#include "lockstep/protocol/sealed/invite.h"
#include "lockstep/protocol/sealed/sealed_content.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

typedef struct ls_sealed_client_config {
    bool has_server_key; /* otherwise the server is asked for it, and believed */
    uint8_t server_key[LS_CIPHER_KEY_BYTES];
    bool has_secret;
    uint8_t secret[LS_INVITE_SECRET_BYTES];
    /* A connect token, in place of a secret. Its keys prove the server, so that a key that the
     * server says is good. */
    bool has_token;
    uint8_t token[LS_TOKEN_ENVELOPE_BYTES]; /* ls_token_write_envelope */
    ls_token_keys token_keys;
    /* Which of several workers is to be asked first, and one: of whom an invite says so. 0: any. */
    uint8_t route;
    bool avoids_aes; /* packets are sealed with ChaCha20-Poly1305 though the processor has AES */
} ls_sealed_client_config;

/* Fills in what an invite says of its server; the rest stays as it is. The caller wipes both. */
void ls_sealed_client_config_set_invite(ls_sealed_client_config *config, const ls_invite *invite);

typedef enum ls_sealed_client_state {
    LS_SEALED_CLIENT_REQUESTING,
    LS_SEALED_CLIENT_CONFIRMING,
    LS_SEALED_CLIENT_OPEN,
    LS_SEALED_CLIENT_REFUSED,
} ls_sealed_client_state;

/* Why a client was refused, in the state REFUSED, or would not get in. */
typedef enum ls_sealed_refusal {
    LS_SEALED_REFUSAL_NONE,
    LS_SEALED_REFUSAL_FULL,
    LS_SEALED_REFUSAL_CREDENTIAL,   /* an invite or a token is needed */
    LS_SEALED_REFUSAL_TOO_MANY,     /* from this address */
    LS_SEALED_REFUSAL_KEY_WITHHELD, /* the server does not give its key to who asks */
    LS_SEALED_REFUSAL_VERSION,      /* the server speaks another version */
    LS_SEALED_REFUSAL_PATH,         /* REQUESTING: the server has answered short datagrams alone */
} ls_sealed_refusal;

typedef struct ls_sealed_client ls_sealed_client;

/* The config is copied. Needs ls_cipher_init. NO_MEMORY. */
ls_status ls_sealed_client_create(const ls_sealed_client_config *config,
                                  const ls_allocator *allocator, ls_sealed_client **out);
/* Wipes every key. NULL is allowed. */
void ls_sealed_client_destroy(ls_sealed_client *client);

/* The client has a place in a match, to which it comes back from now on: so a server that has
 * several workers can send it to the one with that match. 0: none, as at first: it may get one on
 * any worker, whichever let it in before. */
void ls_sealed_client_set_match(ls_sealed_client *client, uint64_t match);

/* Begins a key exchange with new keys, whatever was before; if the server has several workers, with
 * the one that let the client in last, or without a match with that of the config. */
void ls_sealed_client_start(ls_sealed_client *client, uint64_t now_ns);

ls_sealed_client_state ls_sealed_client_state_of(const ls_sealed_client *client);
ls_sealed_refusal ls_sealed_client_refusal(const ls_sealed_client *client);

/* This machine sends from another address from now on, and knows: the server is told so when it
 * asks. */
void ls_sealed_client_note_move(ls_sealed_client *client, uint64_t now_ns);

/* A packet of the key exchange that is due: its size, and it stands in `datagram`, of
 * LS_SEALED_DATAGRAM_BYTES_MAX bytes; 0 when none is. */
size_t ls_sealed_client_pop_due(ls_sealed_client *client, uint64_t now_ns, uint8_t *datagram);
/* When the next one is; UINT64_MAX in OPEN and REFUSED. */
uint64_t ls_sealed_client_due_ns(const ls_sealed_client *client);

/* A PATH_RESPONSE or a PATH_MOVED. */
typedef struct ls_path_answer {
    uint8_t
        bytes[LS_SEALED_CLIENT_HEADER_BYTES_MAX + LS_PATH_NUMBER_BYTES + 4 + LS_SEALED_TAG_BYTES];
    size_t size;
} ls_path_answer;

typedef struct ls_sealed_client_received {
    ls_sealed_rejection rejection;
    bool is_opened; /* the keys are there: the connection is, for this side */
    /* To a PATH_CHALLENGE: to be sent at once, each as a datagram. */
    uint32_t answer_count;
    ls_path_answer answers[2];
    bool has_content;
    ls_sealed_content content; /* PACKET, PACKETS or ENET */
    const uint8_t *bytes;      /* within the datagram, decrypted in place */
    size_t size;
} ls_sealed_client_received;

/* A datagram of the server has come; its bytes are changed. */
void ls_sealed_client_receive(ls_sealed_client *client, uint8_t *datagram, size_t size,
                              uint64_t now_ns, ls_sealed_client_received *out);

/* As ls_sealed_server_seal, with ls_sealed_client_header_size bytes before the content; in the
 * state OPEN. */
size_t ls_sealed_client_seal(ls_sealed_client *client, ls_sealed_content content, uint8_t *datagram,
                             size_t size);
size_t ls_sealed_client_header_size(const ls_sealed_client *client);

/* The shortest way there and back that the key exchange measured, with a REQUEST that CHALLENGE
 * names or a CONFIRM that was sent once; 0 when it measured none. */
uint64_t ls_sealed_client_rtt_ns(const ls_sealed_client *client);

LS_C_END

#endif
