#include "lockstep/common/base/cipher.h"
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
