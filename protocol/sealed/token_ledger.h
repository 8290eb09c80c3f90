/* Token ledger: which connect tokens have opened a connection, until each expires, so that a token
 * opens one connection once; its owner may show it again to come back to the seat that it opened.
 * Memory is fixed at create; time is an argument. Forgets everything with its process. Called by
 * token_gate, with tokens whose seal is good alone. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_TOKEN_LEDGER_H
#define LOCKSTEP_PROTOCOL_SEALED_TOKEN_LEDGER_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/sealed/connect_token.h"

#include <stdint.h>

#define LS_TOKEN_LEDGER_TOKENS_MAX (1u << 20)

typedef enum ls_token_use {
    LS_TOKEN_FIRST_USE,   /* noted from now on */
    LS_TOKEN_USED_BEFORE, /* by the same client: good to come back, not for another seat */
    LS_TOKEN_USED_BY_OTHER,
    LS_TOKEN_LEDGER_FULL, /* of tokens that have not expired: nothing was noted */
} ls_token_use;

typedef struct ls_token_ledger ls_token_ledger;

/* `tokens_max` of them, 1 .. LS_TOKEN_LEDGER_TOKENS_MAX, in 80 to 160 bytes each. BAD_ARGUMENT,
 * NO_MEMORY. */
ls_status ls_token_ledger_create(uint32_t tokens_max, const ls_allocator *allocator,
                                 ls_token_ledger **out);
/* NULL is allowed. */
void ls_token_ledger_destroy(ls_token_ledger *ledger);

/* A token is about to open a connection. `id` and `expire_s` are those of its envelope. */
ls_token_use ls_token_ledger_use(ls_token_ledger *ledger, const uint8_t id[LS_TOKEN_ID_BYTES],
                                 uint64_t client_id, uint64_t expire_s, uint64_t now_s);

/* The connection ended before anything was given to it: the token is as new. */
void ls_token_ledger_give_back(ls_token_ledger *ledger, const uint8_t id[LS_TOKEN_ID_BYTES]);

/* Tokens that are noted, those that have expired and were not needed yet among them. */
uint32_t ls_token_ledger_count(const ls_token_ledger *ledger);

#endif
