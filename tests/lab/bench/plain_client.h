/* Plain client: a client of the bare ENet relay, with nothing around ENet either. It sends a packet
 * of zeros a tick and drops what comes. Owns its host until the process ends. Called by crowd, in
 * the benchmark's children. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_PLAIN_CLIENT_H
#define LOCKSTEP_TESTS_LAB_BENCH_PLAIN_CLIENT_H

#include <stdint.h>

typedef struct bench_plain_client bench_plain_client;

/* Starts to connect to 127.0.0.1; NULL when there is no memory or no socket. */
bench_plain_client *bench_plain_client_connect(uint16_t port);

/* Takes in what has come, and sends a packet of so many zeros once it is connected. */
void bench_plain_client_turn(bench_plain_client *client, uint32_t packet_bytes);

#endif
