/* Self-test: whether the detector can be believed. Flips bit after bit of the state of running
 * matches and asks that each is caught, at its tick, with its element and both values; and plays
 * matches in which nothing is flipped, in which nothing may be found. In virtual time, with the
 * live investigation. Called by the main of faultsim. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_SELF_TEST_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_SELF_TEST_H

#include "lockstep/common/base/histogram.h"
#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tests/lab/faultsim/match_memory.h"

#include <stdio.h>

/* ---- Self-test match: plays one match of the self-test, and says what came of each flip in it.
 * Uses the same memory for one match after another. Reads no clock ---- */

enum {
    FAULTSIM_SELF_TEST_PLAYERS = 4, /* each flips one bit in a match, at a tick of its own */
    FAULTSIM_SELF_TEST_CLEAN_TICKS = 2000,
    FAULTSIM_SELF_TEST_RTT_MS = 67,
};

/* The outcome of one flip: all false for one that was never made. */
typedef struct faultsim_self_test_flip {
    bool is_made; /* in this very bit, and the state hash depends on it */
    bool is_padding;
    bool is_caught;
    bool is_tick_right;
    bool is_field_right; /* this element and no other is named */
    bool are_values_right;
    bool is_class_right; /* a one-off of the client */
    uint64_t seed;
    uint64_t caught_ns;    /* from the flip to DESYNC ... */
    uint64_t named_ns;     /* ... and to its full cause */
    uint32_t caught_ticks; /* likewise, in ticks that the server closed meanwhile */
    uint32_t named_ticks;
    ls_difference_text planted; /* a: before, b: after */
    ls_difference_text found;
} faultsim_self_test_flip;

/* Sums over matches. */
typedef struct faultsim_self_test_counts {
    uint64_t matches;
    uint64_t clean_ticks;  /* of which every player's hash was compared */
    uint64_t false_alarms; /* desyncs that nobody planted */
    uint64_t unsound;      /* matches in which an invariant broke */
} faultsim_self_test_counts;

/* Small, so that every bit can be flipped. Bytes of its state. */
ls_sim_config faultsim_self_test_sim_config(const ls_simulation *simulation, uint64_t seed);
size_t faultsim_self_test_state_bytes(const ls_simulation *simulation);

/* Player i flips bit first_bit + i * every, as long as it is below bit_end; what came of it is
 * written to out[i]. */
void faultsim_self_test_play_flips(ls_match_memory *memory, const ls_simulation *simulation,
                                   uint64_t seed, size_t first_bit, uint32_t every, size_t bit_end,
                                   faultsim_self_test_flip *out, faultsim_self_test_counts *counts);

/* Nothing is flipped; every second match loses packets. */
void faultsim_self_test_play_clean(ls_match_memory *memory, const ls_simulation *simulation,
                                   uint64_t seed, faultsim_self_test_counts *counts);

/* ---- the self-test ---- */

typedef struct faultsim_self_test_config {
    const ls_simulation *simulation; /* NULL: the test simulation and arena, one after the other */
    uint32_t every;                  /* flips every so many-th bit position; 1: all of them */
    uint32_t clean_ticks;            /* of each simulation */
    uint32_t jobs;                   /* 1 .. FAULTSIM_JOBS_MAX */
    const char *json_path;           /* NULL: none; "-": standard output */
} faultsim_self_test_config;

/* DESYNC when a flip was missed or misnamed, or anything else was called a desync; INTERNAL when
 * nothing was flipped or compared. */
ls_exit_code faultsim_self_test_run(const faultsim_self_test_config *config, ls_console *console);

/* ---- Self-test report: the score of a self-test: lines for people, one JSON object for
 * programs. Only counts and prints ---- */

/* A latency: of all flips that were caught, or named. */
typedef struct faultsim_self_test_latency {
    ls_histogram ns;
    uint32_t ticks_max;
} faultsim_self_test_latency;

typedef struct faultsim_self_test_score {
    const char *simulation;
    uint64_t positions; /* bits of the state */
    uint32_t every;
    uint64_t flips; /* to be made */
    uint64_t made;
    uint64_t padding; /* of those to be made */
    uint64_t caught;
    uint64_t tick_right;
    uint64_t field_right;
    uint64_t values_right;
    uint64_t class_right;
    faultsim_self_test_latency caught_after;
    faultsim_self_test_latency named_after;
    uint64_t clean_ticks_wanted;
    faultsim_self_test_counts counts;
    uint64_t deaths; /* of processes */
    uint32_t jobs;
    uint64_t elapsed_ns;
} faultsim_self_test_score;

/* Adds up what came of each flip. */
void faultsim_self_test_score_flips(faultsim_self_test_score *score,
                                    const faultsim_self_test_flip *flips);

/* Every flip caught and named rightly, and nothing else. */
bool faultsim_self_test_is_perfect(const faultsim_self_test_score *score);

/* Something was flipped, and enough ticks without flips were compared. */
bool faultsim_self_test_is_conclusive(const faultsim_self_test_score *score);

/* The first flips that went wrong; and the score. */
void faultsim_self_test_print_misses(FILE *file, const faultsim_self_test_score *score,
                                     const faultsim_self_test_flip *flips);
void faultsim_self_test_print(FILE *file, const faultsim_self_test_score *score);

/* IO, with the path and the reason in `why`. */
ls_status faultsim_self_test_write(const char *path, const faultsim_self_test_score *scores,
                                   uint32_t count, ls_text *why);

#endif
