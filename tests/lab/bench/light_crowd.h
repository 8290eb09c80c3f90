/* Light crowd: as many players as a machine can pay for beside a server, in one process: each holds
 * a sealed connection of its own, plays a whole match on real sockets and hashes every
 * state, but none simulates. All rooms of a service begin alike, and all players follow one script:
 * so the state hashes of all rooms are those of one match, which is simulated once. A player whose
 * room strays from the script, since an input came too late, leaves and comes again. Called by
 * section_service and section_net. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_LIGHT_CROWD_H
#define LOCKSTEP_TESTS_LAB_BENCH_LIGHT_CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Shared by the crowd and who started it. */
typedef struct bench_light_figures {
    _Atomic uint32_t wanted;  /* players; may grow while they play */
    _Atomic uint32_t playing; /* now */
    _Atomic uint32_t strayed; /* times that a player's room left the script */
    _Atomic uint32_t lost;    /* times that a player lost its connection */
    _Atomic uint64_t turns; /* of players who play, one a tick: each sends the packet that is due */
    _Atomic uint64_t cpu_ns; /* of their process */
    _Atomic uint64_t ticks;  /* that players have had confirmed, with equal inputs */
} bench_light_figures;

typedef struct bench_light_crowd {
    uint16_t port;        /* of the server on 127.0.0.1 */
    uint32_t clients_max; /* the most that may be wanted */
    uint32_t rate_hz;     /* of ticks */
    bool plays_pad;       /* the pad simulation in place of the arena */
    bench_light_figures *figures;
} bench_light_crowd;

/* Zeroed; of the crowds that are started behind it. NULL: memory is out. */
bench_light_figures *bench_light_figures_create(void);
/* NULL is allowed. */
void bench_light_figures_destroy(bench_light_figures *figures);

/* A bench_child_work: plays until the process is ended. `user` is a bench_light_crowd. */
void bench_light_crowd_play(const void *user, int pipe);

#endif
