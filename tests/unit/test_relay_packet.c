#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/relay/relay_client.h"
#include "lockstep/protocol/relay/relay_keys.h"
#include "lockstep/protocol/relay/relay_packet.h"
#include "lockstep/protocol/relay/relay_server.h"
#include "lockstep/server/relay/relay.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- relay_packet ---- */

/* Holds the datagrams against docs/relay.md. */

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
    packet.page = (ls_relay_page){0x9192, 1};
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
     {{1, 1}, {2, 0}, {4, 0x88}, {12, 'K'}, {32, 0x52}, {34, 0x92}, {36, 1}, {37, 0}}},
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
        {LS_RELAY_ASK, 1, 'X'},       {LS_RELAY_ASK, 127, 1},         {LS_RELAY_COOKIE, 1, 2},
        {LS_RELAY_COOKIE, 2, 1},      {LS_RELAY_REGISTER, 4, '2'},    {LS_RELAY_REGISTER, 109, 1},
        {LS_RELAY_REGISTERED, 1, 3},  {LS_RELAY_REGISTERED, 12, 'O'}, {LS_RELAY_REGISTERED, 39, 1},
        {LS_RELAY_REGISTERED, 36, 2}, {LS_RELAY_JOIN, 45, '1'},       {LS_RELAY_JOIN, 46, 'k'},
        {LS_RELAY_JOINED, 1, 3},      {LS_RELAY_PUNCH, 9, 2},         {LS_RELAY_PROVE, 33, 1},
        {LS_RELAY_PROVEN, 95, 1},     {LS_RELAY_WAY, 9, 2},           {LS_RELAY_LISTED, 1, 3},
        {LS_RELAY_LOOK, 4, '2'},      {LS_RELAY_LOOK, 49, 1},
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

/* ---- relay_code ---- */

static const char *parse(const char *text, ls_relay_code *code)
{
    const char *place = NULL;
    ls_text why = {{0}};
    ls_status status = ls_relay_code_parse(text, code, &place, &why);
    cr_assert_eq(status == LS_OK, why.bytes[0] == '\0', "%s", text);
    return status == LS_OK ? place : NULL;
}

Test(relay_code, no_character_looks_like_another_one)
{
    uint32_t count = 0;
    for (int character = 0; character < 128; character++) {
        count += ls_relay_code_has((char)character) ? 1 : 0;
    }
    cr_assert_eq(count, 32);
    for (const char *at = "01IO-@ kq"; *at != '\0'; at++) {
        cr_assert_not(ls_relay_code_has(*at), "%c", *at);
    }
}

Test(relay_code, a_code_is_read_in_any_case_and_without_its_dash)
{
    static const char *const texts[] = {"K7QM-29F@play.example:99", "k7qm29f@play.example:99",
                                        "K7qM-29f@play.example:99"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ls_relay_code code;
        char text[LS_RELAY_CODE_BYTES];
        cr_assert_str_eq(parse(texts[i], &code), "play.example:99");
        ls_relay_code_format(&code, text);
        cr_assert_str_eq(text, "K7QM-29F");
    }
}

Test(relay_code, what_is_no_code_is_refused_with_a_reason)
{
    static const char *const texts[] = {"K7QM-29@a",
                                        "K7QM-29FF@a",
                                        "K7QM29F",
                                        "K7QM-29F@",
                                        "K7QM--29F@a",
                                        "K7Q-M29F@a",
                                        "KOQM-29F@a",
                                        "@a",
                                        "-K7QM29F@a",
                                        "K7QM-2 F@a",
                                        ""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ls_relay_code code = {.name = "zzzz"};
        cr_assert_null(parse(texts[i], &code), "%s", texts[i]);
        cr_assert_eq(code.name[0], 'z');
    }
}

Test(relay_code, an_address_is_no_code)
{
    cr_assert(ls_relay_code_is_meant("K7QM-29F@play.example"));
    cr_assert_not(ls_relay_code_is_meant("play.example:7300"));
}

Test(relay_code, a_server_has_the_same_code_each_time_and_another_one_has_another)
{
    uint8_t key[LS_CIPHER_KEY_BYTES] = {1};
    char first[LS_RELAY_NAME_CHARACTERS], again[LS_RELAY_NAME_CHARACTERS];
    char second[LS_RELAY_NAME_CHARACTERS], other[LS_RELAY_NAME_CHARACTERS];
    ls_relay_code_name(key, 0, first);
    ls_relay_code_name(key, 0, again);
    ls_relay_code_name(key, 1, second);
    key[0] = 2;
    ls_relay_code_name(key, 0, other);
    cr_assert_arr_eq(first, again, sizeof first);
    cr_assert_neq(memcmp(first, second, sizeof first), 0);
    cr_assert_neq(memcmp(first, other, sizeof first), 0);
    for (size_t i = 0; i < sizeof first; i++) {
        cr_assert(ls_relay_code_has(first[i]));
    }
}

/* Else codes would be guessed in fewer attempts. */
Test(relay_code, every_character_comes_about_as_often)
{
    uint32_t counts[128] = {0};
    for (uint32_t i = 0; i < 4096; i++) {
        uint8_t key[LS_CIPHER_KEY_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8)};
        char secret[LS_RELAY_SECRET_CHARACTERS];
        ls_relay_code_secret(key, secret);
        for (size_t c = 0; c < sizeof secret; c++) {
            counts[(uint8_t)secret[c]]++;
        }
    }
    for (int character = 0; character < 128; character++) {
        if (ls_relay_code_has((char)character)) {
            cr_assert(counts[character] > 280 && counts[character] < 490, "%c: %u", character,
                      counts[character]);
        }
    }
}

Test(relay_code, a_relay_is_found_at_its_own_port_unless_another_one_is_named)
{
    static const struct {
        const char *place;
        uint16_t port;
    } places[] = {{"127.0.0.1", 7310}, {"127.0.0.1:99", 99}, {"[::1]", 7310}, {"[::1]:99", 99}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        ls_endpoint relay;
        ls_text why = {{0}};
        cr_assert_eq(ls_relay_find(places[i].place, &relay, &why), LS_OK, "%s", why.bytes);
        cr_assert_eq(relay.port, places[i].port);
        cr_assert(ls_endpoint_is_loopback(&relay));
    }
    ls_endpoint relay;
    ls_text why = {{0}};
    cr_assert_neq(ls_relay_find("127.0.0.1:0", &relay, &why), LS_OK);
}

/* ---- relay_keys ---- */

static ls_key_pair server_keys, relay_keys;
static uint8_t nonce[LS_RELAY_NONCE_BYTES] = {7};
static const ls_relay_code code = {"K7QM", "29F"};
static const uint64_t FLOW = 99;

static void begin(void)
{
    cr_assert_eq(ls_cipher_init(), LS_OK);
    ls_key_pair_random(&server_keys);
    ls_key_pair_random(&relay_keys);
}

TestSuite(relay_keys, .init = begin);

static ls_relay_keys keys_of(const ls_key_pair *own, uint64_t time_ms)
{
    const ls_relay_keys_of of = {own, server_keys.public_key, relay_keys.public_key, nonce,
                                 time_ms};
    ls_relay_keys keys;
    cr_assert(ls_relay_keys_make(&of, &keys));
    return keys;
}

Test(relay_keys, both_sides_have_the_same_ones_and_no_registration_those_of_another)
{
    const ls_relay_keys of_server = keys_of(&server_keys, 5);
    const ls_relay_keys of_relay = keys_of(&relay_keys, 5);
    const ls_relay_keys later = keys_of(&server_keys, 6);
    cr_assert_arr_eq(&of_server, &of_relay, sizeof of_server);
    cr_assert_neq(memcmp(of_server.proof, later.proof, sizeof later.proof), 0);
    cr_assert_neq(memcmp(of_server.to_relay, of_server.to_server, sizeof later.to_relay), 0);
    nonce[0]++;
    const ls_relay_keys other = keys_of(&server_keys, 5);
    cr_assert_neq(memcmp(of_server.proof, other.proof, sizeof other.proof), 0);
}

Test(relay_keys, a_key_that_agrees_with_every_other_one_is_refused)
{
    const uint8_t zeros[LS_CIPHER_KEY_BYTES] = {0};
    const ls_relay_keys_of of = {&relay_keys, zeros, relay_keys.public_key, nonce, 1};
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
    cr_assert(ls_relay_proof_answer(&code, FLOW, &prove, server_keys.public_key, &proven));
    cr_assert_arr_eq(proven.key, server_keys.public_key, sizeof proven.key);
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
    cr_assert(ls_relay_proof_answer(&code, FLOW, &prove, server_keys.public_key, &proven));
    cr_assert(ls_relay_proof_is_good(&first, FLOW, &proven));
    cr_assert_not(ls_relay_proof_is_good(&second, FLOW, &proven));
    ls_relay_packet altered = proven;
    memcpy(altered.key, relay_keys.public_key, sizeof altered.key);
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
    cr_assert_not(ls_relay_proof_answer(&code, FLOW, &prove, server_keys.public_key, &proven));
    memset(prove.point, 0xff, sizeof prove.point);
    cr_assert_not(ls_relay_proof_answer(&code, FLOW, &prove, server_keys.public_key, &proven));
    cr_assert(ls_relay_proof_begin(&code, FLOW, &proof));
    cr_assert_not(ls_relay_proof_is_good(&proof, FLOW, &proven));
}

/* ==== relay_flows ==== */

/* Two workers of a server at a relay, in virtual time: worker 0 is registered, and both
 * carry. Sealed packets come to worker 1, and all else to worker 0, as the system has it. */

enum {
    RELAY,
    SERVER,
    PLAYER,
    WORKERS = 2,
    FLYING_MAX = 64,
    INBOX_MAX = 16,
    PACKET = 0x81, /* the first byte of a sealed packet */
};

typedef struct datagram {
    ls_endpoint from, to;
    size_t size;
    uint8_t bytes[LS_UDP_DATAGRAM_BYTES_MAX];
} datagram;

typedef struct fake_socket {
    ls_datagram_socket base;
    uint32_t place;
    datagram inbox[INBOX_MAX];
    uint32_t first, count;
    uint32_t asked; /* ASK and REGISTER that were sent */
} fake_socket;

static uint64_t now_ns;
static datagram flying[FLYING_MAX];
static uint32_t flying_count;
static ls_relay_service *relay;
static ls_relay_flows flows;
static ls_relay_server *workers[WORKERS];
static fake_socket sockets[WORKERS + 1]; /* the player's is the last one */
static ls_datagram_socket *worker_sockets[WORKERS];
static ls_relay_client *player;
static uint16_t outside_port; /* of the newest OPENED */

static ls_endpoint place_of(uint32_t place)
{
    ls_endpoint made = ls_endpoint_from_ipv4(0, (uint16_t)(7000 + place));
    made.address[12] = 203;
    made.address[14] = (uint8_t)(1 + place);
    return made;
}

static void fly(uint32_t from, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    cr_assert_lt(flying_count, FLYING_MAX);
    datagram *made = &flying[flying_count++];
    *made = (datagram){.from = place_of(from), .to = *to, .size = size};
    memcpy(made->bytes, bytes, size);
}

static void send_of_relay(void *user, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    (void)user;
    fly(RELAY, to, bytes, size);
}

/* ---- sockets ---- */

static void begin_turn(ls_datagram_socket *socket, uint64_t now)
{
    (void)socket;
    (void)now;
}

static ls_udp_receipt receive(ls_datagram_socket *socket, ls_udp_datagram *out)
{
    fake_socket *at = (fake_socket *)socket;
    if (at->count == 0) {
        return LS_UDP_EMPTY;
    }
    datagram *came = &at->inbox[at->first];
    *out = (ls_udp_datagram){
        .from = came->from, .bytes = came->bytes, .size = came->size, .arrived_ns = now_ns};
    at->first = (at->first + 1) % INBOX_MAX;
    at->count--;
    return LS_UDP_RECEIVED;
}

static void send_datagram(ls_datagram_socket *socket, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    fake_socket *at = (fake_socket *)socket;
    ls_relay_packet packet;
    at->asked += bytes[0] == LS_RELAY_ASK || bytes[0] == LS_RELAY_REGISTER;
    if (ls_relay_packet_read(bytes, size, &packet) && packet.kind == LS_RELAY_OPENED) {
        outside_port = packet.outside_port;
    }
    fly(at->place, to, bytes, size);
}

static ls_udp_sent flush(ls_datagram_socket *socket)
{
    (void)socket;
    return (ls_udp_sent){0};
}

static uint16_t port(const ls_datagram_socket *socket)
{
    (void)socket;
    return 7001;
}

static void close_socket(ls_datagram_socket *socket)
{
    (void)socket;
}

static const ls_datagram_socket_operations operations = {.begin_turn = begin_turn,
                                                         .receive = receive,
                                                         .send = send_datagram,
                                                         .flush = flush,
                                                         .port = port,
                                                         .close = close_socket};

/* ---- the network ---- */

static fake_socket *socket_for(const datagram *what)
{
    const ls_endpoint server = place_of(SERVER);
    if (!ls_endpoint_is_equal(&what->to, &server)) {
        return &sockets[WORKERS];
    }
    uint64_t flow = 0;
    bool is_carried = ls_relay_read_carry(what->bytes, what->size, &flow);
    return &sockets[is_carried && what->bytes[LS_RELAY_CARRY_HEADER_BYTES] == PACKET ? 1 : 0];
}

static void land_all(void)
{
    const ls_endpoint of_relay = place_of(RELAY);
    datagram landing[FLYING_MAX];
    uint32_t count = flying_count;
    memcpy(landing, flying, sizeof landing);
    flying_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (ls_endpoint_is_equal(&landing[i].to, &of_relay)) {
            ls_relay_receive(relay, &landing[i].from, landing[i].bytes, landing[i].size, now_ns);
        } else {
            fake_socket *at = socket_for(&landing[i]);
            cr_assert_lt(at->count, INBOX_MAX);
            at->inbox[(at->first + at->count++) % INBOX_MAX] = landing[i];
        }
    }
}

/* The transport of a socket takes what has come; the last one it gets, if any. */
static bool take(ls_datagram_socket *socket, ls_udp_datagram *out)
{
    bool has_any = false;
    ls_udp_datagram came;
    while (ls_datagram_socket_receive(socket, &came) == LS_UDP_RECEIVED) {
        *out = came;
        has_any = true;
    }
    return has_any;
}

static void pass(uint64_t time_ns)
{
    for (uint64_t end_ns = now_ns + time_ns; now_ns < end_ns;) {
        ls_udp_datagram none;
        now_ns += 10 * LS_NS_PER_MS;
        land_all();
        for (uint32_t i = 0; i < WORKERS; i++) {
            (void)take(worker_sockets[i], &none);
            ls_relay_server_advance(workers[i], now_ns);
        }
        if (player) {
            ls_relay_client_turn(player, now_ns);
        }
    }
}

static void start_worker(uint32_t number, const ls_key_pair *identity)
{
    ls_relay_server_config config = {
        .identity = *identity, .flows = &flows, .is_follower = number != 0};
    if (number == 0) {
        config.relay = place_of(RELAY);
    }
    sockets[number] = (fake_socket){.base.operations = &operations, .place = SERVER};
    cr_assert_eq(ls_relay_server_create(&config, ls_allocator_heap(), &workers[number]), LS_OK);
    worker_sockets[number] = ls_relay_server_socket(workers[number], &sockets[number].base);
}

static void stop_worker(uint32_t number)
{
    ls_datagram_socket_close(worker_sockets[number]);
    ls_relay_server_destroy(workers[number]);
}

static ls_key_pair identity;

static void flows_begin(void)
{
    const ls_relay_sink sink = {send_of_relay, NULL};
    const ls_relay_config config = ls_relay_config_default();
    cr_assert_eq(ls_cipher_init(), LS_OK);
    now_ns = 100 * LS_NS_PER_SECOND;
    cr_assert_eq(ls_relay_create(&config, &sink, ls_allocator_heap(), &relay), LS_OK);
    ls_key_pair_random(&identity);
    start_worker(1, &identity); /* before the other one has said where the relay is */
    start_worker(0, &identity);
    pass(LS_NS_PER_SECOND);
    sockets[WORKERS] = (fake_socket){.base.operations = &operations, .place = PLAYER};
    ls_relay_client_config of_player = {
        .relay = place_of(RELAY), .has_server_key = true, .avoids_direct = true};
    of_player.code = *ls_relay_server_code(workers[0]);
    cr_assert_eq(
        ls_relay_client_create(&of_player, &sockets[WORKERS].base, ls_allocator_heap(), &player),
        LS_OK);
    pass(LS_NS_PER_SECOND);
    cr_assert_eq(ls_relay_client_state_of(player), LS_RELAY_CLIENT_READY);
}

static void end(void)
{
    ls_datagram_socket_close(ls_relay_client_socket(player));
    stop_worker(0);
    stop_worker(1);
    ls_relay_destroy(relay);
}

TestSuite(relay_flows, .init = flows_begin, .fini = end);

/* From the player to the worker; false: nothing has come there. */
static bool carry_up(uint8_t first, uint32_t worker, ls_udp_datagram *came)
{
    const uint8_t bytes[20] = {first, 7};
    ls_datagram_socket_send(ls_relay_client_socket(player), ls_relay_client_server(player), bytes,
                            sizeof bytes);
    (void)ls_datagram_socket_flush(ls_relay_client_socket(player));
    land_all();
    land_all();
    return take(worker_sockets[worker], came);
}

static void expect_both_ways(uint8_t first, uint32_t worker)
{
    const ls_endpoint of_player = place_of(PLAYER);
    ls_udp_datagram came = {.size = 0};
    cr_assert(carry_up(first, worker, &came), "worker %u", worker);
    cr_assert_eq(came.size, 20);
    cr_assert_eq(came.bytes[0], first);
    cr_assert_neq(came.from.via, 0);
    cr_assert(ls_endpoint_is_same_host(&came.from, &of_player));
    const ls_endpoint back = came.from;
    const uint8_t answer[30] = {first, 9};
    ls_datagram_socket_send(worker_sockets[worker], &back, answer, sizeof answer);
    (void)ls_datagram_socket_flush(worker_sockets[worker]);
    land_all();
    land_all();
    cr_assert(take(ls_relay_client_socket(player), &came));
    cr_assert_eq(came.size, 30);
}

Test(relay_flows, each_worker_reaches_a_player_who_was_opened_to_the_first)
{
    expect_both_ways(PACKET, 1);
    expect_both_ways(0x01, 0);
    cr_assert_eq(sockets[1].asked, 0, "worker 1 never registers");
    cr_assert_gt(sockets[0].asked, 0);
}

Test(relay_flows, a_player_keeps_its_way_when_a_worker_is_started_again)
{
    stop_worker(1);
    start_worker(1, &identity);
    expect_both_ways(PACKET, 1);
    stop_worker(0);
    expect_both_ways(PACKET, 1);
    start_worker(0, &identity);
    pass(LS_NS_PER_SECOND);
    ls_udp_datagram lost;
    cr_assert_not(carry_up(PACKET, 1, &lost), "the relay tells a new registration of it first");
    pass(LS_NS_PER_SECOND);
    expect_both_ways(PACKET, 1);
    expect_both_ways(0x01, 0);
}

Test(relay_flows, a_flow_that_no_worker_knows_is_opened_again)
{
    ls_udp_datagram came;
    ls_endpoint outside = place_of(SERVER);
    outside.port = 9000;
    memset(flows.players, 0, sizeof flows.players);
    ls_relay_flows_set_outside(&flows, &outside); /* by the supervisor, say */
    cr_assert_eq(outside_port, 0);
    cr_assert_not(carry_up(PACKET, 1, &came));
    pass(LS_NS_PER_SECOND); /* worker 1 has answered GONE */
    (void)carry_up(PACKET, 1, &came);
    pass(LS_NS_PER_SECOND);
    expect_both_ways(PACKET, 1);
    cr_assert_eq(outside_port, 9000, "and is told of the port of the router");
}
