#include "lockstep/protocol/sealed/token_gate.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/protocol/sealed/key_exchange.h"

#include <string.h>

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

/* ---- which tokens were used: the ledger ---- */

enum {
    SWEPT_PER_USE = 8, /* slots: the ledger rids itself of what has expired while it is used */
};

typedef struct ledger_entry {
    uint8_t id[LS_TOKEN_ID_BYTES];
    uint64_t client_id;
    uint64_t expire_s;
    uint64_t is_taken;
} ledger_entry;

/* Open addressing, at most half full; an entry stands at its home or behind it, without a gap. */
struct ls_token_ledger {
    const ls_allocator *allocator;
    uint32_t tokens_max;
    uint32_t mask; /* slots - 1 */
    uint32_t count;
    uint32_t hand;   /* the next slot to sweep */
    uint64_t full_s; /* when everything was swept in vain */
    bool has_been_full;
    ledger_entry *entries;
};

ls_status ls_token_ledger_create(uint32_t tokens_max, const ls_allocator *allocator,
                                 ls_token_ledger **out)
{
    if (tokens_max == 0 || tokens_max > LS_TOKEN_LEDGER_TOKENS_MAX) {
        return LS_BAD_ARGUMENT;
    }
    uint32_t slots = 2;
    while (slots < 2 * tokens_max) {
        slots *= 2;
    }
    ls_token_ledger *ledger = ls_allocate(allocator, sizeof *ledger);
    ledger_entry *entries = ls_allocate_array(allocator, slots, sizeof *entries);
    if (!ledger || !entries) {
        ls_release(allocator, entries);
        ls_release(allocator, ledger);
        return LS_NO_MEMORY;
    }
    *ledger = (ls_token_ledger){
        .allocator = allocator, .tokens_max = tokens_max, .mask = slots - 1, .entries = entries};
    *out = ledger;
    return LS_OK;
}

void ls_token_ledger_destroy(ls_token_ledger *ledger)
{
    if (ledger) {
        ls_release(ledger->allocator, ledger->entries);
        ls_release(ledger->allocator, ledger);
    }
}

uint32_t ls_token_ledger_count(const ls_token_ledger *ledger)
{
    return ledger->count;
}

/* An id is a tag that only the back end's key makes: its bits are as good as a hash. */
static uint32_t home_of(const ls_token_ledger *ledger, const uint8_t *id)
{
    return ls_load_u32(id) & ledger->mask;
}

/* The entry of the id, or the free one where it would stand. */
static uint32_t slot_of(const ls_token_ledger *ledger, const uint8_t *id)
{
    uint32_t slot = home_of(ledger, id);
    while (ledger->entries[slot].is_taken &&
           memcmp(ledger->entries[slot].id, id, LS_TOKEN_ID_BYTES) != 0) {
        slot = (slot + 1) & ledger->mask;
    }
    return slot;
}

/* Frees a slot, and moves up what stood behind it because there was no room before. */
static void free_slot(ls_token_ledger *ledger, uint32_t slot)
{
    uint32_t gap = slot;
    uint32_t next = slot;
    for (;;) {
        next = (next + 1) & ledger->mask;
        if (!ledger->entries[next].is_taken) {
            break;
        }
        uint32_t from_home = (next - home_of(ledger, ledger->entries[next].id)) & ledger->mask;
        if (from_home >= ((next - gap) & ledger->mask)) {
            ledger->entries[gap] = ledger->entries[next];
            gap = next;
        }
    }
    memset(&ledger->entries[gap], 0, sizeof ledger->entries[gap]);
    ledger->count--;
}

static void sweep(ls_token_ledger *ledger, uint32_t slots, uint64_t now_s)
{
    for (uint32_t i = 0; i < slots; i++) {
        uint32_t slot = ledger->hand;
        ledger->hand = (slot + 1) & ledger->mask;
        while (ledger->entries[slot].is_taken && ledger->entries[slot].expire_s <= now_s) {
            free_slot(ledger, slot);
        }
    }
}

/* Whether there is room for one more. All slots are looked at when there is none, once a second. */
static bool has_room(ls_token_ledger *ledger, uint64_t now_s)
{
    if (ledger->count < ledger->tokens_max) {
        return true;
    }
    if (!ledger->has_been_full || ledger->full_s != now_s) {
        ledger->has_been_full = true;
        ledger->full_s = now_s;
        sweep(ledger, ledger->mask + 1, now_s);
    }
    return ledger->count < ledger->tokens_max;
}

ls_token_use ls_token_ledger_use(ls_token_ledger *ledger, const uint8_t id[LS_TOKEN_ID_BYTES],
                                 uint64_t client_id, uint64_t expire_s, uint64_t now_s)
{
    const ledger_entry *known = &ledger->entries[slot_of(ledger, id)];
    if (known->is_taken) {
        return known->client_id == client_id ? LS_TOKEN_USED_BEFORE : LS_TOKEN_USED_BY_OTHER;
    }
    sweep(ledger, SWEPT_PER_USE, now_s);
    if (!has_room(ledger, now_s)) {
        return LS_TOKEN_LEDGER_FULL;
    }
    ledger_entry *entry = &ledger->entries[slot_of(ledger, id)];
    memcpy(entry->id, id, LS_TOKEN_ID_BYTES);
    entry->client_id = client_id;
    entry->expire_s = expire_s;
    entry->is_taken = 1;
    ledger->count++;
    return LS_TOKEN_FIRST_USE;
}

void ls_token_ledger_give_back(ls_token_ledger *ledger, const uint8_t id[LS_TOKEN_ID_BYTES])
{
    uint32_t slot = slot_of(ledger, id);
    if (ledger->entries[slot].is_taken) {
        free_slot(ledger, slot);
    }
}

/* ---- sealed passes ---- */

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
