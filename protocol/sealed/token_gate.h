/* Token gate: all that a server needs to let players in by connect tokens: its keys, the addresses
 * by which it is known, the tokens that were used, and how many it refused for which reason. It
 * keeps its keys out of core dumps, asks no clock and does no I/O. Called by the server of sealed
 * connections:
 *
 *   a CONFIRM shows a token         ls_token_gate_open, for the keys of its credential
 *   and its seal is good            ls_token_gate_use, before anything is given to the client
 *   the connection ends unused      ls_token_gate_give_back */
#ifndef LOCKSTEP_PROTOCOL_SEALED_TOKEN_GATE_H
#define LOCKSTEP_PROTOCOL_SEALED_TOKEN_GATE_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/sealed/token_user_data.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

/* ---- which tokens were used: the ledger ---- */

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

/* ---- the gate ---- */

typedef struct ls_token_gate_config {
    ls_token_check check;
    uint32_t tokens_max; /* used tokens that it notes */
    uint64_t now_s;      /* seconds since 1970 */
} ls_token_gate_config;

typedef struct ls_token_gate ls_token_gate;

/* The config is copied; the caller wipes its own. BAD_ARGUMENT for no key or too many, too many
 * addresses, or a bad tokens_max; NO_MEMORY. */
ls_status ls_token_gate_create(const ls_token_gate_config *config, const ls_allocator *allocator,
                               ls_token_gate **out);
/* Wipes the keys. NULL is allowed. */
void ls_token_gate_destroy(ls_token_gate *gate);

/* To be called about once a second: the gate goes by this time. */
void ls_token_gate_set_time(ls_token_gate *gate, uint64_t now_s);
/* Other keys from now on; what was used stays noted. BAD_ARGUMENT as in create. */
ls_status ls_token_gate_set_keys(ls_token_gate *gate, const ls_token_check *check);

/* Opens a token, and notes nothing: others, who copied it from the wire, can show it too. Gives its
 * claims, which the caller wipes, and their user data as what they let in; both are untouched
 * unless the refusal is NONE. */
ls_token_refusal ls_token_gate_open(ls_token_gate *gate,
                                    const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES],
                                    ls_token_claims *out, ls_token_admission *admission);

/* Notes that the token's owner, who has proven to have its keys, opens a connection with it: NONE,
 * or FULL, or USED, and then it must not be opened. With `is_return` the token was used before: the
 * client may come back to its seat with the seat's secret, and get nothing else. */
ls_token_refusal ls_token_gate_use(ls_token_gate *gate,
                                   const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES],
                                   uint64_t client_id, bool *is_return);

/* The connection ended before its client was given anything: the token is as new. Not for one that
 * `is_return`. */
void ls_token_gate_give_back(ls_token_gate *gate, const uint8_t id[LS_TOKEN_ID_BYTES]);

/* How many were refused for this reason; of NONE how many were opened. */
uint64_t ls_token_gate_count(const ls_token_gate *gate, ls_token_refusal refusal);

/* ---- Sealed passes: what the connections of a sealed server know by their connect tokens: the
 * name and the seat of their client. Takes a token as used when its connection is made, and gives
 * it back when that is forgotten before it opens. Memory is fixed at create ---- */

typedef struct ls_sealed_pass {
    uint8_t token_id[LS_TOKEN_ID_BYTES];
    uint64_t client_id;
    ls_token_admission admission;
    /* The token was used before: its client may come back with its seat's secret, and get nothing
     * else. */
    bool is_return;
} ls_sealed_pass;

typedef struct ls_sealed_passes ls_sealed_passes;

#define LS_SEALED_NO_PASS UINT32_MAX

/* For connections 0 .. count - 1; the gate is borrowed. NO_MEMORY. */
ls_status ls_sealed_passes_create(ls_token_gate *gate, uint32_t count,
                                  const ls_allocator *allocator, ls_sealed_passes **out);
/* NULL is allowed. */
void ls_sealed_passes_destroy(ls_sealed_passes *passes);

/* A CONFIRM shows a token: gives what it says, and the key p of its credential. Notes nothing. */
ls_token_refusal ls_sealed_passes_open(ls_sealed_passes *passes,
                                       const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES],
                                       ls_sealed_pass *pass,
                                       uint8_t credential_key[LS_CIPHER_KEY_BYTES]);

/* The connection of this token that has not opened, or LS_SEALED_NO_PASS: its client has begun
 * anew, so it is to be forgotten before the token is used. */
uint32_t ls_sealed_passes_half_open(const ls_sealed_passes *passes, const ls_sealed_pass *pass);

/* The client has proven to own the token: notes it as used, and says whether it is a return. */
ls_token_refusal ls_sealed_passes_use(ls_sealed_passes *passes,
                                      const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES],
                                      ls_sealed_pass *pass);
/* There is no place for a connection of it. */
void ls_sealed_passes_give_back(ls_sealed_passes *passes, const ls_sealed_pass *pass);

/* A connection is made, opens, is settled, is forgotten; the last three also of one that has no
 * token. Settled: its client was given something by its token, or it was not, and then the token is
 * as new; the first word counts. */
void ls_sealed_passes_put(ls_sealed_passes *passes, uint32_t index, const ls_sealed_pass *pass);
void ls_sealed_passes_keep(ls_sealed_passes *passes, uint32_t index);
void ls_sealed_passes_settle(ls_sealed_passes *passes, uint32_t index, bool is_used);
void ls_sealed_passes_forget(ls_sealed_passes *passes, uint32_t index);

/* NULL for a connection without a token. */
const ls_sealed_pass *ls_sealed_passes_of(const ls_sealed_passes *passes, uint32_t index);

LS_C_END

#endif
