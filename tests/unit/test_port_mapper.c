#include "lockstep/protocol/portmap/pcp_packet.h"
#include "lockstep/protocol/portmap/port_mapper.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- port_mapper ---- */

/* Stand-in routers, whose answers may be of any kind, in virtual time. */

enum {
    PORT = 7300,
    PRIVATE = 10, /* first bytes of addresses */
    PUBLIC = 203,
};

typedef struct stand_in {
    ls_status status;
    uint8_t network;
    uint16_t inside, outside; /* 0: as it is asked */
    uint32_t lifetime_s;
    uint32_t asked, taken_back;
    uint16_t wanted; /* last */
} stand_in;

static stand_in first, second;
static uint64_t waited_ms[64];
static uint32_t waits, waits_max;
static ls_port_report reports[64];
static uint32_t report_count;
static void (*happens)(uint32_t wait); /* while it waits */

static ls_endpoint address(uint8_t network, uint16_t port)
{
    ls_endpoint made = ls_endpoint_from_ipv4(0, port);
    made.address[12] = network;
    made.address[15] = 1;
    return made;
}

static ls_status map(stand_in *at, uint16_t inside, uint16_t wanted, ls_port_mapping *out,
                     ls_text *why)
{
    at->asked++;
    at->wanted = wanted;
    if (at->status != LS_OK) {
        return ls_fail(at->status, why, "no answer");
    }
    *out = (ls_port_mapping){.outside = address(at->network, at->outside ? at->outside : wanted),
                             .inside = at->inside ? at->inside : inside,
                             .lifetime_s = at->lifetime_s};
    return LS_OK;
}

static ls_status map_first(uint16_t inside, uint16_t wanted, ls_port_mapping *out, ls_text *why)
{
    return map(&first, inside, wanted, out, why);
}

static ls_status map_second(uint16_t inside, uint16_t wanted, ls_port_mapping *out, ls_text *why)
{
    return map(&second, inside, wanted, out, why);
}

static ls_status unmap_first(const ls_port_mapping *mapping, ls_text *why)
{
    (void)why;
    (void)mapping;
    first.taken_back++;
    return first.status;
}

static ls_status unmap_second(const ls_port_mapping *mapping, ls_text *why)
{
    (void)why;
    (void)mapping;
    second.taken_back++;
    return second.status;
}

static bool wait(void *user, uint64_t wait_ms)
{
    (void)user;
    waited_ms[waits++] = wait_ms;
    if (happens) {
        happens(waits);
    }
    return waits == waits_max;
}

static void report(void *user, const ls_port_report *told)
{
    (void)user;
    reports[report_count++] = *told;
}

static bool run(uint32_t times)
{
    static const ls_router_way ways[] = {{"first", map_first, unmap_first},
                                         {"second", map_second, unmap_second}};
    const ls_port_mapper_config config = {
        .ways = ways, .way_count = 2, .port = PORT, .wait = wait, .report = report};
    waits_max = times;
    return ls_port_mapper_run(&config);
}

static stand_in good(void)
{
    return (stand_in){.network = PUBLIC, .lifetime_s = LS_ROUTER_LIFETIME_S};
}

static stand_in silent(void)
{
    return (stand_in){.status = LS_NOT_FOUND};
}

Test(port_mapper, first_way_that_answers_gives_the_mapping_which_is_taken_back)
{
    first = good();
    second = good();
    cr_assert(run(1));
    cr_assert_eq(report_count, 1);
    cr_assert(reports[0].is_mapped);
    cr_assert_str_eq(reports[0].way, "first");
    cr_assert_eq(reports[0].mapping.outside.port, PORT);
    cr_assert_eq(second.asked, 0);
    cr_assert_eq(first.taken_back, 1);
}

Test(port_mapper, second_way_is_asked_where_the_first_is_silent)
{
    first = silent();
    second = good();
    second.outside = 40000;
    cr_assert(run(1));
    cr_assert_str_eq(reports[0].way, "second");
    cr_assert_eq(reports[0].mapping.outside.port, 40000);
    cr_assert_eq(first.taken_back, 0);
    cr_assert_eq(second.taken_back, 1);
}

Test(port_mapper, no_answer_is_reported_once_and_asked_ever_more_rarely)
{
    first = silent();
    second = silent();
    cr_assert(run(8), "there is nothing to take back");
    cr_assert_eq(report_count, 1);
    cr_assert_not(reports[0].is_mapped);
    cr_assert_str_eq(reports[0].why.bytes, "first: no answer; second: no answer");
    cr_assert_eq(waited_ms[0], 10000);
    cr_assert_eq(waited_ms[1], 20000);
    cr_assert_eq(waited_ms[7], 900000);
}

Test(port_mapper, answer_about_another_port_is_not_believed)
{
    first = good();
    first.inside = PORT + 1;
    second = silent();
    cr_assert(run(1));
    cr_assert_not(reports[0].is_mapped);
    cr_assert(strstr(reports[0].why.bytes, "another port"));
    cr_assert_eq(first.taken_back, 0, "which may be somebody else's");
}

Test(port_mapper, private_address_is_of_no_use_and_its_mapping_is_taken_back)
{
    first = good();
    first.network = PRIVATE;
    second = good();
    cr_assert(run(1));
    cr_assert_eq(first.taken_back, 1);
    cr_assert_str_eq(reports[0].way, "second");
}

Test(port_mapper, mapping_for_no_time_is_none)
{
    first = good();
    first.lifetime_s = 0;
    second = silent();
    cr_assert(run(1));
    cr_assert_not(reports[0].is_mapped);
}

Test(port_mapper, mapping_is_asked_for_anew_at_half_its_time_within_bounds)
{
    static const struct {
        uint32_t lifetime_s;
        uint64_t wait_ms;
    } lives[] = {{1, 30000}, {600, 300000}, {3600, 1800000}, {UINT32_MAX, 1800000}};
    for (size_t i = 0; i < sizeof lives / sizeof lives[0]; i++) {
        waits = report_count = 0;
        first = good();
        first.lifetime_s = lives[i].lifetime_s;
        cr_assert(run(3));
        cr_assert_eq(waited_ms[0], lives[i].wait_ms);
        cr_assert_eq(first.asked, 3);
        cr_assert_eq(report_count, 1, "the mapping is the same");
    }
}

static void give_another_port(uint32_t wait)
{
    if (wait == 1) {
        first.outside = 40000;
    }
}

Test(port_mapper, port_that_was_given_is_asked_for_and_another_one_is_reported)
{
    first = good();
    happens = give_another_port;
    cr_assert(run(3));
    cr_assert_eq(report_count, 2);
    cr_assert_eq(reports[1].mapping.outside.port, 40000);
    cr_assert_eq(first.wanted, 40000);
}

static void fail_then_return(uint32_t wait)
{
    second.status = wait == 1 ? LS_NOT_FOUND : LS_OK;
}

Test(port_mapper, lost_mapping_is_reported_and_asked_for_soon)
{
    first = silent();
    second = good();
    happens = fail_then_return;
    cr_assert(run(3));
    cr_assert_eq(report_count, 3);
    cr_assert(reports[0].is_mapped);
    cr_assert_not(reports[1].is_mapped);
    cr_assert(reports[2].is_mapped);
    cr_assert_eq(waited_ms[1], 10000);
    cr_assert_eq(first.asked, 3, "where the second gave nothing");
}

static void fail_at_the_end(uint32_t wait)
{
    (void)wait;
    first.status = LS_IO;
}

Test(port_mapper, mapping_that_is_not_taken_back_is_told)
{
    first = good();
    happens = fail_at_the_end;
    cr_assert_not(run(1));
}

/* ---- pcp_packet ---- */

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
