/* Net server: the two servers that are compared, each the whole work of a child process: ours, a
 * host of matches of the pad simulation, and a bare ENet relay. Each tells its port (uint16_t), and
 * what a window of its life cost once everybody has played for a while. Called by section_net. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_NET_SERVER_H
#define LOCKSTEP_TESTS_LAB_BENCH_NET_SERVER_H

#include "lockstep/tests/lab/bench/child.h"

#include <stdbool.h>
#include <stdint.h>

#define BENCH_NET_PLAYERS 4u /* in a match */

typedef struct bench_net_plan {
    uint32_t clients;    /* a multiple of `players` */
    uint32_t players;    /* in a match */
    uint32_t rate_hz;    /* of ticks */
    uint32_t down_bytes; /* payload of the relay's packets */
    uint64_t warm_ns;    /* from when the last client plays */
    uint64_t window_ns;
    bool is_arena; /* our host plays the arena, as every client can, and not the pad simulation */
    bool is_light; /* our host's players are a light crowd */
    bool tells_begin; /* tells 0 (uint16_t) when the window begins */
} bench_net_plan;

static inline void bench_net_send_begin(const bench_net_plan *plan, int pipe)
{
    const uint16_t nothing = 0;
    if (plan->tells_begin) {
        bench_child_send(pipe, &nothing, sizeof nothing);
    }
}

/* Counted over one window. */
typedef struct bench_net_window {
    uint64_t processor_ns;
    uint64_t client_ticks; /* ticks times clients */
    uint64_t packets_up;   /* datagrams received */
    uint64_t packets_down;
    uint64_t bytes_up; /* with every header; not counted by the relay */
    uint64_t bytes_down;
    uint64_t inputs_substituted;
    bool is_sound; /* all still play, states were compared and none differs */
} bench_net_window;

/* An bench_child_work each; `user` is an bench_net_plan. */
void bench_net_host_serve(const void *user, int pipe);
void bench_net_relay_serve(const void *user, int pipe);

/* A client of the bare ENet relay, with nothing around ENet either: it sends a packet of zeros a
 * tick and drops what comes. Owns its host until the process ends. */
typedef struct bench_plain_client bench_plain_client;

/* Starts to connect to 127.0.0.1; NULL when there is no memory or no socket. */
bench_plain_client *bench_plain_client_connect(uint16_t port);

/* Takes in what has come, and sends a packet of so many zeros once it is connected. */
void bench_plain_client_turn(bench_plain_client *client, uint32_t packet_bytes);

#endif
