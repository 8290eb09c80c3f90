/* Sealed passes: what the connections of a sealed server know by their connect tokens: the name and
 * the seat of their client. Takes a token as used when its connection is made, and gives it back
 * when that is forgotten before it opens. Memory is fixed at create. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_SEALED_PASSES_H
#define LOCKSTEP_PROTOCOL_SEALED_SEALED_PASSES_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/sealed/token_gate.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

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
