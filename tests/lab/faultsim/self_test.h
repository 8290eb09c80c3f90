/* Self-test: whether the detector can be believed. Flips bit after bit of the state of running
 * matches and asks that each is caught, at its tick, with its element and both values; and plays
 * matches in which nothing is flipped, in which nothing may be found. In virtual time, with the
 * live investigation. Called by the main of faultsim. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_SELF_TEST_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_SELF_TEST_H

#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/common/simulation/simulation.h"

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

#endif
