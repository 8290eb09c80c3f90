/* Discovery search: one client's look for servers: which queries it has sent, and which servers
 * have answered them, each once. Times and bytes come in as arguments; knows no socket. Called by
 * the finder. */
#ifndef LOCKSTEP_PROTOCOL_DISCOVERY_DISCOVERY_SEARCH_H
#define LOCKSTEP_PROTOCOL_DISCOVERY_DISCOVERY_SEARCH_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/protocol/discovery/discovery.h"

LS_C_BEGIN

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
