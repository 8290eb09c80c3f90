/* Watch host: a server of one match of the pad simulation with its spectators, the whole work
 * of a child process. Tells its port (uint16_t), later that all of them are connected (uint16_t
 * again), and in the end what a window of its life cost once all of them watch, with what the
 * players' confirm latency was. Called by section_watch. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_WATCH_HOST_H
#define LOCKSTEP_TESTS_LAB_BENCH_WATCH_HOST_H

#include <stdbool.h>
#include <stdint.h>

#define BENCH_WATCH_PLAYERS 4u
#define BENCH_WATCH_RATE_HZ 60u

typedef struct bench_watch_plan {
    uint32_t spectators;
    uint32_t delay_ticks;
    bool is_late;       /* they come while the match runs; else all of them are there before it */
    uint64_t coming_ns; /* they come within so long */
    uint64_t window_ns;
} bench_watch_plan;

typedef struct bench_watch_window {
    uint64_t processor_ns;
    uint64_t lasted_ns;
    uint64_t bytes_down; /* to everybody, with every header */

    /* Of the whole match, of the player who had the worst. */
    uint32_t confirm_p50_us;
    uint32_t confirm_p99_us;
    double late_share;
    bool is_sound; /* all played and watched on, states were compared and none differs */
} bench_watch_window;

/* An bench_child_work; `user` is an bench_watch_plan. */
void bench_watch_host_serve(const void *user, int pipe);

#endif
