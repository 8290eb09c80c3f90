/* Sealed packets, and the exchange of their keys. */
#include "lockstep/common/base/cipher.h"
#include "lockstep/protocol/sealed/key_exchange.h"
#include "lockstep/protocol/sealed/sealed_packet.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- sealed_packet ---- */

static const uint8_t KEY[LS_CIPHER_KEY_BYTES] = {1, 2, 3};
static ls_cipher_suite packet_suite = LS_CIPHER_CHACHA20_POLY1305;

typedef struct sealed_bytes {
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX + 1];
    size_t size;
} sealed_bytes;

static sealed_bytes seal_numbered(uint64_t counter, size_t size)
{
    sealed_bytes made = {{0}, 0};
    const ls_sealed_header header = {
        .content = LS_SEALED_PACKET, .index = 0x123, .counter = (uint16_t)counter};
    ls_sealed_write_client_header(made.bytes, &header);
    memset(made.bytes + LS_SEALED_CLIENT_HEADER_BYTES, 0xab, size);
    made.size = ls_sealed_packet_seal(packet_suite, KEY, counter, made.bytes,
                                      LS_SEALED_CLIENT_HEADER_BYTES, size);
    return made;
}

/* Opens a copy. */
static ls_sealed_rejection try_open(const uint8_t *key, ls_counter_window *window,
                                    sealed_bytes packet)
{
    ls_sealed_header header;
    cr_assert(ls_sealed_read_client_header(packet.bytes, packet.size, &header));
    const ls_sealed_opening opening = {packet_suite, key, window, LS_SEALED_CLIENT_HEADER_BYTES,
                                       header.counter};
    bool is_newest;
    ls_sealed_rejection rejection =
        ls_sealed_packet_open(&opening, packet.bytes, packet.size, &is_newest);
    if (rejection == LS_SEALED_ACCEPTED) {
        for (size_t i = 0; i < packet.size - 20; i++) {
            cr_assert_eq(packet.bytes[LS_SEALED_CLIENT_HEADER_BYTES + i], 0xab);
        }
    }
    return rejection;
}

Test(sealed_packet, headers_are_as_written_down)
{
    uint8_t bytes[LS_SEALED_CLIENT_HEADER_BYTES + LS_SEALED_TAG_BYTES] = {0};
    const ls_sealed_header header = {.content = LS_SEALED_ENET, .index = 0xabc, .counter = 0x1234};
    ls_sealed_write_client_header(bytes, &header);
    const uint8_t of_client[] = {0x80 + 16 * 2 + 0xa, 0xbc, 0x34, 0x12};
    cr_assert_arr_eq(bytes, of_client, sizeof of_client);
    ls_sealed_header read;
    cr_assert(ls_sealed_read_client_header(bytes, sizeof bytes, &read));
    cr_assert_eq(read.content, LS_SEALED_ENET);
    cr_assert_eq(read.index, 0xabc);
    cr_assert_eq(read.counter, 0x1234);

    ls_sealed_write_server_header(bytes, &header);
    const uint8_t of_server[] = {0x80 + 16 * 2, 0x34, 0x12};
    cr_assert_arr_eq(bytes, of_server, sizeof of_server);
    cr_assert(ls_sealed_read_server_header(bytes, sizeof bytes - 1, &read));
    cr_assert_eq(read.content, LS_SEALED_ENET);
    cr_assert_eq(read.index, 0);
    cr_assert_eq(read.counter, 0x1234);
}

Test(sealed_packet, index_of_more_than_12_bits_takes_one_byte_more)
{
    uint8_t bytes[LS_SEALED_CLIENT_HEADER_BYTES_MAX + LS_SEALED_TAG_BYTES] = {0};
    const ls_sealed_header header = {.content = LS_SEALED_ENET, .index = 0x5abc, .counter = 0x1234};
    ls_sealed_write_client_header(bytes, &header);
    const uint8_t of_client[] = {0x80 + 16 * 7 + 0xa, 0xbc, 16 * 2 + 5, 0x34, 0x12};
    cr_assert_arr_eq(bytes, of_client, sizeof of_client);
    cr_assert_eq(ls_sealed_client_header_bytes(header.index), sizeof of_client);
    cr_assert_eq(ls_sealed_client_header_bytes(0xfff), LS_SEALED_CLIENT_HEADER_BYTES);
    ls_sealed_header read;
    cr_assert(ls_sealed_read_client_header(bytes, sizeof bytes, &read));
    cr_assert_eq(read.content, LS_SEALED_ENET);
    cr_assert_eq(read.index, 0x5abc);
    cr_assert_eq(read.counter, 0x1234);
    cr_assert_eq(read.bytes, sizeof of_client);
    cr_assert_not(ls_sealed_read_client_header(bytes, sizeof bytes - 1, &read));
    for (unsigned third = 0; third < 256; third++) {
        bytes[2] = (uint8_t)third;
        bool is_known = third < 16 * LS_SEALED_CONTENT_COUNT && third % 16 > 0;
        cr_assert_eq(ls_sealed_read_client_header(bytes, sizeof bytes, &read), is_known);
    }
}

Test(sealed_packet, only_headers_of_known_content_and_size_are_read)
{
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX + 1] = {0};
    ls_sealed_header read;
    for (unsigned first = 0; first < 256; first++) {
        bytes[0] = (uint8_t)first;
        bool is_known = first >= 0x80 && first < 0x80 + 16 * 6;
        cr_assert_eq(ls_sealed_read_client_header(bytes, 20, &read), is_known, "%u", first);
        cr_assert_eq(ls_sealed_read_server_header(bytes, 19, &read), is_known && first % 16 == 0);
    }
    bytes[0] = 0x80;
    cr_assert_not(ls_sealed_read_client_header(bytes, 19, &read));
    cr_assert_not(ls_sealed_read_server_header(bytes, 18, &read));
    cr_assert_not(ls_sealed_read_client_header(bytes, 0, &read));
    cr_assert(ls_sealed_read_client_header(bytes, sizeof bytes - 1, &read));
    cr_assert_not(ls_sealed_read_client_header(bytes, sizeof bytes, &read));
}

/* The nonce is 4 zero bytes and the counter, the header is what is not encrypted. */
static void expect_seal_has_the_whole_counter(void)
{
    const uint64_t counter = UINT64_C(0x0102030405060708);
    sealed_bytes packet = seal_numbered(counter, 5);
    cr_assert_eq(packet.size, 4 + 5 + 16);
    uint8_t content[5 + 16];
    memset(content, 0xab, 5);
    const uint8_t nonce[12] = {0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
    const uint8_t header[] = {0x81, 0x23, 0x08, 0x07};
    ls_cipher_seal(packet_suite, KEY, nonce, header, sizeof header, content, 5);
    cr_assert_arr_eq(packet.bytes, header, sizeof header);
    cr_assert_arr_eq(packet.bytes + 4, content, sizeof content);
}

Test(sealed_packet, seal_is_that_of_the_cipher_with_the_whole_counter)
{
    expect_seal_has_the_whole_counter();
}

static void expect_altered_packets_never_open(void)
{
    ls_counter_window window = {0};
    const sealed_bytes packet = seal_numbered(0, 9);
    for (size_t bit = 0; bit < 8 * packet.size; bit++) {
        sealed_bytes altered = packet;
        altered.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ls_sealed_header header;
        if (ls_sealed_read_client_header(altered.bytes, altered.size, &header)) {
            cr_assert_neq(try_open(KEY, &window, altered), LS_SEALED_ACCEPTED, "bit %zu", bit);
        }
    }
    cr_assert_eq(try_open(KEY, &window, packet), LS_SEALED_ACCEPTED);
    cr_assert_eq(try_open(KEY, &window, packet), LS_SEALED_REJECT_REPEATED);
}

Test(sealed_packet, altered_packet_never_opens_and_takes_no_place_of_the_real_one)
{
    expect_altered_packets_never_open();
}

Test(sealed_packet, packet_that_is_sealed_with_aes_opens_only_unaltered_and_by_aes)
{
    cr_assert_eq(ls_cipher_init(), LS_OK);
    if (!ls_cipher_has_aes()) {
        cr_skip_test("this processor has no instructions for AES");
    }
    packet_suite = LS_CIPHER_AES_256_GCM;
    expect_seal_has_the_whole_counter();
    expect_altered_packets_never_open();
    ls_counter_window window = {0};
    sealed_bytes packet = seal_numbered(7, 30);
    packet_suite = LS_CIPHER_CHACHA20_POLY1305;
    cr_assert_eq(try_open(KEY, &window, packet), LS_SEALED_REJECT_FORGED);
}

Test(sealed_packet, shortened_or_lengthened_packet_never_opens)
{
    ls_counter_window window = {0};
    sealed_bytes packet = seal_numbered(0, 100);
    for (size_t size = 20; size < packet.size + 5; size++) {
        sealed_bytes cut = packet;
        cut.size = size;
        if (size != packet.size) {
            cr_assert_eq(try_open(KEY, &window, cut), LS_SEALED_REJECT_FORGED, "%zu", size);
        }
    }
}

Test(sealed_packet, another_key_does_not_open)
{
    ls_counter_window window = {0};
    uint8_t other[LS_CIPHER_KEY_BYTES];
    memcpy(other, KEY, sizeof other);
    other[31] ^= 1;
    sealed_bytes packet = seal_numbered(0, 9);
    cr_assert_eq(try_open(other, &window, packet), LS_SEALED_REJECT_FORGED);
}

Test(sealed_packet, same_low_bits_of_another_counter_do_not_open)
{
    ls_counter_window window = {0};
    sealed_bytes packet = seal_numbered(0x10000, 9);
    cr_assert_eq(try_open(KEY, &window, packet), LS_SEALED_REJECT_FORGED);
}

Test(sealed_packet, content_may_be_empty_or_as_large_as_fits)
{
    ls_counter_window window = {0};
    cr_assert_eq(try_open(KEY, &window, seal_numbered(0, 0)), LS_SEALED_ACCEPTED);
    sealed_bytes largest =
        seal_numbered(1, LS_SEALED_CONTENT_BYTES_MAX + 1); /* its header is short */
    cr_assert_eq(largest.size, LS_SEALED_DATAGRAM_BYTES_MAX);
    cr_assert_eq(try_open(KEY, &window, largest), LS_SEALED_ACCEPTED);
}

/* ---- counter_window ---- */

/* Whether the packet is taken, and which counter it has. */
static bool admit(ls_counter_window *window, uint64_t counter)
{
    uint64_t found;
    if (!ls_counter_window_find(window, (uint16_t)counter, &found)) {
        return false;
    }
    cr_assert_eq(found, counter);
    ls_counter_window_mark(window, found);
    return true;
}

Test(counter_window, each_counter_is_taken_once)
{
    ls_counter_window window = {0};
    for (uint64_t counter = 0; counter < 1000; counter++) {
        cr_assert(admit(&window, counter));
        cr_assert_not(admit(&window, counter));
        cr_assert_not(admit(&window, counter / 2));
    }
}

Test(counter_window, last_256_are_taken_in_any_order)
{
    ls_counter_window window = {0};
    cr_assert(admit(&window, 300));
    for (uint64_t counter = 299; counter > 44; counter--) {
        cr_assert(admit(&window, counter), "%llu", (unsigned long long)counter);
        cr_assert_not(admit(&window, counter));
    }
    cr_assert_not(admit(&window, 44), "256 behind the newest");
}

Test(counter_window, nothing_comes_before_the_first)
{
    ls_counter_window window = {0};
    uint64_t found;
    cr_assert_not(ls_counter_window_find(&window, 0xffff, &found));
    cr_assert(admit(&window, 3));
    cr_assert_not(ls_counter_window_find(&window, 0xfffe, &found));
    cr_assert(admit(&window, 0));
}

Test(counter_window, newest_is_told_from_late_ones)
{
    ls_counter_window window = {0};
    cr_assert(ls_counter_window_mark(&window, 5));
    cr_assert_not(ls_counter_window_mark(&window, 3));
    cr_assert(ls_counter_window_mark(&window, 6));
    cr_assert(ls_counter_window_mark(&window, 1006));
    cr_assert_not(ls_counter_window_mark(&window, 900));
}

Test(counter_window, jump_of_any_size_forgets_what_was_seen_before_only)
{
    for (uint64_t jump = 1; jump <= 600; jump++) {
        ls_counter_window window = {0};
        for (uint64_t counter = 0; counter < 400; counter++) {
            cr_assert(admit(&window, counter));
        }
        uint64_t newest = 399 + jump;
        cr_assert(admit(&window, newest));
        for (uint64_t behind = 0; behind < 300; behind++) {
            uint64_t counter = newest - behind;
            bool is_new = counter > 399 && counter < newest && behind < 256;
            cr_assert_eq(admit(&window, counter), is_new, "%llu behind after a jump of %llu",
                         (unsigned long long)behind, (unsigned long long)jump);
        }
    }
}

Test(counter_window, counter_goes_on_past_16_bits_with_loss)
{
    ls_counter_window window = {0};
    for (uint64_t counter = 7; counter < 400000; counter += 1 + counter % 977) {
        cr_assert(admit(&window, counter));
        cr_assert_not(admit(&window, counter));
    }
}

Test(counter_window, up_to_half_of_16_bits_may_be_lost)
{
    ls_counter_window window = {0};
    cr_assert(admit(&window, 10));
    uint64_t found;
    cr_assert(ls_counter_window_find(&window, 11 + 0x7fff, &found));
    cr_assert_eq(found, 11 + 0x7fff);
    cr_assert_not(ls_counter_window_find(&window, (uint16_t)(11 + 0x8000), &found));
}

/* ---- cipher ---- */

/* The ciphers of packets, held to answers that others have published. */

enum {
    TEXT_BYTES_MAX = 128,
};

typedef struct known_answer {
    const char *key, *nonce, *header, *text, *sealed; /* in hexadecimal digits; with the tag */
} known_answer;

/* RFC 8439, 2.8.2. */
static const known_answer chacha = {
    .key = "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
    .nonce = "070000004041424344454647",
    .header = "50515253c0c1c2c3c4c5c6c7",
    .text = "4c616469657320616e642047656e746c656d656e206f662074686520636c6173"
            "73206f66202739393a204966204920636f756c64206f6666657220796f75206f"
            "6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73"
            "637265656e20776f756c642062652069742e",
    .sealed = "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
              "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
              "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
              "3ff4def08e4b7a9de576d26586cec64b6116"
              "1ae10b594f09e26a7e902ecbd0600691",
};

/* McGrew and Viega, The Galois/Counter Mode of Operation, test case 16. */
static const known_answer aes = {
    .key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
    .nonce = "cafebabefacedbaddecaf888",
    .header = "feedfacedeadbeeffeedfacedeadbeefabaddad2",
    .text = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
            "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
    .sealed = "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
              "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
              "76fc6ece0f4e1768cddf8853bb2d551b",
};

static size_t bytes_of(const char *digits, uint8_t *bytes)
{
    size_t size = strlen(digits) / 2;
    for (size_t i = 0; i < size; i++) {
        unsigned byte = 0;
        cr_assert_eq(sscanf(digits + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
    return size;
}

static void expect_known_answer(ls_cipher_suite suite, const known_answer *known)
{
    uint8_t key[LS_CIPHER_KEY_BYTES], nonce[LS_CIPHER_NONCE_BYTES], header[TEXT_BYTES_MAX];
    uint8_t text[TEXT_BYTES_MAX], sealed[TEXT_BYTES_MAX + LS_CIPHER_TAG_BYTES];
    uint8_t bytes[TEXT_BYTES_MAX + LS_CIPHER_TAG_BYTES];
    bytes_of(known->key, key);
    bytes_of(known->nonce, nonce);
    size_t header_bytes = bytes_of(known->header, header);
    size_t size = bytes_of(known->text, text);
    cr_assert_eq(bytes_of(known->sealed, sealed), size + LS_CIPHER_TAG_BYTES);
    memcpy(bytes, text, size);
    ls_cipher_seal(suite, key, nonce, header, header_bytes, bytes, size);
    cr_assert_arr_eq(bytes, sealed, size + LS_CIPHER_TAG_BYTES);
    cr_assert(ls_cipher_open(suite, key, nonce, header, header_bytes, bytes, size));
    cr_assert_arr_eq(bytes, text, size);
    memcpy(bytes, sealed, sizeof bytes);
    header[0] ^= 1;
    cr_assert_not(ls_cipher_open(suite, key, nonce, header, header_bytes, bytes, size));
}

Test(cipher, chacha20_poly1305_gives_the_published_answer)
{
    cr_assert_eq(ls_cipher_init(), LS_OK);
    expect_known_answer(LS_CIPHER_CHACHA20_POLY1305, &chacha);
}

Test(cipher, aes_256_gcm_gives_the_published_answer)
{
    cr_assert_eq(ls_cipher_init(), LS_OK);
    if (!ls_cipher_has_aes()) {
        cr_skip_test("this processor has no instructions for AES");
    }
    expect_known_answer(LS_CIPHER_AES_256_GCM, &aes);
}

/* ==== key_exchange ==== */

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
