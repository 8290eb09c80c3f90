#include "lockstep/protocol/sealed/sealed_passes.h"

#include "lockstep/protocol/sealed/key_exchange.h"

#include <string.h>

_Static_assert(LS_TOKEN_ENVELOPE_BYTES == LS_KEY_EXCHANGE_TOKEN_BYTES, "what a CONFIRM shows");

typedef struct connection_pass {
    ls_sealed_pass pass;
    bool is_there;
    bool is_kept; /* its connection has opened: the token is used */
    bool is_settled;
} connection_pass;

struct ls_sealed_passes {
    const ls_allocator *allocator;
    ls_token_gate *gate;
    connection_pass *passes; /* of each connection */
    uint32_t count;
};

ls_status ls_sealed_passes_create(ls_token_gate *gate, uint32_t count,
                                  const ls_allocator *allocator, ls_sealed_passes **out)
{
    ls_sealed_passes *passes = ls_allocate(allocator, sizeof *passes);
    if (!passes) {
        return LS_NO_MEMORY;
    }
    *passes = (ls_sealed_passes){.allocator = allocator, .gate = gate, .count = count};
    passes->passes = ls_allocate_array(allocator, count, sizeof *passes->passes);
    if (!passes->passes) {
        ls_release(allocator, passes);
        return LS_NO_MEMORY;
    }
    *out = passes;
    return LS_OK;
}

void ls_sealed_passes_destroy(ls_sealed_passes *passes)
{
    if (passes) {
        ls_release(passes->allocator, passes->passes);
        ls_release(passes->allocator, passes);
    }
}

ls_token_refusal ls_sealed_passes_open(ls_sealed_passes *passes,
                                       const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES],
                                       ls_sealed_pass *pass,
                                       uint8_t credential_key[LS_CIPHER_KEY_BYTES])
{
    ls_token_claims claims;
    ls_token_admission admission;
    ls_token_refusal refusal = ls_token_gate_open(passes->gate, envelope, &claims, &admission);
    if (refusal == LS_TOKEN_REFUSAL_NONE) {
        memset(pass, 0, sizeof *pass);
        pass->admission = admission;
        memcpy(pass->token_id, ls_token_envelope_id(envelope), sizeof pass->token_id);
        pass->client_id = claims.client_id;
        ls_credential_key_of_token(claims.keys.client_to_server, claims.keys.server_to_client,
                                   credential_key);
        ls_cipher_wipe(&claims, sizeof claims);
    }
    return refusal;
}

uint32_t ls_sealed_passes_half_open(const ls_sealed_passes *passes, const ls_sealed_pass *pass)
{
    for (uint32_t i = 0; i < passes->count; i++) {
        const connection_pass *held = &passes->passes[i];
        if (held->is_there && !held->is_kept &&
            memcmp(held->pass.token_id, pass->token_id, sizeof pass->token_id) == 0) {
            return i;
        }
    }
    return LS_SEALED_NO_PASS;
}

ls_token_refusal ls_sealed_passes_use(ls_sealed_passes *passes,
                                      const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES],
                                      ls_sealed_pass *pass)
{
    return ls_token_gate_use(passes->gate, envelope, pass->client_id, &pass->is_return);
}

void ls_sealed_passes_give_back(ls_sealed_passes *passes, const ls_sealed_pass *pass)
{
    if (!pass->is_return) {
        ls_token_gate_give_back(passes->gate, pass->token_id);
    }
}

void ls_sealed_passes_put(ls_sealed_passes *passes, uint32_t index, const ls_sealed_pass *pass)
{
    passes->passes[index] = (connection_pass){.pass = *pass, .is_there = true};
}

void ls_sealed_passes_keep(ls_sealed_passes *passes, uint32_t index)
{
    passes->passes[index].is_kept = true;
}

void ls_sealed_passes_settle(ls_sealed_passes *passes, uint32_t index, bool is_used)
{
    connection_pass *held = &passes->passes[index];
    if (held->is_there && !held->is_settled && !is_used) {
        ls_sealed_passes_give_back(passes, &held->pass);
    }
    held->is_settled = true;
}

void ls_sealed_passes_forget(ls_sealed_passes *passes, uint32_t index)
{
    connection_pass *held = &passes->passes[index];
    if (held->is_there && !held->is_kept) {
        ls_sealed_passes_give_back(passes, &held->pass);
    }
    memset(held, 0, sizeof *held);
}

const ls_sealed_pass *ls_sealed_passes_of(const ls_sealed_passes *passes, uint32_t index)
{
    return passes->passes[index].is_there ? &passes->passes[index].pass : NULL;
}
