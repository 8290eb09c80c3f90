/* Crowd: many clients on real sockets in one process, as children of the benchmark: each plays a
 * match, or sends one packet of a given size a tick to a server that knows no matches. A client
 * wakes once a tick, when its input is due, so that hundreds of them leave the server its share of
 * the machine. Called by section_net and section_watch. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_CROWD_H
#define LOCKSTEP_TESTS_LAB_BENCH_CROWD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_crowd {
    uint16_t port;         /* of the server on 127.0.0.1 */
    uint32_t first;        /* number of the first client, for its seed and its time in the tick */
    uint32_t clients;      /* in this process */
    uint32_t total;        /* in all processes */
    uint32_t rate_hz;      /* of frames, or of packets */
    uint32_t packet_bytes; /* payload; 0: matches are played */
    bool is_spectator;     /* they are rather watched */
    bool is_eager;         /* takes packets in every frame, and on the server's core */
    uint64_t pause_ns;     /* between two connecting; 0: all at once */
} bench_crowd;

/* An bench_child_work: plays until the process is ended. `user` is an bench_crowd. */
void bench_crowd_play(const void *user, int pipe);

#endif
