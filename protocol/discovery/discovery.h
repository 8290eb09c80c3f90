/* Discovery: the two datagrams by which servers are found on a local network (PROTOCOL.md, Finding
 * servers): how they are written and read, and how often a server answers. Bytes and times come in
 * as arguments; knows no socket. */
#ifndef LOCKSTEP_PROTOCOL_DISCOVERY_DISCOVERY_H
#define LOCKSTEP_PROTOCOL_DISCOVERY_DISCOVERY_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* UDP, for queries. */
#define LS_DISCOVERY_PORT 7299u

/* Of a query exactly, of an answer at most: an answer is never larger than its query. */
#define LS_DISCOVERY_BYTES 256u

#define LS_DISCOVERY_COUNT_MAX 65535u

typedef enum ls_discovery_state {
    LS_DISCOVERY_WAITING, /* a match waits for players */
    LS_DISCOVERY_RUNNING,
    LS_DISCOVERY_ENDING,
    LS_DISCOVERY_STATE_COUNT,
} ls_discovery_state;

/* Of several matches the sums, and the highest tick. */
typedef struct ls_discovery_answer {
    uint64_t nonce;    /* of the query */
    uint64_t server;   /* the same in all answers of one run of a server, else another one */
    uint16_t port;     /* where clients connect */
    uint16_t protocol; /* version */
    char simulation[LS_NAME_BYTES_MAX];
    uint32_t version; /* of the simulation */
    uint32_t state;   /* ls_discovery_state */
    uint32_t tick;
    uint32_t matches; /* 1 .. LS_DISCOVERY_COUNT_MAX; of those below each is 0 .. COUNT_MAX */
    uint32_t players;
    uint32_t seats;
    uint32_t spectators;
    uint32_t spectators_max;
} ls_discovery_answer;

/* "waiting", "running", "ending". */
const char *ls_discovery_state_name(uint32_t state);

void ls_discovery_write_query(uint8_t bytes[LS_DISCOVERY_BYTES], uint64_t nonce);
bool ls_discovery_read_query(const uint8_t *bytes, size_t size, uint64_t *nonce);

/* Returns the answer's size. */
size_t ls_discovery_write_answer(uint8_t bytes[LS_DISCOVERY_BYTES],
                                 const ls_discovery_answer *answer);
/* `answer` stays untouched when it is none. Texts become printable. */
bool ls_discovery_read_answer(const uint8_t *bytes, size_t size, ls_discovery_answer *answer);

/* Answers that a server may give: 32 at once, and 64 a second. Starts all zero. */
typedef struct ls_discovery_budget {
    uint64_t spent_until_ns;
} ls_discovery_budget;

bool ls_discovery_budget_spend(ls_discovery_budget *budget, uint64_t now_ns);

/* ---- one client's look for servers: which queries it has sent, and which servers have answered
 * them, each once ---- */

#define LS_DISCOVERY_QUERIES_MAX 8u
#define LS_DISCOVERY_SERVERS_MAX 128u

typedef struct ls_found_server {
    ls_discovery_answer answer; /* the newest */
    ls_endpoint endpoint;       /* where it is reached, by its port */
    uint64_t rtt_ns;            /* the shortest round trip of a query and its answer */
} ls_found_server;

typedef struct ls_discovery_search {
    uint64_t nonces[LS_DISCOVERY_QUERIES_MAX];
    uint64_t sent_ns[LS_DISCOVERY_QUERIES_MAX];
    uint32_t query_count;
    ls_found_server servers[LS_DISCOVERY_SERVERS_MAX]; /* by address, then port */
    uint32_t server_count;
    uint64_t ignored; /* datagrams that are no answers to these queries, or beyond the room */
} ls_discovery_search;

/* Writes the next of up to LS_DISCOVERY_QUERIES_MAX queries. The nonce is random: an answer
 * proves that its sender has seen the query. */
void ls_discovery_search_query(ls_discovery_search *search, uint64_t nonce, uint64_t now_ns,
                               uint8_t bytes[LS_DISCOVERY_BYTES]);

/* A datagram has come. A server that is reached by several addresses is kept with its first one,
 * but one of another machine's network goes before the loopback, which nobody else can use. */
void ls_discovery_search_receive(ls_discovery_search *search, const uint8_t *bytes, size_t size,
                                 const ls_endpoint *from, uint64_t now_ns);

LS_C_END

#endif
