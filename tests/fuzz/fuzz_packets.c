/* Fuzzes small packets: those of ENet, of a router that leads ports, and of the search for servers.
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/protocol/enet/enet_datagram.h"
#include "lockstep/protocol/portmap/pcp_packet.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <arpa/inet.h>
#include <string.h>

/* ==== datagram ==== */

/* Fuzzes the check of datagrams before ENet sees them.
 *
 *   u16 received  the newest reliable packet taken in order
 *   datagram      everything that is left
 */

FUZZ_TARGET(datagram)
{
    fuzz_input input = {bytes, size};
    uint16_t received = fuzz_take_u16(&input);
    ls_datagram_rejection rejection = ls_enet_datagram_check(input.bytes, input.size, received);
    LS_ASSERT(rejection >= LS_DATAGRAM_ACCEPTED && rejection < LS_DATAGRAM_REJECTION_COUNT);
    LS_ASSERT(strcmp(ls_datagram_rejection_name(rejection), "ACCEPTED") == 0 ||
              rejection != LS_DATAGRAM_ACCEPTED);
    if (rejection == LS_DATAGRAM_ACCEPTED) {
        /* The last command ends where the datagram does: a byte less cuts it short. */
        LS_ASSERT(ls_enet_datagram_check(input.bytes, input.size - 1, received) !=
                  LS_DATAGRAM_ACCEPTED);
    }
    return 0;
}

/* ==== pcp ==== */

/* Fuzzes what a router answers in PCP: any bytes. */

FUZZ_TARGET(pcp)
{
    static const ls_pcp_map map = {.own.port = 7300, .wanted = 7300, .lifetime_s = 3600};
    const ls_port_mapping untouched = {.inside = 9, .lifetime_s = 9};
    ls_port_mapping read = untouched;
    ls_text why = {{0}};
    ls_status status = ls_pcp_map_read(&map, bytes, size, &read, &why);
    LS_ASSERT(status == LS_OK || status == LS_REFUSED || status == LS_NOT_FOUND);
    if (status == LS_OK) {
        LS_ASSERT(size >= LS_PCP_MAP_BYTES && bytes[3] == 0);
        LS_ASSERT(read.inside == (bytes[40] << 8 | bytes[41]) && why.bytes[0] == '\0');
    } else {
        LS_ASSERT(memcmp(&read, &untouched, sizeof read) == 0 && why.bytes[0] != '\0');
    }
    return 0;
}

/* ==== discovery ==== */

/* Fuzzes what comes to the ports of discovery. The search has sent the queries 1 to 4.
 *
 *   any number of: u8 address, u8 size, datagram
 */

static void check_query(const uint8_t *bytes, size_t size)
{
    uint64_t nonce = 0;
    uint8_t again[LS_DISCOVERY_BYTES];
    if (ls_discovery_read_query(bytes, size, &nonce)) {
        ls_discovery_write_query(again, nonce);
        LS_ASSERT(size == sizeof again && memcmp(again, bytes, size) == 0);
    }
}

static bool check_answer(const uint8_t *bytes, size_t size)
{
    ls_discovery_answer answer;
    ls_discovery_answer read;
    uint8_t again[LS_DISCOVERY_BYTES];
    memset(&answer, 0xcc, sizeof answer);
    if (!ls_discovery_read_answer(bytes, size, &answer)) {
        return false;
    }
    for (const char *at = answer.simulation; *at; at++) {
        LS_ASSERT((unsigned char)*at >= ' ' && *at != 0x7f);
    }
    size_t written = ls_discovery_write_answer(again, &answer);
    LS_ASSERT(written <= size);
    LS_ASSERT(ls_discovery_read_answer(again, written, &read));
    LS_ASSERT(read.nonce == answer.nonce && read.spectators_max == answer.spectators_max);
    LS_ASSERT(strcmp(read.simulation, answer.simulation) == 0);
    return true;
}

static void check_servers(const ls_discovery_search *search)
{
    LS_ASSERT(search->server_count <= LS_DISCOVERY_SERVERS_MAX);
    for (uint32_t i = 0; i < search->server_count; i++) {
        LS_ASSERT(search->servers[i].endpoint.port == search->servers[i].answer.port);
        for (uint32_t other = 0; other < i; other++) {
            LS_ASSERT(search->servers[i].answer.server != search->servers[other].answer.server ||
                      search->servers[i].answer.port != search->servers[other].answer.port);
        }
    }
}

FUZZ_TARGET(discovery)
{
    static ls_discovery_search search;
    uint8_t query[LS_DISCOVERY_BYTES];
    fuzz_input input = {bytes, size};
    uint64_t answers = 0, taken = 0;
    memset(&search, 0, sizeof search);
    for (uint64_t nonce = 1; nonce <= 4; nonce++) {
        ls_discovery_search_query(&search, nonce, nonce, query);
    }
    while (input.size > 0) {
        uint32_t place = fuzz_take_u8(&input);
        size_t wanted = fuzz_take_u8(&input);
        size_t had = 0;
        /* 255 stands for a datagram as long as a query. */
        const uint8_t *datagram =
            fuzz_take_bytes(&input, wanted == 255 ? LS_DISCOVERY_BYTES : wanted, &had);
        const ls_endpoint from =
            ls_endpoint_from_ipv4(htonl(place % 2 ? 0x7f000001u : 0xc0000200u + place), 1);
        check_query(datagram, had);
        answers += check_answer(datagram, had);
        ls_discovery_search_receive(&search, datagram, had, &from, 100 + taken++);
        check_servers(&search);
    }
    LS_ASSERT(search.ignored <= taken && search.ignored >= taken - answers);
    return 0;
}
