/* Fuzzes what comes to the ports of discovery. The search has sent the queries 1 to 4.
 *
 *   any number of: u8 address, u8 size, datagram
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <arpa/inet.h>
#include <string.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
