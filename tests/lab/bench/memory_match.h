/* Memory match: a virtual match that is measured. Counts the time spent inside the two cores and
 * nothing else: the clock stands while the network and the driver are at work. Every player holds a
 * pad of four bytes of which one bit flips with a chance of 1/8 a tick, or is a bot of the
 * simulation that is named. Called by the benchmarks alone. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_MEMORY_MATCH_H
#define LOCKSTEP_TESTS_LAB_BENCH_MEMORY_MATCH_H

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/histogram.h"
#include "lockstep/server/match/match.h"
#include "lockstep/tests/lab/virtual/virtual_match.h"

typedef struct bench_memory_match_config {
    uint32_t players;
    uint32_t still_players;  /* of them, whose pads never change */
    uint32_t state_bytes;    /* of the pad simulation */
    uint32_t changed_words;  /* of it in each step, far apart, besides the pads */
    uint64_t delay_ns;       /* one way */
    uint32_t loss_ppm;       /* each way */
    uint32_t predict_ticks;  /* of every client */
    uint32_t steps_per_tick; /* how often the network is looked at */
    bool watches_latency;    /* costs the caches something between the timed parts */
    uint64_t seed;

    const ls_simulation *simulation; /* with its defaults; NULL: the pad simulation */
    uint32_t late_players;           /* the last so many of `players` come when they are let in */
    uint32_t hash_interval_ticks;    /* 0: every tick */
    ls_send_rate send_rate;
    uint32_t input_delay_ticks;
    uint32_t tick_rate_hz;      /* 0: the simulation's own */
    bool is_noise;              /* all of the pad simulation's state */
    uint32_t late_mbit_per_s;   /* to those who come late, who get all of it; 0: no limit */
    bool finds_no_causes;       /* no copies of the state */
    bool has_no_spectators;     /* nor room for any, which would be copies too */
    bool counts_processor_time; /* for ticks so long that two system calls are nothing */

    /* Called when the match has done what was due, outside of the timed part, and with what it says
     * has happened; NULL: no call. */
    void (*after_server)(void *user, ls_match *match, uint64_t now_ns);
    void (*on_event)(void *user, const ls_match_event *event);
    void *user;

    /* In place of what reads the clock, which server_ns and sessions_ns need; NULL: that. */
    void (*on_work)(void *user, virtual_work work);
} bench_memory_match_config;

/* Sums since the start; a window's figures are differences of two of them. */
typedef struct bench_memory_match_totals {
    ls_tick ticks;        /* closed by the server */
    uint64_t server_ns;   /* spent in ls_match_*, clock's cost taken off */
    uint64_t sessions_ns; /* spent in ls_session_*, all clients together */
    uint64_t bytes_up;    /* sent by all clients, every header counted */
    uint64_t bytes_down;  /* sent by the server */
    uint64_t packets_up;
    uint64_t packets_down;
    uint64_t hashes_compared;
    uint64_t inputs_substituted;
    uint64_t steps; /* of all clients, repeated ones too */
    uint64_t rollbacks;
} bench_memory_match_totals;

typedef struct ls_memory_match ls_memory_match;

ls_memory_match *bench_memory_match_create(const bench_memory_match_config *config);
void bench_memory_match_destroy(ls_memory_match *match);

/* Plays on for so many ticks of the server. */
void bench_memory_match_run(ls_memory_match *match, uint32_t ticks);

/* The next of the late players connects. */
void bench_memory_match_let_in(ls_memory_match *match);

/* The newest player plays. */
bool bench_memory_match_all_play(const ls_memory_match *match);

uint64_t bench_memory_match_now_ns(const ls_memory_match *match);
ls_match *bench_memory_match_host(ls_memory_match *match);

bench_memory_match_totals bench_memory_match_totals_of(const ls_memory_match *match);

/* From making an input to receiving its closed tick, of the ticks confirmed since the last call of
 * bench_memory_match_forget_latency, on those clients that were there then; empty unless the config
 * asks for it. */
typedef struct bench_memory_match_latency {
    ls_histogram own; /* on the client that made the input */
    ls_histogram all; /* on the last of all clients */
} bench_memory_match_latency;

const bench_memory_match_latency *bench_memory_match_latency_of(const ls_memory_match *match);
void bench_memory_match_forget_latency(ls_memory_match *match);

/* DESYNCED (also when nothing has been compared), or why a client has left; OK while all play. */
ls_status bench_memory_match_check(const ls_memory_match *match, ls_text *why);

#endif
