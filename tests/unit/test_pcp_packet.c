#include "lockstep/protocol/portmap/pcp_packet.h"

#include <criterion/criterion.h>
#include <string.h>

static ls_pcp_map request(void)
{
    ls_pcp_map map = {
        .own = ls_endpoint_from_ipv4(0, 0x1c84), .wanted = 0x1c85, .lifetime_s = 3600};
    map.own.address[12] = 192;
    map.own.address[13] = 168;
    map.own.address[15] = 7;
    memset(map.nonce, 0xa5, sizeof map.nonce);
    return map;
}

/* A router answers with most of the request (RFC 6887, 11.1). */
static void answer(uint8_t bytes[LS_PCP_MAP_BYTES])
{
    const ls_pcp_map map = request();
    ls_pcp_map_write(&map, bytes);
    bytes[1] |= 0x80;
    memset(bytes + 8, 0, 16); /* the epoch, and what is reserved */
    bytes[42] = 0x9c;
    bytes[43] = 0x40;
    bytes[56] = 203;
    bytes[58] = 113;
    bytes[59] = 9;
}

Test(pcp_packet, request_has_the_layout_of_the_rfc)
{
    static const uint8_t expected[LS_PCP_MAP_BYTES] = {
        [0] = 2,    [1] = 1,     [6] = 0x0e,  [7] = 0x10,  [18] = 0xff, [19] = 0xff, [20] = 192,
        [21] = 168, [23] = 7,    [24] = 0xa5, 0xa5,        0xa5,        0xa5,        0xa5,
        0xa5,       0xa5,        0xa5,        0xa5,        0xa5,        0xa5,        0xa5,
        [36] = 17,  [40] = 0x1c, [41] = 0x84, [42] = 0x1c, [43] = 0x85, [54] = 0xff, [55] = 0xff};
    const ls_pcp_map map = request();
    uint8_t bytes[LS_PCP_MAP_BYTES];
    memset(bytes, 0xee, sizeof bytes);
    ls_pcp_map_write(&map, bytes);
    cr_assert_arr_eq(bytes, expected, sizeof bytes);
}

Test(pcp_packet, answer_says_what_the_router_gave)
{
    const ls_pcp_map map = request();
    uint8_t bytes[LS_PCP_MAP_BYTES];
    ls_port_mapping read;
    answer(bytes);
    cr_assert_eq(ls_pcp_map_read(&map, bytes, sizeof bytes, &read, NULL), LS_OK);
    cr_assert_eq(read.inside, 0x1c84);
    cr_assert_eq(read.outside.port, 40000);
    cr_assert_eq(read.outside.address[12], 203);
    cr_assert(ls_endpoint_is_ipv4(&read.outside));
    cr_assert_eq(read.lifetime_s, 3600);
}

Test(pcp_packet, answers_to_something_else_are_none)
{
    static const size_t places[] = {1, 24, 35, 36};
    const ls_pcp_map map = request();
    uint8_t bytes[LS_PCP_MAP_BYTES];
    ls_port_mapping read = {.inside = 9};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        answer(bytes);
        bytes[places[i]] ^= 2;
        cr_assert_eq(ls_pcp_map_read(&map, bytes, sizeof bytes, &read, NULL), LS_NOT_FOUND);
    }
    answer(bytes);
    for (size_t size = 0; size < sizeof bytes; size++) {
        cr_assert_eq(ls_pcp_map_read(&map, bytes, size, &read, NULL), LS_NOT_FOUND);
    }
    cr_assert_eq(read.inside, 9, "which change nothing");
}

Test(pcp_packet, refusals_say_why)
{
    const ls_pcp_map map = request();
    uint8_t bytes[LS_PCP_MAP_BYTES];
    ls_port_mapping read;
    ls_text why = {{0}};
    for (uint32_t result = 1; result < 256; result++) {
        answer(bytes);
        bytes[3] = (uint8_t)result;
        cr_assert_eq(ls_pcp_map_read(&map, bytes, sizeof bytes, &read, &why), LS_REFUSED);
        cr_assert(strstr(why.bytes, "the router refuses: it "));
    }
    const uint8_t of_natpmp[] = {0, 0x80 | 1, 0, 1};
    cr_assert_eq(ls_pcp_map_read(&map, of_natpmp, sizeof of_natpmp, &read, &why), LS_REFUSED);
    cr_assert(strstr(why.bytes, "another version"));
}
