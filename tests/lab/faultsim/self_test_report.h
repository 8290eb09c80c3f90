/* Self-test report: the score of a self-test: lines for people, one JSON object for programs.
 * Only counts and prints. Called by self_test. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_SELF_TEST_REPORT_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_SELF_TEST_REPORT_H

#include "lockstep/common/base/histogram.h"
#include "lockstep/tests/lab/faultsim/self_test_match.h"

#include <stdio.h>

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
