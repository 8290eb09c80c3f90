#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket_address.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/tests/unit/wire_bits.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- discovery ---- */

/* Holds the two datagrams against protocol/PROTOCOL.md, Finding servers. */

static ls_discovery_answer answer_of_all(void)
{
    ls_discovery_answer answer;
    memset(&answer, 0, sizeof answer);
    answer.nonce = UINT64_C(0x0123456789abcdef);
    answer.server = UINT64_C(0xfedcba9876543210);
    answer.port = 7300;
    answer.protocol = 6;
    memcpy(answer.simulation, "units", 6);
    answer.version = 3;
    answer.state = LS_DISCOVERY_RUNNING;
    answer.tick = 123456789;
    answer.matches = 4;
    answer.players = 7;
    answer.seats = 8;
    answer.spectators = 2;
    answer.spectators_max = 16;
    return answer;
}

static wire_bits wire_of_all(void)
{
    return WIRE(U(0x3141534c, 32), U(UINT64_C(0x0123456789abcdef), 64),
                U(UINT64_C(0xfedcba9876543210), 64), U(7300, 16), U(6, 16), TEXT("units"), U(3, 32),
                UVAR(1), U(123456789, 32), UVAR(4), UVAR(7), UVAR(8), UVAR(2), UVAR(16));
}

Test(discovery, query_has_the_layout_of_the_page)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    uint64_t nonce = 0;
    ls_discovery_write_query(bytes, UINT64_C(0x1122334455667788));
    const uint8_t head[] = {'L', 'S', 'Q', '1', 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
    cr_assert_arr_eq(bytes, head, sizeof head);
    for (size_t i = sizeof head; i < sizeof bytes; i++) {
        cr_assert_eq(bytes[i], 0);
    }
    cr_assert(ls_discovery_read_query(bytes, sizeof bytes, &nonce));
    cr_assert_eq(nonce, UINT64_C(0x1122334455667788));
}

/* A short query could be made to send more than was sent. */
Test(discovery, a_query_of_another_size_or_content_is_none)
{
    uint8_t bytes[LS_DISCOVERY_BYTES + 1] = {0};
    uint64_t nonce = 9;
    ls_discovery_write_query(bytes, 1);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        cr_assert_eq(ls_discovery_read_query(bytes, size, &nonce), size == LS_DISCOVERY_BYTES);
    }
    nonce = 9;
    for (size_t i = 0; i < LS_DISCOVERY_BYTES; i++) {
        bytes[i] ^= 0x10;
        cr_assert_eq(ls_discovery_read_query(bytes, LS_DISCOVERY_BYTES, &nonce), i >= 4 && i < 12);
        bytes[i] ^= 0x10;
    }
}

Test(discovery, answer_has_the_layout_of_the_page)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    const ls_discovery_answer answer = answer_of_all();
    wire_bits wire = wire_of_all();
    memset(bytes, 0xff, sizeof bytes);
    size_t size = ls_discovery_write_answer(bytes, &answer);
    cr_assert_eq(size, wire_size(&wire));
    cr_assert_arr_eq(bytes, wire.bytes, size);
    ls_discovery_answer read;
    memset(&read, 0, sizeof read);
    cr_assert(ls_discovery_read_answer(bytes, size, &read));
    cr_assert_eq(read.nonce, answer.nonce);
    cr_assert_eq(read.server, answer.server);
    cr_assert_str_eq(read.simulation, "units");
    cr_assert_eq(read.spectators_max, 16);
}

Test(discovery, a_cut_or_longer_answer_is_none_and_changes_nothing)
{
    wire_bits wire = wire_of_all();
    size_t size = wire_size(&wire);
    ls_discovery_answer read = {.port = 1};
    for (size_t cut = 0; cut < size; cut++) {
        cr_assert_not(ls_discovery_read_answer(wire.bytes, cut, &read));
    }
    cr_assert_not(ls_discovery_read_answer(wire.bytes, size + 1, &read));
    uint8_t zeros[LS_DISCOVERY_BYTES + 1] = {0};
    memcpy(zeros, wire.bytes, size);
    cr_assert_not(ls_discovery_read_answer(zeros, sizeof zeros, &read));
    cr_assert_eq(read.port, 1);
    cr_assert_eq(read.nonce, 0);
}

Test(discovery, the_largest_answer_is_no_larger_than_a_query)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    ls_discovery_answer answer = {.nonce = UINT64_MAX,
                                  .server = UINT64_MAX,
                                  .port = UINT16_MAX,
                                  .protocol = UINT16_MAX,
                                  .version = UINT32_MAX,
                                  .state = LS_DISCOVERY_STATE_COUNT - 1,
                                  .tick = UINT32_MAX,
                                  .matches = LS_DISCOVERY_COUNT_MAX,
                                  .players = LS_DISCOVERY_COUNT_MAX,
                                  .seats = LS_DISCOVERY_COUNT_MAX,
                                  .spectators = LS_DISCOVERY_COUNT_MAX,
                                  .spectators_max = LS_DISCOVERY_COUNT_MAX};
    memset(answer.simulation, 'x', sizeof answer.simulation - 1);
    cr_assert_eq(ls_discovery_write_answer(bytes, &answer), 110);
}

Test(discovery, what_cannot_be_seen_does_not_reach_a_terminal)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    ls_discovery_answer answer = answer_of_all();
    memcpy(answer.simulation, "a\033[2J\n\xff", 8);
    size_t size = ls_discovery_write_answer(bytes, &answer);
    cr_assert(ls_discovery_read_answer(bytes, size, &answer));
    cr_assert_str_eq(answer.simulation, "a?[2J??");
}

Test(discovery, values_out_of_range_are_no_answer)
{
    wire_bits no_match =
        WIRE(U(0x3141534c, 32), U(0, 64), U(0, 64), U(7300, 16), U(6, 16), TEXT("units"), U(3, 32),
             UVAR(1), U(0, 32), UVAR(0), UVAR(0), UVAR(0), UVAR(0), UVAR(0));
    wire_bits no_state =
        WIRE(U(0x3141534c, 32), U(0, 64), U(0, 64), U(7300, 16), U(6, 16), TEXT("units"), U(3, 32),
             UVAR(3), U(0, 32), UVAR(1), UVAR(0), UVAR(0), UVAR(0), UVAR(0));
    wire_bits no_port =
        WIRE(U(0x3141534c, 32), U(0, 64), U(0, 64), U(0, 16), U(6, 16), TEXT("units"), U(3, 32),
             UVAR(1), U(0, 32), UVAR(1), UVAR(0), UVAR(0), UVAR(0), UVAR(0));
    ls_discovery_answer read;
    cr_assert_not(ls_discovery_read_answer(no_match.bytes, wire_size(&no_match), &read));
    cr_assert_not(ls_discovery_read_answer(no_state.bytes, wire_size(&no_state), &read));
    cr_assert_not(ls_discovery_read_answer(no_port.bytes, wire_size(&no_port), &read));
}

Test(discovery, a_flood_gets_32_answers_at_once_and_64_a_second)
{
    ls_discovery_budget budget = {0};
    uint64_t start_ns = 5 * LS_NS_PER_SECOND;
    uint32_t given = 0;
    for (int i = 0; i < 1000; i++) {
        given += ls_discovery_budget_spend(&budget, start_ns);
    }
    cr_assert_eq(given, 32);
    for (uint64_t ms = 1; ms <= 10000; ms++) {
        given += ls_discovery_budget_spend(&budget, start_ns + ms * LS_NS_PER_MS);
    }
    cr_assert_geq(given, 32 + 640 - 2);
    cr_assert_leq(given, 32 + 640);
}

/* ---- discovery_search ---- */

#define LOOPBACK 0x7f000001u
#define FIRST 0xc0000201u  /* 192.0.2.1 */
#define SECOND 0xc0000202u /* 192.0.2.2 */

/* The search's memory is large for a stack. */
static ls_discovery_search search;

static void ask(uint64_t nonce, uint64_t now_ms)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    ls_discovery_search_query(&search, nonce, now_ms * LS_NS_PER_MS, bytes);
}

static void on_answer(uint64_t nonce, uint64_t server, uint32_t address, uint16_t port,
                      uint64_t now_ms)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    const ls_discovery_answer answer = {
        .nonce = nonce, .server = server, .port = port, .simulation = "units", .matches = 1};
    size_t size = ls_discovery_write_answer(bytes, &answer);
    const ls_endpoint from = ls_endpoint_from_ipv4(htonl(address), LS_DISCOVERY_PORT);
    ls_discovery_search_receive(&search, bytes, size, &from, now_ms * LS_NS_PER_MS);
}

static void start(void)
{
    memset(&search, 0, sizeof search);
    ask(11, 1000);
    ask(22, 1250);
}

TestSuite(discovery_search, .init = start);

Test(discovery_search, servers_are_kept_once_by_address_with_their_shortest_round_trip)
{
    on_answer(11, 1, SECOND, 7300, 1009);
    on_answer(11, 2, FIRST, 7301, 1005);
    on_answer(11, 3, FIRST, 7300, 1006);
    on_answer(22, 1, SECOND, 7300, 1253);
    on_answer(22, 3, FIRST, 7300, 1260);
    cr_assert_eq(search.server_count, 3);
    cr_assert_eq(search.ignored, 0);
    cr_assert_eq(search.servers[0].answer.server, 3);
    cr_assert_eq(search.servers[0].rtt_ns, 6 * LS_NS_PER_MS);
    cr_assert_eq(search.servers[1].answer.server, 2);
    cr_assert_eq(search.servers[2].answer.server, 1);
    cr_assert_eq(search.servers[2].rtt_ns, 3 * LS_NS_PER_MS);
    cr_assert_eq(search.servers[2].endpoint.port, 7300);
}

Test(discovery_search, answers_to_nobodys_query_are_ignored)
{
    on_answer(33, 1, FIRST, 7300, 1005);
    on_answer(0, 1, FIRST, 7300, 1005);
    on_answer(22, 1, FIRST, 7300, 1100); /* before it was asked */
    const ls_endpoint from = ls_endpoint_from_ipv4(htonl(FIRST), 1);
    uint8_t bytes[LS_DISCOVERY_BYTES];
    ls_discovery_write_query(bytes, 11);
    ls_discovery_search_receive(&search, bytes, sizeof bytes, &from, 1300 * LS_NS_PER_MS);
    ls_discovery_search_receive(&search, bytes, 0, &from, 1300 * LS_NS_PER_MS);
    cr_assert_eq(search.server_count, 0);
    cr_assert_eq(search.ignored, 5);
}

Test(discovery_search, an_address_that_others_can_use_goes_before_the_loopback)
{
    on_answer(11, 1, LOOPBACK, 7300, 1001);
    on_answer(11, 1, FIRST, 7300, 1002);
    cr_assert_eq(ls_endpoint_ipv4(&search.servers[0].endpoint), htonl(FIRST));
    on_answer(22, 1, LOOPBACK, 7300, 1251);
    on_answer(22, 1, SECOND, 7300, 1252);
    cr_assert_eq(ls_endpoint_ipv4(&search.servers[0].endpoint), htonl(FIRST));
    cr_assert_eq(search.server_count, 1);
    on_answer(22, 2, LOOPBACK, 7301, 1253);
    cr_assert_eq(search.server_count, 2);
    cr_assert_eq(search.servers[0].answer.server, 2);
}

/* Somebody else answers with a server's number. */
Test(discovery_search, an_answer_with_another_port_is_of_another_server)
{
    on_answer(11, 1, FIRST, 7300, 1002);
    on_answer(11, 1, SECOND, 7301, 1003);
    cr_assert_eq(search.server_count, 2);
    cr_assert_eq(search.servers[0].endpoint.port, 7300);
    cr_assert_eq(search.servers[1].endpoint.port, 7301);
}

Test(discovery_search, a_crowd_is_kept_up_to_the_room_there_is)
{
    for (uint32_t i = 0; i < LS_DISCOVERY_SERVERS_MAX + 9; i++) {
        on_answer(11, 1000 + i, FIRST + (i * 7) % 1000, 7300, 1005);
    }
    cr_assert_eq(search.server_count, LS_DISCOVERY_SERVERS_MAX);
    cr_assert_eq(search.ignored, 9);
    on_answer(22, 1000, FIRST, 7300, 1251);
    cr_assert_eq(search.ignored, 9);
    for (uint32_t i = 1; i < search.server_count; i++) {
        cr_assert_lt(ntohl(ls_endpoint_ipv4(&search.servers[i - 1].endpoint)),
                     ntohl(ls_endpoint_ipv4(&search.servers[i].endpoint)));
    }
}
