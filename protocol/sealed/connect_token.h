/* Connect token: what a game's back end gives a player who has logged in, so that a server lets
 * that player in: the token of the public netcode 1.02 standard, byte for byte. Makes it, reads it
 * as a client does, opens its sealed private part as a server does. Pure but for random bytes; time
 * is an argument. docs/tokens.md has the layout. Tokens and claims hold keys: wipe them with
 * ls_token_wipe. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_CONNECT_TOKEN_H
#define LOCKSTEP_PROTOCOL_SEALED_CONNECT_TOKEN_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/endpoint_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_TOKEN_BYTES 2048u
#define LS_TOKEN_KEY_BYTES 32u
#define LS_TOKEN_NONCE_BYTES 24u
#define LS_TOKEN_PRIVATE_BYTES 1024u /* encrypted, with its tag in the last 16 */
#define LS_TOKEN_ID_BYTES 16u        /* that tag: no two tokens have the same */
#define LS_TOKEN_USER_DATA_BYTES 256u
#define LS_TOKEN_SERVERS_MAX 32u

/* The part of a token that a client sends: protocol id, expire timestamp, nonce, private part. */
#define LS_TOKEN_ENVELOPE_BYTES (8u + 8u + LS_TOKEN_NONCE_BYTES + LS_TOKEN_PRIVATE_BYTES)

/* "LOCKSTEP" in ASCII: the protocol id of games that have none of their own. */
#define LS_TOKEN_PROTOCOL_ID UINT64_C(0x504554534b434f4c)

/* Why a token is not taken: name and text. */
#define LS_TOKEN_REFUSAL_MAP(X)                                                                    \
    X(NONE, "the token is good")                                                                   \
    X(MALFORMED, "it is no connect token of netcode 1.02, or is damaged")                          \
    X(PROTOCOL, "it is for another game: its protocol id differs")                                 \
    X(EXPIRED, "it has expired")                                                                   \
    X(FORGED, "it was altered, or sealed with another key than the server's")                      \
    X(ELSEWHERE, "it is for another server: this address is not in its list")                      \
    X(USER_DATA, "its user data is not laid out as docs/tokens.md has it")                         \
    X(USED, "another client has used it")                                                          \
    X(FULL, "this server cannot note any more tokens that were used")

typedef enum ls_token_refusal {
#define LS_TOKEN_REFUSAL_ENUM(name, text) LS_TOKEN_REFUSAL_##name,
    LS_TOKEN_REFUSAL_MAP(LS_TOKEN_REFUSAL_ENUM)
#undef LS_TOKEN_REFUSAL_ENUM
    LS_TOKEN_REFUSAL_COUNT,
} ls_token_refusal;

const char *ls_token_refusal_name(ls_token_refusal refusal);
const char *ls_token_refusal_text(ls_token_refusal refusal);

typedef struct ls_token_server_list {
    uint32_t count; /* 1 .. LS_TOKEN_SERVERS_MAX */
    ls_endpoint servers[LS_TOKEN_SERVERS_MAX];
} ls_token_server_list;

/* Of one connection; a token's maker draws them for each token. */
typedef struct ls_token_keys {
    uint8_t client_to_server[LS_TOKEN_KEY_BYTES];
    uint8_t server_to_client[LS_TOKEN_KEY_BYTES];
} ls_token_keys;

/* The private part: what a server learns from a token. */
typedef struct ls_token_claims {
    uint64_t client_id; /* the player's, to the back end */
    int32_t timeout_s;  /* the client waits so long for an answer; below 0: without end */
    ls_token_server_list list;
    ls_token_keys keys;
    uint8_t user_data[LS_TOKEN_USER_DATA_BYTES]; /* token_user_data.h; all zeros: any seat */
} ls_token_claims;

/* A token as its owner reads it. */
typedef struct ls_token {
    uint64_t protocol_id;
    uint64_t create_s; /* seconds since 1970 */
    uint64_t expire_s; /* good before this second */
    uint8_t nonce[LS_TOKEN_NONCE_BYTES];
    uint8_t private_part[LS_TOKEN_PRIVATE_BYTES];
    int32_t timeout_s;
    ls_token_server_list list;
    ls_token_keys keys;
} ls_token;

/* ---- the back end ---- */

typedef struct ls_token_config {
    uint64_t protocol_id;
    uint64_t create_s;
    uint64_t expire_s;
    uint8_t nonce[LS_TOKEN_NONCE_BYTES]; /* drawn by ls_token_make */
    ls_token_claims claims;              /* and its keys */
} ls_token_config;

/* LS_TOKEN_PROTOCOL_ID, a timeout of 15 s, no server; everything else 0. */
ls_token_config ls_token_config_default(void);

/* BAD_ARGUMENT with the field: no server or too many, a port 0, expires before it is created. */
ls_status ls_token_config_check(const ls_token_config *config, ls_text *why);

/* Draws the nonce and the keys, which may be looked at in `config` afterwards, and makes the token,
 * sealed with the key that the servers have. BAD_ARGUMENT as the check; IO when the system has no
 * random bytes. */
ls_status ls_token_make(ls_token_config *config, const uint8_t key[LS_TOKEN_KEY_BYTES],
                        uint8_t token[LS_TOKEN_BYTES], ls_text *why);

/* The same with the nonce and the keys that the config has: for tests. A nonce that is used for two
 * tokens of one key gives both away. */
ls_status ls_token_make_from(const ls_token_config *config, const uint8_t key[LS_TOKEN_KEY_BYTES],
                             uint8_t token[LS_TOKEN_BYTES], ls_text *why);

/* Reads "HOST[:PORT],...", the value of the program's option --`flag`, into the list, by the
 * system's resolver. BAD_ARGUMENT or NOT_FOUND with the one that is wrong. */
ls_status ls_token_servers_parse(const char *text, const char *flag, ls_token_server_list *list,
                                 ls_text *why);

/* ---- the client ---- */

/* NONE, MALFORMED or EXPIRED; `out` is untouched when MALFORMED. The padding is not looked at. */
ls_token_refusal ls_token_read(const uint8_t *bytes, size_t size, uint64_t now_s, ls_token *out);

void ls_token_write_envelope(const ls_token *token, uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES]);

/* ---- the server ---- */

#define LS_TOKEN_SERVER_KEYS_MAX 2u

typedef struct ls_token_check {
    uint64_t protocol_id;
    uint32_t key_count; /* 1, or 2 while one key takes over from another */
    uint8_t keys[LS_TOKEN_SERVER_KEYS_MAX][LS_TOKEN_KEY_BYTES];
    /* Under which addresses the server is known; a count of 0: the list of a token is not looked
     * at, and a token for another server of the same key is taken. */
    uint32_t own_count;
    ls_endpoint own[LS_TOKEN_SERVERS_MAX];
} ls_token_check;

/* Opens the private part. Looks first at what costs nothing: the protocol id and the time. `out` is
 * untouched unless the token is good; the caller wipes it. */
ls_token_refusal ls_token_open(const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES],
                               const ls_token_check *check, uint64_t now_s, ls_token_claims *out);

/* Of the token in an envelope. */
const uint8_t *ls_token_envelope_id(const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES]);
uint64_t ls_token_envelope_expire_s(const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES]);

/* Overwrites keys so that no compiler leaves it out. */
void ls_token_wipe(void *token, size_t size);

LS_C_END

#endif
