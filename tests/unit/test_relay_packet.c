/* Holds the datagrams against docs/relay.md. */
#include "lockstep/protocol/relay/relay_packet.h"

#include <criterion/criterion.h>
#include <string.h>

#define BYTE(value) (uint8_t)(value)

/* Each field has bytes of its own, so that one in the wrong place is seen. */
static ls_relay_packet packet_of(ls_relay_kind kind)
{
    ls_relay_packet packet = {.kind = kind, .value = 1, .number = UINT64_C(0x1122334455667788)};
    memset(packet.nonce, 0xa1, sizeof packet.nonce);
    memset(packet.cookie, 0xa2, sizeof packet.cookie);
    memset(packet.key, 0xa3, sizeof packet.key);
    memset(packet.point, 0xa4, sizeof packet.point);
    memset(packet.access, 0xa5, sizeof packet.access);
    memset(packet.tag, 0xa6, sizeof packet.tag);
    packet.time_ms = UINT64_C(0x0102030405060708);
    packet.counter = UINT64_C(0x2122232425262728);
    packet.challenge = UINT64_C(0x3132333435363738);
    packet.place = 0x41424344;
    memcpy(packet.name, "K7QM", sizeof packet.name);
    packet.host = ls_endpoint_from_ipv4(0x01020304, 0x5152);
    packet.player = ls_endpoint_from_ipv4(0x05060708, 0x6162);
    packet.outside_port = 0x7172;
    packet.local = ls_endpoint_from_ipv4(0x090a0b0c, 0x8182);
    return packet;
}

typedef struct layout {
    ls_relay_kind kind;
    size_t size;
    struct {
        size_t at;
        uint8_t byte;
    } probes[8]; /* until one at 0, where the kind stands */
} layout;

static const layout LAYOUTS[] = {
    {LS_RELAY_ASK, 128, {{1, 'L'}, {4, '1'}, {5, 0xa1}, {20, 0xa1}, {21, 0}, {127, 0}}},
    {LS_RELAY_COOKIE, 76, {{1, 1}, {2, 0}, {4, 0xa1}, {20, 8}, {28, 0xa2}, {44, 0xa3}, {75, 0xa3}}},
    {LS_RELAY_REGISTER,
     128,
     {{1, 'L'}, {5, 0xa1}, {21, 8}, {29, 0xa2}, {45, 0xa3}, {77, 0xa5}, {93, 0xa6}, {109, 0}}},
    {LS_RELAY_REGISTERED,
     56,
     {{1, 1}, {2, 0}, {4, 0x88}, {12, 'K'}, {26, 0xff}, {32, 0x52}, {34, 0}, {40, 0xa6}}},
    {LS_RELAY_KEEP, 33, {{1, 0x88}, {9, 0x28}, {17, 0xa6}, {32, 0xa6}}},
    {LS_RELAY_KEPT, 33, {{1, 0x88}, {9, 0x28}, {17, 0xa6}, {32, 0xa6}}},
    {LS_RELAY_JOIN, 128, {{1, 'L'}, {5, 0xa1}, {21, 8}, {29, 0xa2}, {45, 'K'}, {48, 'M'}, {49, 0}}},
    {LS_RELAY_JOINED,
     84,
     {{1, 1}, {4, 0xa1}, {20, 0x88}, {38, 0xff}, {44, 0x52}, {62, 0x62}, {64, 0x72}, {82, 0x82}}},
    {LS_RELAY_OPEN, 43, {{1, 0x88}, {19, 0xff}, {25, 0x62}, {27, 0xa6}, {42, 0xa6}}},
    {LS_RELAY_OPENED, 29, {{1, 0x88}, {8, 0x11}, {9, 0x72}, {21, 0xff}, {27, 0x82}}},
    {LS_RELAY_GONE, 9, {{1, 0x88}, {8, 0x11}}},
    {LS_RELAY_PUNCH, 10, {{1, 0x88}, {9, 1}}},
    {LS_RELAY_PROVE, 96, {{1, 0xa4}, {32, 0xa4}, {33, 0}, {95, 0}}},
    {LS_RELAY_PROVEN, 96, {{1, 0xa4}, {33, 0xa3}, {65, 0xa6}, {81, 0}}},
    {LS_RELAY_WAY, 10, {{1, 0x88}, {9, 1}}},
    {LS_RELAY_LISTED, 42, {{1, 1}, {2, 0x88}, {10, 0x28}, {18, 0x38}, {26, 0xa6}, {41, 0xa6}}},
    {LS_RELAY_LOOK,
     128,
     {{1, 'L'}, {5, 0xa1}, {21, 8}, {29, 0xa2}, {45, 0x44}, {48, 0x41}, {49, 0}}},
};

enum {
    LAYOUT_COUNT = sizeof LAYOUTS / sizeof LAYOUTS[0],
    PROBES = 8,
};

Test(relay_packet, every_kind_has_the_layout_of_the_page)
{
    for (size_t i = 0; i < LAYOUT_COUNT; i++) {
        const layout *expected = &LAYOUTS[i];
        const ls_relay_packet packet = packet_of(expected->kind);
        uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
        memset(bytes, 0xee, sizeof bytes);
        cr_assert_eq(ls_relay_packet_write(&packet, bytes), expected->size, "kind %x",
                     expected->kind);
        cr_assert_eq(bytes[0], 0x60 + (expected->kind - LS_RELAY_ASK));
        for (size_t p = 0; p < PROBES && expected->probes[p].at != 0; p++) {
            cr_assert_eq(bytes[expected->probes[p].at], expected->probes[p].byte,
                         "kind %x, byte %zu", expected->kind, expected->probes[p].at);
        }
    }
    cr_assert_eq(LAYOUT_COUNT + 3, LS_RELAY_KIND_END - LS_RELAY_ASK,
                 "CARRY, LIST and GAMES alone are not there");
}

Test(relay_packet, what_is_read_is_written_again_and_other_sizes_are_dropped)
{
    for (size_t i = 0; i < LAYOUT_COUNT; i++) {
        const ls_relay_packet packet = packet_of(LAYOUTS[i].kind);
        uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX + 1] = {0};
        uint8_t again[LS_RELAY_PACKET_BYTES_MAX];
        ls_relay_packet read = {.kind = LS_RELAY_ASK};
        size_t written = ls_relay_packet_write(&packet, bytes);
        for (size_t size = 0; size <= sizeof bytes; size++) {
            cr_assert_eq(ls_relay_packet_read(bytes, size, &read), size == written, "kind %x, %zu",
                         packet.kind, size);
        }
        cr_assert_eq(ls_relay_packet_write(&read, again), written);
        cr_assert_arr_eq(again, bytes, written);
    }
}

Test(relay_packet, bytes_that_have_to_be_something_else_are_dropped)
{
    static const struct {
        ls_relay_kind kind;
        size_t at;
        uint8_t byte;
    } altered[] = {
        {LS_RELAY_ASK, 1, 'X'},      {LS_RELAY_ASK, 127, 1},         {LS_RELAY_COOKIE, 1, 2},
        {LS_RELAY_COOKIE, 2, 1},     {LS_RELAY_REGISTER, 4, '2'},    {LS_RELAY_REGISTER, 109, 1},
        {LS_RELAY_REGISTERED, 1, 3}, {LS_RELAY_REGISTERED, 12, 'O'}, {LS_RELAY_REGISTERED, 39, 1},
        {LS_RELAY_JOIN, 45, '1'},    {LS_RELAY_JOIN, 46, 'k'},       {LS_RELAY_JOINED, 1, 3},
        {LS_RELAY_PUNCH, 9, 2},      {LS_RELAY_PROVE, 33, 1},        {LS_RELAY_PROVEN, 95, 1},
        {LS_RELAY_WAY, 9, 2},        {LS_RELAY_LISTED, 1, 3},        {LS_RELAY_LOOK, 4, '2'},
        {LS_RELAY_LOOK, 49, 1},
    };
    for (size_t i = 0; i < sizeof altered / sizeof altered[0]; i++) {
        const ls_relay_packet packet = packet_of(altered[i].kind);
        uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
        ls_relay_packet read = {.number = 9};
        size_t size = ls_relay_packet_write(&packet, bytes);
        bytes[altered[i].at] = altered[i].byte;
        cr_assert_not(ls_relay_packet_read(bytes, size, &read), "kind %x, byte %zu",
                      altered[i].kind, altered[i].at);
        cr_assert_eq(read.number, 9, "what could not be read changes nothing");
    }
}

Test(relay_packet, carried_datagrams_have_a_flow_and_a_bounded_content)
{
    uint8_t bytes[1211] = {0};
    uint64_t flow = 0;
    const uint8_t content = 0x81;
    cr_assert_eq(ls_relay_write_carry(bytes, UINT64_C(0x1122334455667788), &content, 1), 10);
    cr_assert_eq(bytes[0], 0x6a);
    cr_assert_eq(bytes[1], 0x88);
    cr_assert_eq(bytes[9], 0x81);
    cr_assert_not(ls_relay_read_carry(bytes, 9, &flow));
    cr_assert(ls_relay_read_carry(bytes, 10, &flow));
    cr_assert_eq(flow, UINT64_C(0x1122334455667788));
    cr_assert(ls_relay_read_carry(bytes, 1209, &flow));
    cr_assert_not(ls_relay_read_carry(bytes, 1210, &flow));
    bytes[0] = LS_RELAY_GONE;
    cr_assert_not(ls_relay_read_carry(bytes, 10, &flow));
}

Test(relay_packet, sealed_datagrams_are_none_of_these)
{
    for (uint32_t first = 0; first < 256; first++) {
        uint8_t byte = BYTE(first);
        cr_assert_eq(ls_relay_is_meant(&byte, 1), first >= 0x60 && first <= 0x73);
    }
    cr_assert_not(ls_relay_is_meant(NULL, 0));
}

/* Each bit before the tag and of it counts. */
Test(relay_packet, a_tag_holds_for_its_key_and_every_bit_before_it)
{
    static const ls_relay_kind signed_kinds[] = {LS_RELAY_REGISTER, LS_RELAY_REGISTERED,
                                                 LS_RELAY_KEEP,     LS_RELAY_KEPT,
                                                 LS_RELAY_OPEN,     LS_RELAY_LISTED};
    static const size_t ends[] = {109, 56, 33, 33, 43, 42};
    uint8_t key[LS_CIPHER_KEY_BYTES] = {1};
    uint8_t other[LS_CIPHER_KEY_BYTES] = {2};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const ls_relay_packet packet = packet_of(signed_kinds[i]);
        uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
        (void)ls_relay_packet_write(&packet, bytes);
        cr_assert_not(ls_relay_packet_is_signed(bytes, key));
        ls_relay_packet_sign(bytes, key);
        cr_assert(ls_relay_packet_is_signed(bytes, key));
        cr_assert_not(ls_relay_packet_is_signed(bytes, other));
        for (size_t bit = 8; bit < 8 * ends[i]; bit++) {
            bytes[bit / 8] ^= BYTE(1u << bit % 8);
            cr_assert_not(ls_relay_packet_is_signed(bytes, key), "kind %x, bit %zu",
                          signed_kinds[i], bit);
            bytes[bit / 8] ^= BYTE(1u << bit % 8);
        }
    }
}

Test(relay_packet, the_tag_of_the_key_file_comes_before_that_of_the_server)
{
    const ls_relay_packet packet = packet_of(LS_RELAY_REGISTER);
    uint8_t key[LS_CIPHER_KEY_BYTES] = {1};
    uint8_t file_key[LS_CIPHER_KEY_BYTES] = {2};
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    (void)ls_relay_packet_write(&packet, bytes);
    ls_relay_packet_sign_access(bytes, file_key);
    ls_relay_packet_sign(bytes, key);
    cr_assert(ls_relay_packet_has_access(bytes, file_key));
    cr_assert_not(ls_relay_packet_has_access(bytes, key));
    cr_assert(ls_relay_packet_is_signed(bytes, key));
    bytes[80] ^= 1;
    cr_assert_not(ls_relay_packet_has_access(bytes, file_key));
    cr_assert_not(ls_relay_packet_is_signed(bytes, key));
}
