/* Faultsim: plays the matches of a range of seeds on several processes, watches them, and reports:
 * what broke, with seed, invariant and the last events, and the totals of all matches. A seed that
 * broke is played again with its log: it does the same. A process that dies is a broken invariant
 * of the seed it was playing. Called by the main and by tests. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_FAULTSIM_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_FAULTSIM_H

#include "lockstep/common/program/console.h"
#include "lockstep/tests/lab/faultsim/scenario.h"

enum {
    FAULTSIM_JOBS_MAX = 256
};

typedef struct faultsim_config {
    faultsim_scenario_options scenario;
    uint64_t first_seed;
    uint64_t last_seed;    /* included */
    uint32_t jobs;         /* 1 .. FAULTSIM_JOBS_MAX */
    bool is_replay;        /* of one seed, with all that happens in it */
    const char *json_path; /* NULL: none; "-": standard output */
    const char *again;     /* the options that play the same matches, for whoever wants one again */
} faultsim_config;

/* DESYNC when an invariant broke, INTERNAL when nothing was compared. */
ls_exit_code faultsim_run(const faultsim_config *config, ls_console *console);

#endif
