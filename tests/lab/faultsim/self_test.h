/* Self-test: whether the detector can be believed. Flips bit after bit of the state of running
 * matches and asks that each is caught, at its tick, with its element and both values; and plays
 * matches in which nothing is flipped, in which nothing may be found. In virtual time, with the
 * live investigation. Called by the main of faultsim. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_SELF_TEST_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_SELF_TEST_H

#include "lockstep/common/base/histogram.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/simulation/simulation.h"

/* Sums over matches. */
typedef struct faultsim_self_test_counts {
    uint64_t matches;
    uint64_t clean_ticks;  /* of which every player's hash was compared */
    uint64_t false_alarms; /* desyncs that nobody planted */
    uint64_t unsound;      /* matches in which an invariant broke */
} faultsim_self_test_counts;

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

/* IO, with the path and the reason in `why`. */
ls_status faultsim_self_test_write(const char *path, const faultsim_self_test_score *scores,
                                   uint32_t count, ls_text *why);

#endif
