#include "lockstep/protocol/discovery/discovery.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/bit_stream.h"

#include <string.h>

/* "LSQ1" and "LSA1" as bytes: another digit is another layout. */
#define QUERY_MAGIC 0x3151534cu
#define ANSWER_MAGIC 0x3141534cu

#define ANSWER_PERIOD_NS (LS_NS_PER_SECOND / 64)
#define ANSWERS_AT_ONCE 32u

const char *ls_discovery_state_name(uint32_t state)
{
    static const char *const names[LS_DISCOVERY_STATE_COUNT] = {"waiting", "running", "ending"};
    return state < LS_DISCOVERY_STATE_COUNT ? names[state] : "unknown";
}

/* ---- query ---- */

static void query_fields(ls_bit_stream *stream, uint64_t *nonce)
{
    ls_bits_constant(stream, QUERY_MAGIC, 32);
    ls_bits_u64(stream, nonce, 64);
}

void ls_discovery_write_query(uint8_t bytes[LS_DISCOVERY_BYTES], uint64_t nonce)
{
    memset(bytes, 0, LS_DISCOVERY_BYTES);
    ls_bit_stream stream = ls_bit_writer(bytes, LS_DISCOVERY_BYTES);
    query_fields(&stream, &nonce);
    LS_ASSERT(!stream.is_failed);
}

bool ls_discovery_read_query(const uint8_t *bytes, size_t size, uint64_t *nonce)
{
    uint64_t value = 0;
    if (size != LS_DISCOVERY_BYTES) {
        return false;
    }
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    query_fields(&stream, &value);
    for (size_t i = ls_bits_size_bytes(&stream); i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    if (!stream.is_failed) {
        *nonce = value;
    }
    return !stream.is_failed;
}

/* ---- answer ---- */

static void u16_field(ls_bit_stream *stream, uint16_t *value)
{
    uint32_t wide = *value;
    ls_bits_u32(stream, &wide, 16);
    *value = (uint16_t)wide;
}

static void answer_fields(ls_bit_stream *stream, ls_discovery_answer *answer)
{
    ls_bits_constant(stream, ANSWER_MAGIC, 32);
    ls_bits_u64(stream, &answer->nonce, 64);
    ls_bits_u64(stream, &answer->server, 64);
    u16_field(stream, &answer->port);
    u16_field(stream, &answer->protocol);
    ls_bits_text(stream, answer->simulation, sizeof answer->simulation);
    ls_bits_u32(stream, &answer->version, 32);
    ls_bits_uvar(stream, &answer->state, 0, LS_DISCOVERY_STATE_COUNT - 1);
    ls_bits_u32(stream, &answer->tick, 32);
    ls_bits_uvar(stream, &answer->matches, 1, LS_DISCOVERY_COUNT_MAX);
    ls_bits_uvar(stream, &answer->players, 0, LS_DISCOVERY_COUNT_MAX);
    ls_bits_uvar(stream, &answer->seats, 0, LS_DISCOVERY_COUNT_MAX);
    ls_bits_uvar(stream, &answer->spectators, 0, LS_DISCOVERY_COUNT_MAX);
    ls_bits_uvar(stream, &answer->spectators_max, 0, LS_DISCOVERY_COUNT_MAX);
}

size_t ls_discovery_write_answer(uint8_t bytes[LS_DISCOVERY_BYTES],
                                 const ls_discovery_answer *answer)
{
    ls_discovery_answer copy = *answer;
    ls_bit_stream stream = ls_bit_writer(bytes, LS_DISCOVERY_BYTES);
    answer_fields(&stream, &copy);
    LS_ASSERT(!stream.is_failed);
    return ls_bits_size_bytes(&stream);
}

bool ls_discovery_read_answer(const uint8_t *bytes, size_t size, ls_discovery_answer *answer)
{
    ls_discovery_answer read = {0};
    if (size > LS_DISCOVERY_BYTES) {
        return false;
    }
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    answer_fields(&stream, &read);
    if (!ls_bits_is_complete(&stream) || read.port == 0) {
        return false;
    }
    *answer = read;
    return true;
}

/* ---- budget ---- */

/* Each answer takes a period of time; some of it may lie ahead. */
bool ls_discovery_budget_spend(ls_discovery_budget *budget, uint64_t now_ns)
{
    uint64_t from_ns = LS_MAX(budget->spent_until_ns, now_ns);
    if (from_ns - now_ns > (ANSWERS_AT_ONCE - 1) * ANSWER_PERIOD_NS) {
        return false;
    }
    budget->spent_until_ns = from_ns + ANSWER_PERIOD_NS;
    return true;
}

/* ---- one client's look for servers: which queries it has sent, and which servers have answered
 * them, each once ---- */

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
