/* Play: plays the match of one seed from its scenario to its end and says whether every invariant
 * held. Uses the same memory for one match after another. Reads no clock. Called by faultsim and
 * by tests. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_PLAY_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_PLAY_H

#include "lockstep/tests/lab/faultsim/check_bounds.h"
#include "lockstep/tests/lab/faultsim/match_check.h"
#include "lockstep/tests/lab/faultsim/scenario.h"

/* Sums over matches. */
typedef struct faultsim_play_totals {
    uint64_t matches;
    uint64_t ticks; /* closed by the servers */
    uint64_t packets;
    uint64_t hashes_compared;
    uint64_t inputs_on_time;
    uint64_t inputs_late;
    uint64_t inputs_substituted;
    uint64_t packets_rejected;
    uint64_t desyncs;
    uint64_t players_left;
    uint64_t joins;   /* players and spectators let into a running match, those who come back too */
    uint64_t watched; /* spectators that stayed to the end */
    check_resumes resumes;
    uint64_t disk_failures;
    uint64_t shares[CHECK_BOUND_COUNT]; /* the most that one peer used, in thousandths; no sums */
    uint64_t faults[LS_CLASS_COUNT];    /* packets, moments or clients that it happened to */
} faultsim_play_totals;

typedef struct faultsim_play_outcome {
    bool is_sound;
    check_invariant broken;
    ls_text fault;   /* "I3 at tick 212 (3.841000 s): ..." */
    uint64_t digest; /* of all that happened: equal for equal runs */
} faultsim_play_outcome;

typedef struct ls_play ls_play;

/* NULL when memory is out. */
ls_play *faultsim_play_create(const faultsim_scenario_options *options);
void faultsim_play_destroy(ls_play *play);

/* Each line of what happens goes to `log`, NULL for none. Adds to `totals`. */
faultsim_play_outcome faultsim_play_seed(ls_play *play, uint64_t seed,
                                         void (*log)(void *user, const char *line), void *log_user,
                                         faultsim_play_totals *totals);

void faultsim_play_totals_add(faultsim_play_totals *sum, const faultsim_play_totals *part);

#endif
