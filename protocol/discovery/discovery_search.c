#include "lockstep/protocol/discovery/discovery_search.h"

#include "lockstep/common/base/assert.h"

#include <string.h>

void ls_discovery_search_query(ls_discovery_search *search, uint64_t nonce, uint64_t now_ns,
                               uint8_t bytes[LS_DISCOVERY_BYTES])
{
    LS_ASSERT(search->query_count < LS_DISCOVERY_QUERIES_MAX);
    search->nonces[search->query_count] = nonce;
    search->sent_ns[search->query_count] = now_ns;
    search->query_count++;
    ls_discovery_write_query(bytes, nonce);
}

static uint64_t place_of(const ls_endpoint *endpoint)
{
    uint64_t place = 0;
    for (uint32_t i = LS_ENDPOINT_ADDRESS_BYTES - 4; i < LS_ENDPOINT_ADDRESS_BYTES; i++) {
        place = place << 8 | endpoint->address[i]; /* of IPv4 */
    }
    return place << 16 | endpoint->port;
}

/* Of the query that this answers; UINT32_MAX: of none. */
static uint32_t query_of(const ls_discovery_search *search, uint64_t nonce)
{
    for (uint32_t i = 0; i < search->query_count; i++) {
        if (search->nonces[i] == nonce) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* A server has one port. */
static bool is_same(const ls_discovery_answer *a, const ls_discovery_answer *b)
{
    return a->server == b->server && a->port == b->port;
}

static uint32_t index_of(const ls_discovery_search *search, const ls_discovery_answer *answer)
{
    uint32_t i = 0;
    while (i < search->server_count && !is_same(&search->servers[i].answer, answer)) {
        i++;
    }
    return i;
}

static void remove_at(ls_discovery_search *search, uint32_t index)
{
    search->server_count--;
    memmove(&search->servers[index], &search->servers[index + 1],
            (search->server_count - index) * sizeof search->servers[0]);
}

static void insert(ls_discovery_search *search, const ls_found_server *server)
{
    uint32_t at = search->server_count;
    while (at > 0 && place_of(&search->servers[at - 1].endpoint) > place_of(&server->endpoint)) {
        search->servers[at] = search->servers[at - 1];
        at--;
    }
    search->servers[at] = *server;
    search->server_count++;
}

void ls_discovery_search_receive(ls_discovery_search *search, const uint8_t *bytes, size_t size,
                                 const ls_endpoint *from, uint64_t now_ns)
{
    ls_found_server server = {.endpoint = *from};
    bool is_answer = ls_discovery_read_answer(bytes, size, &server.answer);
    uint32_t query = is_answer ? query_of(search, server.answer.nonce) : UINT32_MAX;
    uint32_t index = is_answer ? index_of(search, &server.answer) : 0;
    if (query == UINT32_MAX || now_ns < search->sent_ns[query] ||
        index == LS_DISCOVERY_SERVERS_MAX) {
        search->ignored++;
        return;
    }
    server.endpoint.port = server.answer.port;
    server.rtt_ns = now_ns - search->sent_ns[query];
    if (index < search->server_count) {
        const ls_found_server *known = &search->servers[index];
        server.rtt_ns = LS_MIN(server.rtt_ns, known->rtt_ns);
        if (ls_endpoint_is_loopback(from) || !ls_endpoint_is_loopback(&known->endpoint)) {
            server.endpoint = known->endpoint;
        }
        remove_at(search, index);
    }
    insert(search, &server);
}
