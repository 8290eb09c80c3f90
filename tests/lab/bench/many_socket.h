/* Many socket: one UDP socket for many clients, each with a loopback address of its own (IPv4), so
 * that a server tells them apart by their addresses as it would on a network. Datagrams leave and
 * come in batches: a call of the system for many of them. Knows nothing of what they hold. Called
 * by light_crowd. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_MANY_SOCKET_H
#define LOCKSTEP_TESTS_LAB_BENCH_MANY_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_MANY_CLIENTS_MAX 65536u
#define BENCH_MANY_BATCH 64u
#define BENCH_MANY_BYTES_MAX 1280u

typedef struct bench_many_socket bench_many_socket;

typedef struct bench_many_datagram {
    uint32_t client; /* to which it came */
    uint8_t *bytes;  /* may be changed; good until the next receive */
    size_t size;
} bench_many_datagram;

/* Sends to this port of 127.0.0.1. NULL: there is no socket, or no memory. */
bench_many_socket *bench_many_socket_open(uint16_t server_port);
/* NULL is allowed. */
void bench_many_socket_close(bench_many_socket *socket);

/* Where the next datagram is written, BENCH_MANY_BYTES_MAX bytes; then it is sent, at the latest by
 * flush. */
uint8_t *bench_many_socket_next(bench_many_socket *socket);
void bench_many_socket_send(bench_many_socket *socket, uint32_t client, size_t size);
void bench_many_socket_flush(bench_many_socket *socket);

/* Gives the datagrams that have come, at most BENCH_MANY_BATCH; fewer: nothing is left. Never
 * waits.
 */
uint32_t bench_many_socket_receive(bench_many_socket *socket,
                                   bench_many_datagram out[BENCH_MANY_BATCH]);

#endif
