#include "lockstep/protocol/sealed/sealed_packet.h"

#include <criterion/criterion.h>
#include <string.h>

static const uint8_t KEY[LS_CIPHER_KEY_BYTES] = {1, 2, 3};
static ls_cipher_suite suite = LS_CIPHER_CHACHA20_POLY1305;

typedef struct sealed {
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX + 1];
    size_t size;
} sealed;

static sealed seal_numbered(uint64_t counter, size_t size)
{
    sealed made = {{0}, 0};
    const ls_sealed_header header = {
        .content = LS_SEALED_PACKET, .index = 0x123, .counter = (uint16_t)counter};
    ls_sealed_write_client_header(made.bytes, &header);
    memset(made.bytes + LS_SEALED_CLIENT_HEADER_BYTES, 0xab, size);
    made.size =
        ls_sealed_packet_seal(suite, KEY, counter, made.bytes, LS_SEALED_CLIENT_HEADER_BYTES, size);
    return made;
}

/* Opens a copy. */
static ls_sealed_rejection try_open(const uint8_t *key, ls_counter_window *window, sealed packet)
{
    ls_sealed_header header;
    cr_assert(ls_sealed_read_client_header(packet.bytes, packet.size, &header));
    const ls_sealed_opening opening = {suite, key, window, LS_SEALED_CLIENT_HEADER_BYTES,
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
    sealed packet = seal_numbered(counter, 5);
    cr_assert_eq(packet.size, 4 + 5 + 16);
    uint8_t content[5 + 16];
    memset(content, 0xab, 5);
    const uint8_t nonce[12] = {0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
    const uint8_t header[] = {0x81, 0x23, 0x08, 0x07};
    ls_cipher_seal(suite, KEY, nonce, header, sizeof header, content, 5);
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
    const sealed packet = seal_numbered(0, 9);
    for (size_t bit = 0; bit < 8 * packet.size; bit++) {
        sealed altered = packet;
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
    suite = LS_CIPHER_AES_256_GCM;
    expect_seal_has_the_whole_counter();
    expect_altered_packets_never_open();
    ls_counter_window window = {0};
    sealed packet = seal_numbered(7, 30);
    suite = LS_CIPHER_CHACHA20_POLY1305;
    cr_assert_eq(try_open(KEY, &window, packet), LS_SEALED_REJECT_FORGED);
}

Test(sealed_packet, shortened_or_lengthened_packet_never_opens)
{
    ls_counter_window window = {0};
    sealed packet = seal_numbered(0, 100);
    for (size_t size = 20; size < packet.size + 5; size++) {
        sealed cut = packet;
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
    sealed packet = seal_numbered(0, 9);
    cr_assert_eq(try_open(other, &window, packet), LS_SEALED_REJECT_FORGED);
}

Test(sealed_packet, same_low_bits_of_another_counter_do_not_open)
{
    ls_counter_window window = {0};
    sealed packet = seal_numbered(0x10000, 9);
    cr_assert_eq(try_open(KEY, &window, packet), LS_SEALED_REJECT_FORGED);
}

Test(sealed_packet, content_may_be_empty_or_as_large_as_fits)
{
    ls_counter_window window = {0};
    cr_assert_eq(try_open(KEY, &window, seal_numbered(0, 0)), LS_SEALED_ACCEPTED);
    sealed largest = seal_numbered(1, LS_SEALED_CONTENT_BYTES_MAX + 1); /* its header is short */
    cr_assert_eq(largest.size, LS_SEALED_DATAGRAM_BYTES_MAX);
    cr_assert_eq(try_open(KEY, &window, largest), LS_SEALED_ACCEPTED);
}
