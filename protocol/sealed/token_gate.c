#include "lockstep/protocol/sealed/token_gate.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/protocol/sealed/token_ledger.h"

struct ls_token_gate {
    const ls_allocator *allocator;
    ls_token_check *check; /* kept out of core dumps */
    ls_token_ledger *ledger;
    uint64_t now_s;
    uint64_t counts[LS_TOKEN_REFUSAL_COUNT];
};

static bool is_check(const ls_token_check *check)
{
    return check->key_count >= 1 && check->key_count <= LS_TOKEN_SERVER_KEYS_MAX &&
           check->own_count <= LS_TOKEN_SERVERS_MAX;
}

ls_status ls_token_gate_create(const ls_token_gate_config *config, const ls_allocator *allocator,
                               ls_token_gate **out)
{
    if (!is_check(&config->check)) {
        return LS_BAD_ARGUMENT;
    }
    ls_token_gate *gate = ls_allocate(allocator, sizeof *gate);
    if (!gate) {
        return LS_NO_MEMORY;
    }
    gate->allocator = allocator;
    gate->now_s = config->now_s;
    gate->check = ls_cipher_allocate(sizeof *gate->check);
    ls_status status = gate->check
                           ? ls_token_ledger_create(config->tokens_max, allocator, &gate->ledger)
                           : LS_NO_MEMORY;
    if (status != LS_OK) {
        ls_token_gate_destroy(gate);
        return status;
    }
    *gate->check = config->check;
    *out = gate;
    return LS_OK;
}

void ls_token_gate_destroy(ls_token_gate *gate)
{
    if (gate) {
        ls_token_ledger_destroy(gate->ledger);
        ls_cipher_release(gate->check);
        ls_release(gate->allocator, gate);
    }
}

void ls_token_gate_set_time(ls_token_gate *gate, uint64_t now_s)
{
    gate->now_s = now_s;
}

ls_status ls_token_gate_set_keys(ls_token_gate *gate, const ls_token_check *check)
{
    if (!is_check(check)) {
        return LS_BAD_ARGUMENT;
    }
    *gate->check = *check;
    return LS_OK;
}

static ls_token_refusal counted(ls_token_gate *gate, ls_token_refusal refusal)
{
    gate->counts[refusal]++;
    return refusal;
}

ls_token_refusal ls_token_gate_open(ls_token_gate *gate,
                                    const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES],
                                    ls_token_claims *out, ls_token_admission *admission)
{
    ls_token_claims claims;
    ls_token_refusal refusal = ls_token_open(envelope, gate->check, gate->now_s, &claims);
    if (refusal == LS_TOKEN_REFUSAL_NONE) {
        bool is_readable = ls_token_user_data_read(claims.user_data, admission, NULL) == LS_OK;
        refusal = is_readable ? LS_TOKEN_REFUSAL_NONE : LS_TOKEN_REFUSAL_USER_DATA;
        *out = is_readable ? claims : *out;
        ls_cipher_wipe(&claims, sizeof claims);
    }
    return counted(gate, refusal);
}

ls_token_refusal ls_token_gate_use(ls_token_gate *gate,
                                   const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES],
                                   uint64_t client_id, bool *is_return)
{
    ls_token_use use = ls_token_ledger_use(gate->ledger, ls_token_envelope_id(envelope), client_id,
                                           ls_token_envelope_expire_s(envelope), gate->now_s);
    if (use == LS_TOKEN_LEDGER_FULL) {
        return counted(gate, LS_TOKEN_REFUSAL_FULL);
    }
    if (use == LS_TOKEN_USED_BY_OTHER) {
        return counted(gate, LS_TOKEN_REFUSAL_USED);
    }
    *is_return = use == LS_TOKEN_USED_BEFORE;
    return LS_TOKEN_REFUSAL_NONE;
}

void ls_token_gate_give_back(ls_token_gate *gate, const uint8_t id[LS_TOKEN_ID_BYTES])
{
    ls_token_ledger_give_back(gate->ledger, id);
}

uint64_t ls_token_gate_count(const ls_token_gate *gate, ls_token_refusal refusal)
{
    LS_ASSERT((uint32_t)refusal < LS_TOKEN_REFUSAL_COUNT);
    return gate->counts[refusal];
}
