#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/protocol/sealed/token_gate.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- token_gate ---- */

enum {
    NOW_S = 1000,
    EXPIRE_S = 1060,
};

static ls_token_gate_config gate_config(void)
{
    ls_token_gate_config config;
    memset(&config, 0, sizeof config);
    config.check.protocol_id = LS_TOKEN_PROTOCOL_ID;
    config.check.key_count = 1;
    memset(config.check.keys[0], 7, LS_TOKEN_KEY_BYTES);
    config.tokens_max = 2;
    config.now_s = NOW_S;
    return config;
}

static ls_token_gate *make_gate(void)
{
    ls_token_gate *gate = NULL;
    const ls_token_gate_config config = gate_config();
    cr_assert_eq(ls_cipher_init(), LS_OK);
    cr_assert_eq(ls_token_gate_create(&config, ls_allocator_heap(), &gate), LS_OK);
    return gate;
}

/* The part that a client sends, of a new token for this client id. */
static void make_envelope(uint64_t client_id, const uint8_t *key,
                          uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES])
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token token;
    ls_token_config config = ls_token_config_default();
    config.create_s = NOW_S;
    config.expire_s = EXPIRE_S;
    config.claims.client_id = client_id;
    config.claims.list.count = 1;
    cr_assert_eq(ls_endpoint_parse("192.0.2.1", &config.claims.list.servers[0], NULL), LS_OK);
    cr_assert_eq(ls_token_make(&config, key, bytes, NULL), LS_OK);
    cr_assert_eq(ls_token_read(bytes, sizeof bytes, NOW_S, &token), LS_TOKEN_REFUSAL_NONE);
    ls_token_write_envelope(&token, envelope);
}

static ls_token_refusal open_at(ls_token_gate *gate, const uint8_t *envelope)
{
    ls_token_claims claims;
    ls_token_admission admission;
    return ls_token_gate_open(gate, envelope, &claims, &admission);
}

Test(token_gate, a_token_opens_one_connection_and_is_good_to_come_back)
{
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES];
    ls_token_claims claims;
    ls_token_admission admission;
    bool is_return = true;
    const ls_token_gate_config config = gate_config();
    ls_token_gate *gate = make_gate();
    make_envelope(5, config.check.keys[0], envelope);
    cr_assert_eq(ls_token_gate_open(gate, envelope, &claims, &admission), LS_TOKEN_REFUSAL_NONE);
    cr_assert_eq(claims.client_id, 5);
    cr_assert_eq(ls_token_gate_use(gate, envelope, 5, &is_return), LS_TOKEN_REFUSAL_NONE);
    cr_assert_not(is_return);
    cr_assert_eq(ls_token_gate_use(gate, envelope, 5, &is_return), LS_TOKEN_REFUSAL_NONE);
    cr_assert(is_return);
    is_return = false;
    cr_assert_eq(ls_token_gate_use(gate, envelope, 6, &is_return), LS_TOKEN_REFUSAL_USED);
    cr_assert_not(is_return);
    ls_token_gate_give_back(gate, ls_token_envelope_id(envelope));
    is_return = true;
    cr_assert_eq(ls_token_gate_use(gate, envelope, 5, &is_return), LS_TOKEN_REFUSAL_NONE);
    cr_assert_not(is_return);
    ls_token_gate_destroy(gate);
}

/* Somebody on the path may copy it, and must not use it up. */
Test(token_gate, a_token_that_is_only_shown_is_not_noted)
{
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES];
    bool is_return = true;
    const ls_token_gate_config config = gate_config();
    ls_token_gate *gate = make_gate();
    make_envelope(5, config.check.keys[0], envelope);
    for (uint32_t i = 0; i < 10; i++) {
        cr_assert_eq(open_at(gate, envelope), LS_TOKEN_REFUSAL_NONE);
    }
    cr_assert_eq(ls_token_gate_use(gate, envelope, 5, &is_return), LS_TOKEN_REFUSAL_NONE);
    cr_assert_not(is_return);
    ls_token_gate_destroy(gate);
}

Test(token_gate, goes_by_the_time_that_it_is_told)
{
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES];
    const ls_token_gate_config config = gate_config();
    ls_token_gate *gate = make_gate();
    make_envelope(5, config.check.keys[0], envelope);
    ls_token_gate_set_time(gate, EXPIRE_S - 1);
    cr_assert_eq(open_at(gate, envelope), LS_TOKEN_REFUSAL_NONE);
    ls_token_gate_set_time(gate, EXPIRE_S);
    cr_assert_eq(open_at(gate, envelope), LS_TOKEN_REFUSAL_EXPIRED);
    ls_token_gate_destroy(gate);
}

Test(token_gate, refuses_when_it_can_note_no_more)
{
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES];
    bool is_return = false;
    const ls_token_gate_config config = gate_config();
    ls_token_gate *gate = make_gate();
    for (uint64_t client_id = 0; client_id < 3; client_id++) {
        make_envelope(client_id, config.check.keys[0], envelope);
        cr_assert_eq(open_at(gate, envelope), LS_TOKEN_REFUSAL_NONE);
        cr_assert_eq(ls_token_gate_use(gate, envelope, client_id, &is_return),
                     client_id < 2 ? LS_TOKEN_REFUSAL_NONE : LS_TOKEN_REFUSAL_FULL);
    }
    cr_assert_eq(ls_token_gate_count(gate, LS_TOKEN_REFUSAL_FULL), 1);
    cr_assert_eq(ls_token_gate_count(gate, LS_TOKEN_REFUSAL_NONE), 3);
    ls_token_gate_destroy(gate);
}

Test(token_gate, another_key_takes_over_while_it_runs)
{
    uint8_t old[LS_TOKEN_ENVELOPE_BYTES], new[LS_TOKEN_ENVELOPE_BYTES];
    ls_token_check check = gate_config().check;
    ls_token_gate *gate = make_gate();
    uint8_t new_key[LS_TOKEN_KEY_BYTES] = {9};
    make_envelope(5, check.keys[0], old);
    make_envelope(5, new_key, new);
    cr_assert_eq(open_at(gate, new), LS_TOKEN_REFUSAL_FORGED);
    memcpy(check.keys[1], new_key, sizeof new_key);
    check.key_count = 2;
    cr_assert_eq(ls_token_gate_set_keys(gate, &check), LS_OK);
    cr_assert_eq(open_at(gate, old), LS_TOKEN_REFUSAL_NONE);
    cr_assert_eq(open_at(gate, new), LS_TOKEN_REFUSAL_NONE);
    memcpy(check.keys[0], new_key, sizeof new_key);
    check.key_count = 1;
    cr_assert_eq(ls_token_gate_set_keys(gate, &check), LS_OK);
    cr_assert_eq(open_at(gate, old), LS_TOKEN_REFUSAL_FORGED);
    cr_assert_eq(open_at(gate, new), LS_TOKEN_REFUSAL_NONE);
    check.key_count = 0;
    cr_assert_eq(ls_token_gate_set_keys(gate, &check), LS_BAD_ARGUMENT);
    cr_assert_eq(ls_token_gate_count(gate, LS_TOKEN_REFUSAL_FORGED), 2);
    ls_token_gate_destroy(gate);
}

Test(token_gate, a_config_that_cannot_be_right_is_refused)
{
    ls_token_gate *gate = NULL;
    ls_token_gate_config config = gate_config();
    cr_assert_eq(ls_cipher_init(), LS_OK);
    config.check.key_count = 3;
    cr_assert_eq(ls_token_gate_create(&config, ls_allocator_heap(), &gate), LS_BAD_ARGUMENT);
    config = gate_config();
    config.check.own_count = LS_TOKEN_SERVERS_MAX + 1;
    cr_assert_eq(ls_token_gate_create(&config, ls_allocator_heap(), &gate), LS_BAD_ARGUMENT);
    config = gate_config();
    config.tokens_max = 0;
    cr_assert_eq(ls_token_gate_create(&config, ls_allocator_heap(), &gate), LS_BAD_ARGUMENT);
    cr_assert_null(gate);
    ls_token_gate_destroy(NULL);
}

/* ---- token_ledger ---- */

typedef struct token_id {
    uint8_t bytes[LS_TOKEN_ID_BYTES];
} token_id;

static token_id id_of(uint32_t home, uint32_t number)
{
    token_id id = {{0}};
    ls_store_u32(id.bytes, home);
    ls_store_u32(id.bytes + 4, number);
    return id;
}

static ls_token_use use(ls_token_ledger *ledger, token_id id, uint64_t expire_s, uint64_t now_s)
{
    return ls_token_ledger_use(ledger, id.bytes, 7, expire_s, now_s);
}

static ls_token_ledger *make_ledger(uint32_t tokens_max)
{
    ls_token_ledger *ledger = NULL;
    cr_assert_eq(ls_token_ledger_create(tokens_max, ls_allocator_heap(), &ledger), LS_OK);
    return ledger;
}

Test(token_ledger, a_token_opens_one_connection_once)
{
    ls_token_ledger *ledger = make_ledger(4);
    const token_id id = id_of(1, 1);
    cr_assert_eq(use(ledger, id, 100, 10), LS_TOKEN_FIRST_USE);
    cr_assert_eq(use(ledger, id, 100, 10), LS_TOKEN_USED_BEFORE);
    cr_assert_eq(use(ledger, id, 100, 99), LS_TOKEN_USED_BEFORE);
    cr_assert_eq(ls_token_ledger_use(ledger, id.bytes, 8, 100, 10), LS_TOKEN_USED_BY_OTHER);
    cr_assert_eq(use(ledger, id_of(1, 2), 100, 10), LS_TOKEN_FIRST_USE);
    cr_assert_eq(ls_token_ledger_count(ledger), 2);
    ls_token_ledger_destroy(ledger);
}

Test(token_ledger, a_token_that_is_given_back_is_as_new)
{
    ls_token_ledger *ledger = make_ledger(4);
    const token_id id = id_of(1, 1);
    ls_token_ledger_give_back(ledger, id.bytes);
    cr_assert_eq(use(ledger, id, 100, 10), LS_TOKEN_FIRST_USE);
    ls_token_ledger_give_back(ledger, id.bytes);
    cr_assert_eq(ls_token_ledger_count(ledger), 0);
    cr_assert_eq(use(ledger, id, 100, 10), LS_TOKEN_FIRST_USE);
    ls_token_ledger_destroy(ledger);
}

/* A token that was noted must be refused until it has expired, whatever else comes. */
Test(token_ledger, a_full_ledger_refuses_and_forgets_nothing)
{
    enum {
        TOKENS = 100
    };
    ls_token_ledger *ledger = make_ledger(TOKENS);
    for (uint32_t i = 0; i < TOKENS; i++) {
        cr_assert_eq(use(ledger, id_of(i * 0x9e3779b9u, i), 50 + i, 10), LS_TOKEN_FIRST_USE);
    }
    const token_id late = id_of(5, 1000);
    cr_assert_eq(use(ledger, late, 500, 10), LS_TOKEN_LEDGER_FULL);
    cr_assert_eq(use(ledger, late, 500, 49), LS_TOKEN_LEDGER_FULL);
    for (uint32_t i = 0; i < TOKENS; i++) {
        cr_assert_eq(use(ledger, id_of(i * 0x9e3779b9u, i), 50 + i, 49), LS_TOKEN_USED_BEFORE);
    }
    cr_assert_eq(use(ledger, late, 500, 50), LS_TOKEN_FIRST_USE);
    cr_assert_eq(ls_token_ledger_count(ledger), TOKENS);
    cr_assert_eq(use(ledger, id_of(6, 1001), 500, 50), LS_TOKEN_LEDGER_FULL);
    ls_token_ledger_destroy(ledger);
}

/* All ids at one home, at the end of the slots: what stands behind moves up and around. */
Test(token_ledger, ids_that_meet_are_kept_apart_when_others_leave)
{
    ls_token_ledger *ledger = make_ledger(8);
    for (uint32_t round = 0; round < 8; round++) {
        for (uint32_t i = 0; i < 8; i++) {
            cr_assert_eq(use(ledger, id_of(14 + i % 3, i), 100, 1), LS_TOKEN_FIRST_USE);
        }
        ls_token_ledger_give_back(ledger, id_of(14 + round % 3, round).bytes);
        for (uint32_t i = 0; i < 8; i++) {
            cr_assert_eq(use(ledger, id_of(14 + i % 3, i), 100, 1),
                         i == round ? LS_TOKEN_FIRST_USE : LS_TOKEN_USED_BEFORE);
        }
        for (uint32_t i = 0; i < 8; i++) {
            ls_token_ledger_give_back(ledger, id_of(14 + i % 3, i).bytes);
        }
        cr_assert_eq(ls_token_ledger_count(ledger), 0);
    }
    ls_token_ledger_destroy(ledger);
}

/* Against a list of all tokens that there ever were. */
Test(token_ledger, agrees_with_a_plain_list_in_a_long_run)
{
    enum {
        STEPS = 20000,
        MAX = 64
    };
    static uint64_t expires[STEPS];
    ls_rng rng = ls_rng_make(1, 1);
    ls_token_ledger *ledger = make_ledger(MAX);
    uint32_t full = 0, fresh = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        uint64_t now_s = step / 8;
        uint32_t number = step - (step < 64 ? 0 : ls_rng_below(&rng, 64));
        uint64_t expire_s = now_s + 1 + ls_rng_below(&rng, 12);
        if (expires[number] != 0 && expires[number] <= now_s) {
            continue; /* its seal is not looked at any more */
        }
        ls_token_use got = use(ledger, id_of(number % 5 + 125, number), expire_s, now_s);
        if (expires[number] != 0) {
            cr_assert_eq(got, LS_TOKEN_USED_BEFORE);
        } else if (got == LS_TOKEN_FIRST_USE) {
            expires[number] = expire_s;
            fresh++;
        } else if (got == LS_TOKEN_LEDGER_FULL) {
            full++;
        }
        cr_assert_leq(ls_token_ledger_count(ledger), MAX);
    }
    cr_assert_gt(fresh, STEPS / 8);
    cr_assert_lt(full, STEPS / 8);
    ls_token_ledger_destroy(ledger);
}

Test(token_ledger, takes_no_memory_after_create)
{
    uint64_t before = 0;
    ls_token_ledger *ledger = make_ledger(32);
    before = heap_calls();
    for (uint32_t i = 0; i < 1000; i++) {
        (void)use(ledger, id_of(i, i), i + 5, i);
    }
    cr_assert_eq(heap_calls(), before);
    ls_token_ledger_destroy(ledger);
    ls_token_ledger_destroy(NULL);
}

Test(token_ledger, a_capacity_out_of_range_is_refused)
{
    ls_token_ledger *ledger = NULL;
    cr_assert_eq(ls_token_ledger_create(0, ls_allocator_heap(), &ledger), LS_BAD_ARGUMENT);
    cr_assert_eq(
        ls_token_ledger_create(LS_TOKEN_LEDGER_TOKENS_MAX + 1, ls_allocator_heap(), &ledger),
        LS_BAD_ARGUMENT);
    cr_assert_null(ledger);
}
