#include "lockstep/common/base/cipher.h"
#include "lockstep/protocol/sealed/token_gate.h"

#include <criterion/criterion.h>
#include <string.h>

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
