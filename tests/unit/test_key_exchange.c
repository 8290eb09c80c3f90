#include "lockstep/protocol/sealed/key_exchange.h"

#include <criterion/criterion.h>
#include <string.h>

/* Keys whose bytes can be told apart in a packet. */
static const uint8_t *key_of(uint8_t first)
{
    static uint8_t keys[4][LS_CIPHER_KEY_BYTES];
    static size_t next;
    uint8_t *key = keys[next++ % 4];
    for (uint8_t i = 0; i < LS_CIPHER_KEY_BYTES; i++) {
        key[i] = (uint8_t)(first + i);
    }
    return key;
}

static void assert_zeros(const uint8_t *bytes, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        cr_assert_eq(bytes[i], 0, "byte %zu", i);
    }
}

/* The tag that stands at `header_bytes`, computed by hand. */
static void assert_tag(const uint8_t *datagram, size_t header_bytes, const uint8_t *key,
                       const uint8_t nonce[LS_CIPHER_NONCE_BYTES])
{
    uint8_t tag[LS_CIPHER_TAG_BYTES];
    ls_cipher_seal(LS_CIPHER_CHACHA20_POLY1305, key, nonce, datagram, header_bytes, tag, 0);
    cr_assert_arr_eq(datagram + header_bytes, tag, sizeof tag);
}

/* ---- layouts ---- */

Test(key_exchange, request_is_as_written_down)
{
    uint8_t bytes[1200];
    memset(bytes, 0xee, sizeof bytes);
    ls_request request = {.version = 1, .asks_key = true};
    memcpy(request.client_key, key_of(10), 32);
    cr_assert_eq(ls_request_write(&request, bytes), 1200);
    cr_assert_arr_eq(bytes, "\x01LSD1\x01\x01", 7);
    cr_assert_arr_eq(bytes + 7, key_of(10), 32);
    assert_zeros(bytes, 39, 1200);

    ls_request read;
    cr_assert(ls_request_read(bytes, 1200, &read));
    cr_assert_eq(read.version, 1);
    cr_assert(read.asks_key);
    cr_assert_arr_eq(read.client_key, request.client_key, 32);
    cr_assert_eq(read.route, LS_ROUTE_ANYWHERE);
    request.asks_key = false;
    request.route = 16;
    ls_request_write(&request, bytes);
    cr_assert_eq(bytes[6], 0);
    assert_zeros(bytes, 39, 1199);
    cr_assert_eq(bytes[1199], 16);
    cr_assert(ls_request_read(bytes, 1200, &read));
    cr_assert_eq(read.route, 16);
}

Test(key_exchange, short_or_foreign_request_is_not_read)
{
    uint8_t bytes[1200];
    ls_request request = {.version = 1}, read;
    ls_request_write(&request, bytes);
    cr_assert_not(ls_request_read(bytes, 255, &read));
    cr_assert(ls_request_read(bytes, 1199, &read));
    cr_assert(read.is_short);
    cr_assert(ls_request_read(bytes, 1200, &read));
    cr_assert_not(read.is_short);
    cr_assert_not(ls_request_read(bytes, 0, &read));
    for (size_t i = 0; i < 5; i++) {
        bytes[i] ^= 1;
        cr_assert_not(ls_request_read(bytes, 1200, &read), "byte %zu", i);
        bytes[i] ^= 1;
    }
    bytes[5] = 2;
    cr_assert(ls_request_read(bytes, 1200, &read), "another version is answered");
    cr_assert_eq(read.version, 2);
}

Test(key_exchange, challenge_is_as_written_down)
{
    uint8_t bytes[73];
    ls_challenge challenge = {.start = {1, 2, 3, 4, 5, 6, 7, 8},
                              .version = 1,
                              .time_ms = UINT64_C(0x0102030405060708),
                              .has_server_key = true};
    memcpy(challenge.cookie, key_of(50), 16);
    memcpy(challenge.server_key, key_of(90), 32);
    cr_assert_eq(ls_challenge_write(&challenge, bytes), 73);
    const uint8_t expected[] = {2, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 0, 0,
                                0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
    cr_assert_arr_eq(bytes, expected, sizeof expected);
    cr_assert_arr_eq(bytes + 25, key_of(50), 16);
    cr_assert_arr_eq(bytes + 41, key_of(90), 32);
    ls_challenge read;
    cr_assert(ls_challenge_read(bytes, 73, &read));
    cr_assert(read.has_server_key);
    cr_assert_eq(read.time_ms, challenge.time_ms);
    cr_assert_arr_eq(read.server_key, challenge.server_key, 32);

    for (uint32_t route = 0; route < 256; route++) {
        challenge.route = (uint8_t)route;
        ls_challenge_write(&challenge, bytes);
        cr_assert_eq(bytes[11], route);
        cr_assert(ls_challenge_read(bytes, 73, &read));
        cr_assert_eq(read.route, route <= 32 ? route : 0, "what no route can be is none");
    }

    challenge.has_aes = true;
    challenge.has_server_key = false;
    cr_assert_eq(bytes[12], 0);
    cr_assert_not(read.has_aes);
    cr_assert_eq(ls_challenge_write(&challenge, bytes), 41);
    cr_assert_eq(bytes[12], 1);
    assert_zeros(bytes, 13, 17);
    cr_assert(ls_challenge_read(bytes, 41, &read));
    cr_assert(read.has_aes);
    cr_assert_not(read.has_server_key);
    cr_assert_arr_eq(read.cookie, challenge.cookie, 16);
    cr_assert_not(ls_challenge_read(bytes, 40, &read));
    cr_assert_not(ls_challenge_read(bytes, 42, &read));
    cr_assert_not(ls_challenge_read(bytes, 72, &read));
}

static ls_confirm usual_confirm(void)
{
    ls_confirm confirm = {.credential = LS_CREDENTIAL_SECRET,
                          .time_ms = UINT64_C(0x0102030405060708)};
    memcpy(confirm.client_key, key_of(10), 32);
    memcpy(confirm.cookie, key_of(50), 16);
    return confirm;
}

Test(key_exchange, confirm_is_as_written_down)
{
    const uint8_t nonce[LS_CIPHER_NONCE_BYTES] = {0};
    uint8_t bytes[1200];
    ls_confirm confirm = usual_confirm();
    cr_assert_eq(ls_confirm_write(&confirm, key_of(7), bytes), 200);
    cr_assert_arr_eq(bytes, "\x03LSD1\x01\x01", 7);
    cr_assert_arr_eq(bytes + 7, key_of(10), 32);
    const uint8_t time[] = {8, 7, 6, 5, 4, 3, 2, 1};
    cr_assert_arr_eq(bytes + 39, time, 8);
    cr_assert_arr_eq(bytes + 47, key_of(50), 16);
    assert_tag(bytes, 63, key_of(7), nonce);
    assert_zeros(bytes, 79, 200);

    ls_confirm read;
    cr_assert(ls_confirm_read(bytes, 200, &read));
    cr_assert_eq(read.credential, LS_CREDENTIAL_SECRET);
    cr_assert_eq(read.time_ms, confirm.time_ms);
    cr_assert_null(read.token);
    cr_assert(ls_confirm_is_sealed(bytes, key_of(7)));
    cr_assert_not(ls_confirm_is_sealed(bytes, key_of(8)));
    cr_assert_not(ls_confirm_read(bytes, 199, &read));
}

/* The last byte, behind the seal and whatever the size; not a byte of the seal. */
Test(key_exchange, route_of_confirm_is_its_last_byte)
{
    uint8_t bytes[1200], plain[1200], token[1064] = {0};
    ls_confirm confirm = usual_confirm(), read;
    ls_confirm_write(&confirm, key_of(7), plain);
    confirm.route = 3;
    ls_confirm_write(&confirm, key_of(7), bytes);
    cr_assert_arr_eq(bytes, plain, 199);
    cr_assert_eq(bytes[199], 3);
    cr_assert(ls_confirm_is_sealed(bytes, key_of(7)));
    cr_assert(ls_confirm_read(bytes, 200, &read));
    cr_assert_eq(read.route, 3);
    confirm.credential = LS_CREDENTIAL_TOKEN;
    confirm.token = token;
    ls_confirm_write(&confirm, key_of(7), bytes);
    cr_assert_eq(bytes[1199], 3);
    cr_assert(ls_confirm_is_sealed(bytes, key_of(7)));
    bytes[63 + 1064 + 15] = 5;
    cr_assert(ls_confirm_read(bytes, 63 + 1064 + 16, &read));
    cr_assert_eq(read.route, LS_ROUTE_ANYWHERE, "it ends with its seal");
    bytes[63 + 1064 + 16] = 7;
    cr_assert(ls_confirm_read(bytes, 63 + 1064 + 17, &read));
    cr_assert_eq(read.route, 7);
}

/* Behind the tag, sealed by itself: a server that knows nothing of it sees zeros there otherwise.
 */
Test(key_exchange, match_of_confirm_is_sealed_behind_its_tag)
{
    uint8_t bytes[1200], token[1064] = {0};
    ls_confirm confirm = usual_confirm(), read;
    confirm.route = 3;
    for (uint32_t kind = 0; kind < 2; kind++) {
        size_t tag_at = kind == 0 ? 63 : 63 + sizeof token;
        size_t size = ls_confirm_write(&confirm, key_of(7), bytes);
        cr_assert_eq(ls_confirm_match_of(bytes, size, key_of(7)), 0, "it names none");
        confirm.match = UINT64_C(0x1122334455667788);
        cr_assert_eq(ls_confirm_write(&confirm, key_of(7), bytes), size);
        cr_assert(ls_confirm_read(bytes, size, &read));
        cr_assert_eq(read.route, 3);
        cr_assert_eq(read.match, 0, "not before it is opened");
        cr_assert(ls_confirm_is_sealed(bytes, key_of(7)));
        cr_assert_eq(ls_confirm_match_of(bytes, size, key_of(7)), confirm.match);
        cr_assert_eq(ls_confirm_match_of(bytes, size, key_of(8)), 0);
        cr_assert_eq(ls_confirm_match_of(bytes, tag_at + 16 + 23, key_of(7)), 0, "cut off");
        assert_zeros(bytes, tag_at + 16 + 24, size - 1);
        bytes[tag_at + 16 + 5] ^= 1;
        cr_assert_eq(ls_confirm_match_of(bytes, size, key_of(7)), 0, "altered");
        cr_assert(ls_confirm_is_sealed(bytes, key_of(7)));
        confirm.match = 0;
        confirm.credential = LS_CREDENTIAL_TOKEN;
        confirm.token = token;
    }
}

Test(key_exchange, confirm_with_token_is_as_written_down)
{
    const uint8_t nonce[LS_CIPHER_NONCE_BYTES] = {0};
    uint8_t bytes[1200], token[1064];
    memset(token, 0x77, sizeof token);
    ls_confirm confirm = usual_confirm();
    confirm.credential = LS_CREDENTIAL_TOKEN;
    confirm.token = token;
    cr_assert_eq(ls_confirm_write(&confirm, key_of(7), bytes), 1200);
    cr_assert_eq(bytes[6], 2);
    cr_assert_arr_eq(bytes + 63, token, sizeof token);
    assert_tag(bytes, 63 + 1064, key_of(7), nonce);
    assert_zeros(bytes, 63 + 1064 + 16, 1200);

    ls_confirm read;
    cr_assert(ls_confirm_read(bytes, 1200, &read));
    cr_assert_eq(read.token, bytes + 63);
    cr_assert(ls_confirm_is_sealed(bytes, key_of(7)));
    cr_assert(ls_confirm_read(bytes, 63 + 1064 + 16, &read));
    cr_assert_not(ls_confirm_read(bytes, 63 + 1064 + 15, &read));
}

Test(key_exchange, cipher_of_confirm_stands_beside_its_credential)
{
    uint8_t bytes[1200];
    ls_confirm confirm = usual_confirm(), read;
    confirm.suite = LS_CIPHER_AES_256_GCM;
    cr_assert_eq(ls_confirm_write(&confirm, key_of(7), bytes), 200);
    cr_assert_eq(bytes[6], 128 + 1);
    cr_assert(ls_confirm_read(bytes, 200, &read));
    cr_assert_eq(read.credential, LS_CREDENTIAL_SECRET);
    cr_assert_eq(read.suite, LS_CIPHER_AES_256_GCM);
    cr_assert(ls_confirm_is_sealed(bytes, key_of(7)));
    bytes[6] = 1;
    cr_assert(ls_confirm_read(bytes, 200, &read));
    cr_assert_eq(read.suite, LS_CIPHER_CHACHA20_POLY1305);
    cr_assert_not(ls_confirm_is_sealed(bytes, key_of(7)));
}

Test(key_exchange, confirm_of_another_version_or_credential_is_not_read)
{
    uint8_t bytes[1200];
    ls_confirm confirm = usual_confirm(), read;
    ls_confirm_write(&confirm, key_of(7), bytes);
    bytes[5] = 2;
    cr_assert_not(ls_confirm_read(bytes, 200, &read));
    bytes[5] = 1;
    bytes[6] = 3;
    cr_assert_not(ls_confirm_read(bytes, 200, &read));
    bytes[6] = 128 + 3;
    cr_assert_not(ls_confirm_read(bytes, 200, &read));
    bytes[6] = 2;
    cr_assert_not(ls_confirm_read(bytes, 200, &read), "no room for a token");
}

Test(key_exchange, every_byte_before_the_tag_of_confirm_is_sealed)
{
    uint8_t bytes[1200];
    ls_confirm confirm = usual_confirm();
    ls_confirm_write(&confirm, key_of(7), bytes);
    for (size_t bit = 0; bit < 8 * 79; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ls_confirm read;
        cr_assert_not(ls_confirm_read(bytes, 200, &read) && ls_confirm_is_sealed(bytes, key_of(7)),
                      "bit %zu", bit);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

Test(key_exchange, accept_is_as_written_down)
{
    uint8_t nonce[LS_CIPHER_NONCE_BYTES] = {0};
    memset(nonce + 4, 0xff, 8);
    uint8_t bytes[59];
    ls_accept accept = {.start = {1, 2, 3, 4, 5, 6, 7, 8}, .index = 0xabc};
    memcpy(accept.server_key, key_of(20), 32);
    cr_assert_eq(ls_accept_write(&accept, key_of(7), bytes), 59);
    cr_assert_arr_eq(bytes, "\x04\x01\x02\x03\x04\x05\x06\x07\x08", 9);
    cr_assert_arr_eq(bytes + 9, key_of(20), 32);
    cr_assert_eq(bytes[41], 0xbc);
    cr_assert_eq(bytes[42], 0x0a);
    assert_tag(bytes, 43, key_of(7), nonce);
    ls_accept read;
    cr_assert(ls_accept_read(bytes, 59, &read));
    cr_assert_eq(read.index, 0xabc);
    cr_assert(ls_accept_is_sealed(bytes, key_of(7)));
    cr_assert_not(ls_accept_is_sealed(bytes, key_of(8)));
    cr_assert_not(ls_accept_read(bytes, 58, &read));
    bytes[42] = 0xff;
    cr_assert(ls_accept_read(bytes, 59, &read));
    cr_assert_eq(read.index, 0xffbc);
}

Test(key_exchange, denied_is_as_written_down)
{
    uint8_t bytes[26];
    for (uint8_t reason = 1; reason <= 3; reason++) {
        const uint8_t nonce[LS_CIPHER_NONCE_BYTES] = {0, 0, 0, 0, reason};
        ls_denied denied = {.start = {1, 2, 3, 4, 5, 6, 7, 8}, .reason = (ls_denial)reason};
        cr_assert_eq(ls_denied_write(&denied, key_of(7), bytes), 26);
        cr_assert_arr_eq(bytes, "\x05\x01\x02\x03\x04\x05\x06\x07\x08", 9);
        cr_assert_eq(bytes[9], reason);
        assert_tag(bytes, 10, key_of(7), nonce);
        ls_denied read;
        cr_assert(ls_denied_read(bytes, 26, &read));
        cr_assert_eq(read.reason, denied.reason);
        cr_assert(ls_denied_is_sealed(bytes, key_of(7)));
        cr_assert_not(ls_denied_is_sealed(bytes, key_of(8)));
        cr_assert_not(ls_denied_read(bytes, 25, &read));
        bytes[9] = 0;
        cr_assert_not(ls_denied_read(bytes, 26, &read));
        bytes[9] = 4;
        cr_assert_not(ls_denied_read(bytes, 26, &read));
    }
}

Test(key_exchange, denial_that_names_a_worker_is_as_written_down)
{
    uint8_t bytes[26];
    for (uint8_t worker = 0; worker < 16; worker++) {
        const uint8_t nonce[LS_CIPHER_NONCE_BYTES] = {0, 0, 0, 0, (uint8_t)(16 + worker)};
        ls_denied denied = {.reason = LS_DENIAL_REDIRECTED, .worker = worker}, read;
        cr_assert_eq(ls_denied_write(&denied, key_of(7), bytes), 26);
        cr_assert_eq(bytes[9], 16 + worker);
        assert_tag(bytes, 10, key_of(7), nonce);
        cr_assert(ls_denied_read(bytes, 26, &read));
        cr_assert_eq(read.reason, LS_DENIAL_REDIRECTED);
        cr_assert_eq(read.worker, worker);
        cr_assert(ls_denied_is_sealed(bytes, key_of(7)));
    }
    for (uint32_t reason = 0; reason < 256; reason++) {
        ls_denied read;
        bool is_one = (reason >= 1 && reason <= 3) || (reason >= 16 && reason < 32);
        bytes[9] = (uint8_t)reason;
        cr_assert_eq(ls_denied_read(bytes, 26, &read), is_one, "reason %u", reason);
    }
}

/* ---- keys ---- */

/* H of SEALED.md, over bytes that the test has put together. */
static void hash(const uint8_t *key, const void *bytes, size_t size, uint8_t out[32])
{
    ls_cipher_hash(key, key ? 32 : 0, bytes, size, out, 32);
}

Test(key_exchange, credential_keys_are_as_written_down)
{
    uint8_t bytes[128], expected[32], made[32];
    memcpy(bytes, "invite", 6);
    memcpy(bytes + 6, key_of(3), 16);
    hash(NULL, bytes, 22, expected);
    ls_credential_key_of_secret(key_of(3), made);
    cr_assert_arr_eq(made, expected, 32);

    memcpy(bytes, "token", 5);
    memcpy(bytes + 5, key_of(3), 32);
    memcpy(bytes + 37, key_of(4), 32);
    hash(NULL, bytes, 69, expected);
    ls_credential_key_of_token(key_of(3), key_of(4), made);
    cr_assert_arr_eq(made, expected, 32);
}

Test(key_exchange, both_sides_derive_the_keys_that_are_written_down)
{
    ls_key_pair identity, client, server;
    ls_key_pair_from_private(key_of(1), &identity);
    ls_key_pair_from_private(key_of(2), &client);
    ls_key_pair_from_private(key_of(3), &server);
    uint8_t bytes[128], ck[32], k1[32], k2[32], made[32];

    memcpy(bytes, "lockstep sealed datagrams 1", 27);
    memcpy(bytes + 27, identity.public_key, 32);
    memcpy(bytes + 59, client.public_key, 32);
    hash(NULL, bytes, 91, ck);
    cr_assert(ls_key_pair_agree(&client, identity.public_key, bytes));
    memcpy(bytes + 32, key_of(90), 32);
    hash(ck, bytes, 64, k1);
    cr_assert(ls_first_key_of_client(&client, identity.public_key, key_of(90), made));
    cr_assert_arr_eq(made, k1, 32);
    cr_assert(ls_first_key_of_server(&identity, client.public_key, key_of(90), made));
    cr_assert_arr_eq(made, k1, 32);

    cr_assert(ls_key_pair_agree(&client, server.public_key, bytes));
    memcpy(bytes + 32, server.public_key, 32);
    hash(k1, bytes, 64, k2);
    uint8_t of_client[32], of_server[32];
    hash(k2, "client to server", 16, of_client);
    hash(k2, "server to client", 16, of_server);
    ls_packet_keys keys = {.suite = LS_CIPHER_CHACHA20_POLY1305};
    cr_assert(ls_packet_keys_of_client(k1, &client, server.public_key, &keys));
    cr_assert_arr_eq(keys.of_client, of_client, 32);
    cr_assert_arr_eq(keys.of_server, of_server, 32);
    memset(&keys, 0, sizeof keys);
    cr_assert(ls_packet_keys_of_server(k1, &server, client.public_key, &keys));
    cr_assert_arr_eq(keys.of_client, of_client, 32);
    cr_assert_arr_eq(keys.of_server, of_server, 32);

    hash(k2, "client to server, AES-256-GCM", 29, of_client);
    hash(k2, "server to client, AES-256-GCM", 29, of_server);
    keys.suite = LS_CIPHER_AES_256_GCM;
    cr_assert(ls_packet_keys_of_server(k1, &server, client.public_key, &keys));
    cr_assert_arr_eq(keys.of_client, of_client, 32);
    cr_assert_arr_eq(keys.of_server, of_server, 32);
}

Test(key_exchange, keys_that_are_none_give_none)
{
    static const uint8_t zeros[32] = {0}, one[32] = {1};
    ls_key_pair own;
    ls_key_pair_from_private(key_of(1), &own);
    uint8_t made[32];
    ls_packet_keys keys = {.suite = LS_CIPHER_CHACHA20_POLY1305};
    cr_assert_not(ls_first_key_of_client(&own, zeros, zeros, made));
    cr_assert_not(ls_first_key_of_server(&own, one, zeros, made));
    cr_assert_not(ls_packet_keys_of_client(zeros, &own, one, &keys));
    cr_assert_not(ls_packet_keys_of_server(zeros, &own, zeros, &keys));
}
