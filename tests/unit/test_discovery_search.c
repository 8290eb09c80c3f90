#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket_address.h"
#include "lockstep/protocol/discovery/discovery.h"

#include <criterion/criterion.h>
#include <string.h>

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
