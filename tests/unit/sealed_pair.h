/* Sealed pair: a sealed server and clients in memory, with addresses, and time as a number. Every
 * datagram is a value that a test may drop, repeat, alter or send from elsewhere. Included by the
 * tests of the sealed layer. */
#ifndef LOCKSTEP_TESTS_UNIT_SEALED_PAIR_H
#define LOCKSTEP_TESTS_UNIT_SEALED_PAIR_H

#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/protocol/sealed/sealed_server.h"

#include <criterion/criterion.h>
#include <string.h>

/* A time like that of a machine that has been up for a while. */
#define SEALED_START_NS (1000 * LS_NS_PER_SECOND)

typedef struct sealed_datagram {
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
    size_t size;
} sealed_datagram;

static inline ls_endpoint sealed_address(uint32_t host, uint16_t port)
{
    ls_endpoint endpoint = {.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10},
                            .port = port};
    endpoint.address[13] = (uint8_t)(host >> 16);
    endpoint.address[14] = (uint8_t)(host >> 8);
    endpoint.address[15] = (uint8_t)host;
    return endpoint;
}

static inline ls_sealed_server_config sealed_usual_config(void)
{
    ls_sealed_server_config config = {.connections_max = 8, .per_address_max = 4};
    cr_assert_eq(ls_cipher_init(), LS_OK);
    ls_key_pair_random(&config.identity);
    memset(config.secret, 0x5a, sizeof config.secret);
    return config;
}

static inline ls_sealed_server *sealed_server_with(const ls_sealed_server_config *config)
{
    ls_sealed_server *server;
    cr_assert_eq(ls_sealed_server_create(config, ls_allocator_heap(), &server), LS_OK);
    return server;
}

/* Knows the server's key, and no secret. */
static inline ls_sealed_client_config sealed_client_of(const ls_sealed_server_config *config)
{
    ls_sealed_client_config client = {.has_server_key = true};
    memcpy(client.server_key, config->identity.public_key, sizeof client.server_key);
    return client;
}

static inline ls_sealed_client *sealed_client_with(const ls_sealed_client_config *config,
                                                   uint64_t now_ns)
{
    ls_sealed_client *client;
    cr_assert_eq(ls_sealed_client_create(config, ls_allocator_heap(), &client), LS_OK);
    ls_sealed_client_start(client, now_ns);
    return client;
}

/* The datagram that the client sends now; there must be one. */
static inline sealed_datagram sealed_pop(ls_sealed_client *client, uint64_t now_ns)
{
    sealed_datagram datagram;
    datagram.size = ls_sealed_client_pop_due(client, now_ns, datagram.bytes);
    cr_assert_gt(datagram.size, 0, "nothing is due");
    return datagram;
}

/* The server gets a copy of the datagram; returns its answer, and what it says. */
static inline sealed_datagram sealed_to_server(ls_sealed_server *server, ls_endpoint from,
                                               sealed_datagram datagram, uint64_t now_ns,
                                               ls_sealed_received *out)
{
    sealed_datagram answer = {.size = 0};
    ls_sealed_server_receive(server, &from, datagram.bytes, datagram.size, now_ns, out);
    cr_assert_leq(out->answer_bytes, datagram.size, "an answer larger than its question");
    memcpy(answer.bytes, out->answer ? out->answer : answer.bytes, out->answer_bytes);
    answer.size = out->answer_bytes;
    return answer;
}

/* The client gets a copy; the content that `out` names is gone. */
static inline ls_sealed_client_received sealed_to_client(ls_sealed_client *client,
                                                         sealed_datagram datagram, uint64_t now_ns)
{
    ls_sealed_client_received out;
    ls_sealed_client_receive(client, datagram.bytes, datagram.size, now_ns, &out);
    return out;
}

static inline sealed_datagram sealed_by_client(ls_sealed_client *client, ls_sealed_content content,
                                               const void *bytes, size_t size)
{
    sealed_datagram datagram;
    memcpy(datagram.bytes + ls_sealed_client_header_size(client), bytes, size);
    datagram.size = ls_sealed_client_seal(client, content, datagram.bytes, size);
    return datagram;
}

static inline sealed_datagram sealed_by_server(ls_sealed_server *server, uint32_t index,
                                               const void *bytes, size_t size)
{
    sealed_datagram datagram;
    memcpy(datagram.bytes + LS_SEALED_SERVER_HEADER_BYTES, bytes, size);
    datagram.size = ls_sealed_server_seal(server, index, LS_SEALED_PACKET, datagram.bytes, size);
    return datagram;
}

/* REQUEST, CHALLENGE, CONFIRM and the answer to it, in no time. */
static inline sealed_datagram sealed_exchange(ls_sealed_server *server, ls_sealed_client *client,
                                              ls_endpoint from, uint64_t now_ns)
{
    ls_sealed_received received;
    sealed_datagram challenge =
        sealed_to_server(server, from, sealed_pop(client, now_ns), now_ns, &received);
    cr_assert_eq(sealed_to_client(client, challenge, now_ns).rejection, LS_SEALED_ACCEPTED);
    return sealed_to_server(server, from, sealed_pop(client, now_ns), now_ns, &received);
}

/* A whole exchange and the first packet; returns the connection's index. */
static inline uint32_t sealed_connect(ls_sealed_server *server, ls_sealed_client *client,
                                      ls_endpoint from, uint64_t now_ns)
{
    sealed_datagram accept = sealed_exchange(server, client, from, now_ns);
    cr_assert(sealed_to_client(client, accept, now_ns).is_opened);
    ls_sealed_received received;
    sealed_to_server(server, from, sealed_by_client(client, LS_SEALED_PACKET, "hello", 5), now_ns,
                     &received);
    cr_assert_eq(received.rejection, LS_SEALED_ACCEPTED);
    cr_assert(received.is_opened);
    return received.index;
}

#endif
