#include "lockstep/protocol/relay/relay_keys.h"

#include <criterion/criterion.h>
#include <string.h>

static ls_key_pair server, relay;
static uint8_t nonce[LS_RELAY_NONCE_BYTES] = {7};
static const ls_relay_code code = {"K7QM", "29F"};
static const uint64_t FLOW = 99;

static void begin(void)
{
    cr_assert_eq(ls_cipher_init(), LS_OK);
    ls_key_pair_random(&server);
    ls_key_pair_random(&relay);
}

TestSuite(relay_keys, .init = begin);

static ls_relay_keys keys_of(const ls_key_pair *own, uint64_t time_ms)
{
    const ls_relay_keys_of of = {own, server.public_key, relay.public_key, nonce, time_ms};
    ls_relay_keys keys;
    cr_assert(ls_relay_keys_make(&of, &keys));
    return keys;
}

Test(relay_keys, both_sides_have_the_same_ones_and_no_registration_those_of_another)
{
    const ls_relay_keys of_server = keys_of(&server, 5);
    const ls_relay_keys of_relay = keys_of(&relay, 5);
    const ls_relay_keys later = keys_of(&server, 6);
    cr_assert_arr_eq(&of_server, &of_relay, sizeof of_server);
    cr_assert_neq(memcmp(of_server.proof, later.proof, sizeof later.proof), 0);
    cr_assert_neq(memcmp(of_server.to_relay, of_server.to_server, sizeof later.to_relay), 0);
    nonce[0]++;
    const ls_relay_keys other = keys_of(&server, 5);
    cr_assert_neq(memcmp(of_server.proof, other.proof, sizeof other.proof), 0);
}

Test(relay_keys, a_key_that_agrees_with_every_other_one_is_refused)
{
    const uint8_t zeros[LS_CIPHER_KEY_BYTES] = {0};
    const ls_relay_keys_of of = {&relay, zeros, relay.public_key, nonce, 1};
    ls_relay_keys keys;
    cr_assert_not(ls_relay_keys_make(&of, &keys));
}

static ls_relay_packet prove_of(const ls_relay_proof *proof)
{
    ls_relay_packet prove = {.kind = LS_RELAY_PROVE};
    memcpy(prove.point, proof->point, sizeof prove.point);
    return prove;
}

static bool is_proven(const ls_relay_code *of_client, uint64_t of_flow)
{
    ls_relay_proof proof;
    ls_relay_packet proven;
    cr_assert(ls_relay_proof_begin(of_client, of_flow, &proof));
    const ls_relay_packet prove = prove_of(&proof);
    cr_assert(ls_relay_proof_answer(&code, FLOW, &prove, server.public_key, &proven));
    cr_assert_arr_eq(proven.key, server.public_key, sizeof proven.key);
    return ls_relay_proof_is_good(&proof, of_flow, &proven);
}

Test(relay_keys, a_server_proves_its_key_to_who_has_the_whole_code)
{
    const ls_relay_code other_end = {"K7QM", "29G"};
    const ls_relay_code other_name = {"K7QN", "29F"};
    cr_assert(is_proven(&code, FLOW));
    cr_assert_not(is_proven(&other_end, FLOW));
    cr_assert_not(is_proven(&other_name, FLOW));
    cr_assert_not(is_proven(&code, FLOW + 1));
}

/* As a relay would do that stands between. */
Test(relay_keys, a_proof_holds_for_its_key_and_its_exchange_alone)
{
    ls_relay_proof first, second;
    ls_relay_packet proven;
    cr_assert(ls_relay_proof_begin(&code, FLOW, &first));
    cr_assert(ls_relay_proof_begin(&code, FLOW, &second));
    const ls_relay_packet prove = prove_of(&first);
    cr_assert(ls_relay_proof_answer(&code, FLOW, &prove, server.public_key, &proven));
    cr_assert(ls_relay_proof_is_good(&first, FLOW, &proven));
    cr_assert_not(ls_relay_proof_is_good(&second, FLOW, &proven));
    ls_relay_packet altered = proven;
    memcpy(altered.key, relay.public_key, sizeof altered.key);
    cr_assert_not(ls_relay_proof_is_good(&first, FLOW, &altered));
    altered = proven;
    altered.tag[0] ^= 1;
    cr_assert_not(ls_relay_proof_is_good(&first, FLOW, &altered));
    memcpy(altered.point, first.point, sizeof altered.point);
    cr_assert_not(ls_relay_proof_is_good(&first, FLOW, &altered));
}

/* With the identity both sides would have the same key, whatever the code. */
Test(relay_keys, the_identity_and_what_is_no_point_are_refused)
{
    ls_relay_proof proof;
    ls_relay_packet prove = {.kind = LS_RELAY_PROVE}, proven = {.kind = LS_RELAY_PROVEN};
    cr_assert_not(ls_relay_proof_answer(&code, FLOW, &prove, server.public_key, &proven));
    memset(prove.point, 0xff, sizeof prove.point);
    cr_assert_not(ls_relay_proof_answer(&code, FLOW, &prove, server.public_key, &proven));
    cr_assert(ls_relay_proof_begin(&code, FLOW, &proof));
    cr_assert_not(ls_relay_proof_is_good(&proof, FLOW, &proven));
}
