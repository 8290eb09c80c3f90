/* Connect tokens, at the gate that they open, and invites. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/protocol/sealed/connect_token.h"
#include "lockstep/protocol/sealed/token_gate.h"
#include "lockstep/protocol/sealed/token_user_data.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- token_gate ---- */

enum {
    GATE_NOW_S = 1000,
    GATE_EXPIRE_S = 1060,
};

static ls_token_gate_config gate_config(void)
{
    ls_token_gate_config config;
    memset(&config, 0, sizeof config);
    config.check.protocol_id = LS_TOKEN_PROTOCOL_ID;
    config.check.key_count = 1;
    memset(config.check.keys[0], 7, LS_TOKEN_KEY_BYTES);
    config.tokens_max = 2;
    config.now_s = GATE_NOW_S;
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
    config.create_s = GATE_NOW_S;
    config.expire_s = GATE_EXPIRE_S;
    config.claims.client_id = client_id;
    config.claims.list.count = 1;
    cr_assert_eq(ls_endpoint_parse("192.0.2.1", &config.claims.list.servers[0], NULL), LS_OK);
    cr_assert_eq(ls_token_make(&config, key, bytes, NULL), LS_OK);
    cr_assert_eq(ls_token_read(bytes, sizeof bytes, GATE_NOW_S, &token), LS_TOKEN_REFUSAL_NONE);
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
    ls_token_gate_set_time(gate, GATE_EXPIRE_S - 1);
    cr_assert_eq(open_at(gate, envelope), LS_TOKEN_REFUSAL_NONE);
    ls_token_gate_set_time(gate, GATE_EXPIRE_S);
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

/* ---- connect_token ---- */

/* Tokens that tests/tokens/make_tokens.py made, which shares no code with ours, and tokens of ours
 * byte for byte as it makes them. */

enum {
    CREATE_S = 1700000000,
    EXPIRE_S = 1700000045,
    NOW_S = 1700000044,
    /* Offsets of the standard in a token with two addresses, of IPv4 and IPv6. */
    AT_PROTOCOL = 13,
    AT_CREATE = 21,
    AT_EXPIRE = 29,
    AT_NONCE = 37,
    AT_PRIVATE = 61,
    AT_TIMEOUT = 1085,
    AT_COUNT = 1089,
    AT_IPV4 = 1093,
    AT_IPV6 = 1100,
    AT_KEYS = 1119,
    AT_PADDING = 1183,
};

static const uint64_t protocol_id = UINT64_C(0x1122334455667788);

static void read_sample(const char *name, uint8_t bytes[LS_TOKEN_BYTES])
{
    ls_text path = {{0}};
    ls_text_set(&path, "%s/%s", LS_TEST_TOKENS, name);
    FILE *file = fopen(path.bytes, "rb");
    cr_assert(file, "%s", path.bytes);
    cr_assert_eq(fread(bytes, 1, LS_TOKEN_BYTES, file), LS_TOKEN_BYTES);
    cr_assert_eq(fgetc(file), EOF);
    fclose(file);
}

static void fill(uint8_t *bytes, size_t size, uint8_t first)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(first + i);
    }
}

static ls_endpoint ipv4(uint8_t last, uint16_t port)
{
    return (ls_endpoint){.address = {[10] = 0xff, 0xff, 192, [14] = 2, [15] = last}, .port = port};
}

static ls_endpoint ipv6(uint8_t before, uint8_t last, uint16_t port)
{
    return (ls_endpoint){.address = {0x20, 0x01, 0x0d, 0xb8, [13] = before, [15] = last},
                         .port = port};
}

/* As the script has seat.token. */
static ls_token_config seat_config(void)
{
    ls_token_config config = ls_token_config_default();
    const ls_token_admission admission = {
        .place = LS_TOKEN_PLACE_SEAT, .seat = 3, .match = "cup-7", .name = "Åsa Šimić"};
    config.protocol_id = protocol_id;
    config.create_s = CREATE_S;
    config.expire_s = EXPIRE_S;
    fill(config.nonce, sizeof config.nonce, 0x10);
    config.claims.client_id = UINT64_C(0xfedcba9876543210);
    config.claims.list.count = 2;
    config.claims.list.servers[0] = ipv4(7, 7300);
    config.claims.list.servers[1] = ipv6(1, 2, 40001);
    fill(config.claims.keys.client_to_server, LS_TOKEN_KEY_BYTES, 0x20);
    fill(config.claims.keys.server_to_client, LS_TOKEN_KEY_BYTES, 0xc0);
    cr_assert_eq(ls_token_user_data_write(&admission, config.claims.user_data, NULL), LS_OK);
    return config;
}

static ls_token_check seat_check(void)
{
    ls_token_check check = {.protocol_id = protocol_id, .key_count = 1};
    fill(check.keys[0], LS_TOKEN_KEY_BYTES, 0x80);
    return check;
}

static ls_token_refusal open_token(const uint8_t bytes[LS_TOKEN_BYTES], const ls_token_check *check,
                                   uint64_t now_s, ls_token_claims *out)
{
    ls_token token;
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES];
    ls_token_refusal refusal = ls_token_read(bytes, LS_TOKEN_BYTES, now_s, &token);
    if (refusal != LS_TOKEN_REFUSAL_NONE) {
        return refusal;
    }
    ls_token_write_envelope(&token, envelope);
    return ls_token_open(envelope, check, now_s, out);
}

static void assert_opens(const uint8_t *bytes, const ls_token_check *check,
                         ls_token_refusal expected)
{
    ls_token_claims claims;
    memset(&claims, 0x5a, sizeof claims);
    ls_token_refusal refusal = open_token(bytes, check, NOW_S, &claims);
    cr_assert_eq(refusal, expected, "%s, not %s", ls_token_refusal_name(refusal),
                 ls_token_refusal_name(expected));
    if (refusal != LS_TOKEN_REFUSAL_NONE) {
        for (size_t i = 0; i < sizeof claims; i++) {
            cr_assert_eq(((uint8_t *)&claims)[i], 0x5a, "a refused token gave something away");
        }
    }
}

/* ---- what others make ---- */

Test(connect_token, a_token_of_an_independent_maker_is_read)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token token;
    read_sample("seat.token", bytes);
    const ls_token_config said = seat_config();
    cr_assert_eq(ls_token_read(bytes, sizeof bytes, NOW_S, &token), LS_TOKEN_REFUSAL_NONE);
    cr_expect_eq(token.protocol_id, said.protocol_id);
    cr_expect_eq(token.create_s, CREATE_S);
    cr_expect_eq(token.expire_s, EXPIRE_S);
    cr_expect_eq(token.timeout_s, 15);
    cr_expect_arr_eq(token.nonce, said.nonce, sizeof said.nonce);
    cr_expect_arr_eq(&token.keys, &said.claims.keys, sizeof said.claims.keys);
    cr_assert_eq(token.list.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        cr_expect_eq(token.list.servers[i].port, said.claims.list.servers[i].port);
        cr_expect_arr_eq(token.list.servers[i].address, said.claims.list.servers[i].address, 16);
    }
}

Test(connect_token, a_token_of_an_independent_maker_is_opened)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token_claims claims;
    ls_token_admission admission;
    read_sample("seat.token", bytes);
    const ls_token_config said = seat_config();
    const ls_token_check check = seat_check();
    cr_assert_eq(open_token(bytes, &check, NOW_S, &claims), LS_TOKEN_REFUSAL_NONE);
    cr_expect_eq(claims.client_id, said.claims.client_id);
    cr_expect_eq(claims.timeout_s, 15);
    cr_expect_eq(claims.list.count, 2);
    cr_expect_arr_eq(&claims.keys, &said.claims.keys, sizeof claims.keys);
    cr_expect_arr_eq(claims.user_data, said.claims.user_data, LS_TOKEN_USER_DATA_BYTES);
    cr_assert_eq(ls_token_user_data_read(claims.user_data, &admission, NULL), LS_OK);
    cr_expect_eq(admission.place, LS_TOKEN_PLACE_SEAT);
    cr_expect_eq(admission.seat, 3);
    cr_expect_str_eq(admission.match, "cup-7");
    cr_expect_str_eq(admission.name, "Åsa Šimić");
}

Test(connect_token, is_made_byte_for_byte_as_the_independent_maker_does)
{
    uint8_t sample[LS_TOKEN_BYTES], made[LS_TOKEN_BYTES];
    const ls_token_config config = seat_config();
    const ls_token_check check = seat_check();
    read_sample("seat.token", sample);
    cr_assert_eq(ls_token_make_from(&config, check.keys[0], made, NULL), LS_OK);
    cr_assert_arr_eq(made, sample, LS_TOKEN_BYTES);
}

Test(connect_token, the_largest_token_is_made_and_read_alike)
{
    uint8_t sample[LS_TOKEN_BYTES], made[LS_TOKEN_BYTES];
    ls_token_claims claims;
    ls_token_config config = ls_token_config_default();
    ls_token_check check = seat_check();
    read_sample("largest.token", sample);
    check.protocol_id = config.protocol_id = 1;
    config.expire_s = UINT64_MAX;
    config.claims.client_id = 1;
    config.claims.timeout_s = -1;
    config.claims.list.count = LS_TOKEN_SERVERS_MAX;
    for (uint32_t i = 0; i < LS_TOKEN_SERVERS_MAX; i++) {
        config.claims.list.servers[i] = ipv6(0, (uint8_t)(i + 1), (uint16_t)(i + 1));
    }
    memset(config.claims.keys.client_to_server, 0xaa, LS_TOKEN_KEY_BYTES);
    memset(config.claims.keys.server_to_client, 0x55, LS_TOKEN_KEY_BYTES);
    cr_assert_eq(ls_token_make_from(&config, check.keys[0], made, NULL), LS_OK);
    cr_assert_arr_eq(made, sample, LS_TOKEN_BYTES);
    cr_assert_eq(open_token(sample, &check, NOW_S, &claims), LS_TOKEN_REFUSAL_NONE);
    cr_assert_eq(claims.timeout_s, -1);
    cr_assert_eq(claims.list.servers[31].address[15], 32);
}

/* ---- what a client reads ---- */

typedef struct alteration {
    const char *what;
    size_t at, size;
    ls_token_refusal refusal;
} alteration;

/* Of the public part what the seal of the private part covers, and what a client can tell. */
static const alteration alterations[] = {
    {"version info", 0, 13, LS_TOKEN_REFUSAL_MALFORMED},
    {"protocol id", AT_PROTOCOL, 8, LS_TOKEN_REFUSAL_PROTOCOL},
    {"nonce", AT_NONCE, 24, LS_TOKEN_REFUSAL_FORGED},
    {"private part", AT_PRIVATE, LS_TOKEN_PRIVATE_BYTES, LS_TOKEN_REFUSAL_FORGED},
    {"type of an address", AT_IPV4, 1, LS_TOKEN_REFUSAL_MALFORMED},
    {"type of an address", AT_IPV6, 1, LS_TOKEN_REFUSAL_MALFORMED},
};

Test(connect_token, each_altered_byte_that_the_seal_covers_is_refused)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    const ls_token_check check = seat_check();
    read_sample("seat.token", bytes);
    for (size_t row = 0; row < sizeof alterations / sizeof alterations[0]; row++) {
        const alteration *altered = &alterations[row];
        for (size_t at = altered->at; at < altered->at + altered->size; at++) {
            bytes[at] ^= 0x40;
            assert_opens(bytes, &check, altered->refusal);
            bytes[at] ^= 0x40;
        }
    }
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_NONE);
}

Test(connect_token, another_expire_timestamp_is_refused)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    const ls_token_check check = seat_check();
    read_sample("seat.token", bytes);
    ls_store_u64(bytes + AT_EXPIRE, EXPIRE_S + 1);
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_FORGED);
    ls_store_u64(bytes + AT_EXPIRE, NOW_S);
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_EXPIRED);
    ls_store_u64(bytes + AT_EXPIRE, CREATE_S - 1);
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_MALFORMED);
}

/* The public keys stand in the clear for their owner alone: altered ones agree on no key with the
 * server, which has those of the private part. */
Test(connect_token, a_client_reads_altered_keys_that_the_server_does_not_have)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token token;
    ls_token_claims claims;
    const ls_token_check check = seat_check();
    read_sample("seat.token", bytes);
    bytes[AT_KEYS] ^= 1;
    cr_assert_eq(ls_token_read(bytes, sizeof bytes, NOW_S, &token), LS_TOKEN_REFUSAL_NONE);
    cr_assert_eq(open_token(bytes, &check, NOW_S, &claims), LS_TOKEN_REFUSAL_NONE);
    cr_assert_neq(memcmp(&token.keys, &claims.keys, sizeof claims.keys), 0);
}

Test(connect_token, no_server_and_too_many_are_malformed)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token token;
    read_sample("seat.token", bytes);
    static const uint32_t counts[] = {0, LS_TOKEN_SERVERS_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        ls_store_u32(bytes + AT_COUNT, counts[i]);
        cr_assert_eq(ls_token_read(bytes, sizeof bytes, NOW_S, &token), LS_TOKEN_REFUSAL_MALFORMED);
    }
}

Test(connect_token, any_other_size_is_malformed)
{
    uint8_t bytes[LS_TOKEN_BYTES + 1] = {0};
    ls_token token;
    read_sample("seat.token", bytes);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        cr_assert_eq(ls_token_read(bytes, size, NOW_S, &token),
                     size == LS_TOKEN_BYTES ? LS_TOKEN_REFUSAL_NONE : LS_TOKEN_REFUSAL_MALFORMED);
    }
}

/* ---- what a server opens ---- */

Test(connect_token, is_good_before_its_last_second_and_no_longer)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token token;
    ls_token_claims claims;
    const ls_token_check check = seat_check();
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES];
    read_sample("seat.token", bytes);
    cr_assert_eq(ls_token_read(bytes, sizeof bytes, EXPIRE_S - 1, &token), LS_TOKEN_REFUSAL_NONE);
    cr_assert_eq(ls_token_read(bytes, sizeof bytes, EXPIRE_S, &token), LS_TOKEN_REFUSAL_EXPIRED);
    ls_token_write_envelope(&token, envelope);
    cr_assert_eq(ls_token_open(envelope, &check, EXPIRE_S - 1, &claims), LS_TOKEN_REFUSAL_NONE);
    cr_assert_eq(ls_token_open(envelope, &check, EXPIRE_S, &claims), LS_TOKEN_REFUSAL_EXPIRED);
    cr_assert_eq(ls_token_envelope_expire_s(envelope), EXPIRE_S);
    cr_assert_arr_eq(ls_token_envelope_id(envelope), bytes + AT_TIMEOUT - LS_TOKEN_ID_BYTES,
                     LS_TOKEN_ID_BYTES);
}

Test(connect_token, of_another_game_or_key_is_refused)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token_check check = seat_check();
    read_sample("seat.token", bytes);
    check.protocol_id++;
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_PROTOCOL);
    check = seat_check();
    check.keys[0][31] ^= 1;
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_FORGED);
    check.key_count = 0;
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_FORGED);
}

Test(connect_token, either_key_opens_while_one_takes_over)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token_check check = seat_check();
    read_sample("seat.token", bytes);
    memcpy(check.keys[1], check.keys[0], LS_TOKEN_KEY_BYTES);
    memset(check.keys[0], 7, LS_TOKEN_KEY_BYTES);
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_FORGED);
    check.key_count = 2;
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_NONE);
}

Test(connect_token, for_another_server_is_refused)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token_check check = seat_check();
    read_sample("seat.token", bytes);
    check.own_count = 1;
    check.own[0] = ipv4(7, 7301);
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_ELSEWHERE);
    check.own[0] = ipv4(8, 7300);
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_ELSEWHERE);
    check.own[check.own_count++] = ipv6(1, 2, 40001);
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_NONE);
    check.own[1] = ipv4(7, 7300);
    assert_opens(bytes, &check, LS_TOKEN_REFUSAL_NONE);
}

/* A back end that has the key and lays the private part out wrongly. */
Test(connect_token, a_sealed_part_of_another_layout_is_malformed)
{
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES] = {0}, header[29] = "NETCODE 1.02";
    ls_token_claims claims;
    const ls_token_check check = seat_check();
    ls_store_u64(envelope, protocol_id);
    ls_store_u64(envelope + 8, EXPIRE_S);
    memcpy(header + 13, envelope, 16);
    envelope[40 + 12] = 33; /* servers */
    ls_cipher_seal_long(check.keys[0], envelope + 16, header, sizeof header, envelope + 40, 1008);
    cr_assert_eq(ls_token_open(envelope, &check, NOW_S, &claims), LS_TOKEN_REFUSAL_MALFORMED);
}

/* ---- what a back end makes ---- */

Test(connect_token, two_tokens_share_no_key_and_no_nonce)
{
    uint8_t first[LS_TOKEN_BYTES], second[LS_TOKEN_BYTES];
    ls_token_config config = seat_config();
    const ls_token_check check = seat_check();
    cr_assert_eq(ls_token_make(&config, check.keys[0], first, NULL), LS_OK);
    cr_assert_eq(ls_token_make(&config, check.keys[0], second, NULL), LS_OK);
    cr_assert_neq(memcmp(first + AT_NONCE, second + AT_NONCE, LS_TOKEN_NONCE_BYTES), 0);
    cr_assert_neq(memcmp(first + AT_KEYS, second + AT_KEYS, 32), 0);
    cr_assert_neq(memcmp(first + AT_KEYS + 32, second + AT_KEYS + 32, 32), 0);
    cr_assert_arr_eq(second + AT_KEYS, &config.claims.keys, 64);
    assert_opens(first, &check, LS_TOKEN_REFUSAL_NONE);
    assert_opens(second, &check, LS_TOKEN_REFUSAL_NONE);
    for (size_t at = AT_PADDING; at < LS_TOKEN_BYTES; at++) {
        cr_assert_eq(first[at], 0);
    }
}

static void assert_not_made(const ls_token_config *config, const char *reason)
{
    uint8_t token[LS_TOKEN_BYTES] = {1};
    const uint8_t key[LS_TOKEN_KEY_BYTES] = {0};
    ls_text why = {{0}};
    cr_assert_eq(ls_token_make_from(config, key, token, &why), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, reason), "%s", why.bytes);
    cr_assert_eq(token[0], 1);
}

Test(connect_token, a_config_that_cannot_be_right_is_refused_by_its_field)
{
    ls_token_config config = seat_config();
    config.claims.list.count = 0;
    assert_not_made(&config, "1 to 32 servers, not 0");
    config.claims.list.count = 33;
    assert_not_made(&config, "1 to 32 servers, not 33");
    config = seat_config();
    config.claims.list.servers[1].port = 0;
    assert_not_made(&config, "server 2");
    config = seat_config();
    config.expire_s = config.create_s;
    assert_not_made(&config, "expire");
}

Test(connect_token, every_refusal_has_a_name_and_a_text)
{
    cr_assert_str_eq(ls_token_refusal_name(LS_TOKEN_REFUSAL_ELSEWHERE), "ELSEWHERE");
    cr_assert(strstr(ls_token_refusal_text(LS_TOKEN_REFUSAL_EXPIRED), "expired"));
    cr_assert_str_eq(ls_token_refusal_name(LS_TOKEN_REFUSAL_COUNT), "UNKNOWN");
    cr_assert_str_eq(ls_token_refusal_text((ls_token_refusal)-1), "UNKNOWN");
}

/* ---- token_user_data ---- */

static void assert_refused(const uint8_t *user_data, const char *reason)
{
    ls_token_admission admission;
    ls_text why = {{0}};
    memset(&admission, 0x5a, sizeof admission);
    cr_assert_eq(ls_token_user_data_read(user_data, &admission, &why), LS_MALFORMED);
    cr_assert(strstr(why.bytes, reason), "%s", why.bytes);
    cr_assert_eq(((uint8_t *)&admission)[0], 0x5a);
}

Test(token_user_data, all_zeros_are_any_seat_of_any_match)
{
    const uint8_t zeros[LS_TOKEN_USER_DATA_BYTES] = {0};
    ls_token_admission admission;
    memset(&admission, 0x5a, sizeof admission);
    cr_assert_eq(ls_token_user_data_read(zeros, &admission, NULL), LS_OK);
    cr_assert_eq(admission.place, LS_TOKEN_PLACE_ANY);
    cr_assert_eq(admission.seat, 0);
    cr_assert_str_empty(admission.match);
    cr_assert_str_empty(admission.name);
}

Test(token_user_data, has_the_layout_of_the_page)
{
    uint8_t written[LS_TOKEN_USER_DATA_BYTES], expected[LS_TOKEN_USER_DATA_BYTES] = {1, 1, 31};
    ls_token_admission admission = {
        .place = LS_TOKEN_PLACE_SEAT, .seat = 31, .match = "cup", .name = "Ada"};
    memcpy(expected + 4, "cup", 3);
    memcpy(expected + 68, "Ada", 3);
    /* Bytes behind the end of a text are not written. */
    memcpy(admission.name + 4, "secret", 6);
    cr_assert_eq(ls_token_user_data_write(&admission, written, NULL), LS_OK);
    cr_assert_arr_eq(written, expected, sizeof expected);
}

Test(token_user_data, is_read_as_it_was_written)
{
    static const ls_token_admission said[] = {
        {.place = LS_TOKEN_PLACE_ANY},
        {.place = LS_TOKEN_PLACE_SEAT},
        {.place = LS_TOKEN_PLACE_SPECTATOR, .match = "0123456789abcdef", .name = "Åsa"},
        {.place = LS_TOKEN_PLACE_SEAT,
         .seat = LS_PLAYERS_MAX - 1,
         .match = "123456789012345678901234567890123456789012345678901234567890123",
         .name = "1234567890123456789012345678901"},
    };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        uint8_t user_data[LS_TOKEN_USER_DATA_BYTES];
        ls_token_admission read;
        cr_assert_eq(ls_token_user_data_write(&said[i], user_data, NULL), LS_OK);
        cr_assert_eq(ls_token_user_data_read(user_data, &read, NULL), LS_OK);
        cr_assert_eq(read.place, said[i].place);
        cr_assert_eq(read.seat, said[i].seat);
        cr_assert_str_eq(read.match, said[i].match);
        cr_assert_str_eq(read.name, said[i].name);
    }
}

Test(token_user_data, what_is_of_no_use_is_not_written)
{
    static const ls_token_admission said[] = {
        {.place = LS_TOKEN_PLACE_COUNT},
        {.place = LS_TOKEN_PLACE_SEAT, .seat = LS_PLAYERS_MAX},
        {.place = LS_TOKEN_PLACE_SPECTATOR, .seat = 1},
        {.name = "a\nb"},
        {.name = "\xff"},
        {.match = "\xe2\x80\xae"}, /* turns the direction of writing */
    };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        uint8_t user_data[LS_TOKEN_USER_DATA_BYTES] = {9};
        ls_text why = {{0}};
        cr_assert_eq(ls_token_user_data_write(&said[i], user_data, &why), LS_BAD_ARGUMENT);
        cr_assert_neq(why.bytes[0], '\0');
        cr_assert_eq(user_data[0], 9);
    }
    ls_token_admission endless = {.place = LS_TOKEN_PLACE_ANY};
    uint8_t user_data[LS_TOKEN_USER_DATA_BYTES];
    memset(endless.match, 'a', sizeof endless.match);
    cr_assert_eq(ls_token_user_data_write(&endless, user_data, NULL), LS_BAD_ARGUMENT);
}

Test(token_user_data, what_lockstep_does_not_know_is_refused)
{
    uint8_t good[LS_TOKEN_USER_DATA_BYTES];
    const ls_token_admission admission = {.place = LS_TOKEN_PLACE_ANY, .match = "m", .name = "n"};
    cr_assert_eq(ls_token_user_data_write(&admission, good, NULL), LS_OK);
    static const struct {
        size_t at;
        uint8_t value;
        const char *reason;
    } altered[] = {
        {0, 2, "version 2"},     {0, 0, "version 0"}, {1, 3, "seat"},       {2, 1, "seat"},
        {3, 1, "seat"},          {4, '\n', "match"},  {4 + 63, 1, "match"}, {68, 0x80, "player"},
        {68 + 2, 'x', "player"}, {99, 'x', "player"}, {100, 1, "more"},     {255, 1, "more"},
    };
    for (size_t i = 0; i < sizeof altered / sizeof altered[0]; i++) {
        uint8_t bytes[LS_TOKEN_USER_DATA_BYTES];
        memcpy(bytes, good, sizeof bytes);
        bytes[altered[i].at] = altered[i].value;
        assert_refused(bytes, altered[i].reason);
    }
}
