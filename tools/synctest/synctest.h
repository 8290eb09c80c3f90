/* Synctest: tests a simulation for determinism: the lint, then the reference run, then every
 * perturbation, a few at a time; prints a line for each and a report for each finding, and writes
 * the summaries. Called by the program's main. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_SYNCTEST_H
#define LOCKSTEP_TOOLS_SYNCTEST_SYNCTEST_H

#include "lockstep/common/program/console.h"
#include "lockstep/tools/synctest/exchange.h"

/* Ticks at most of a match whose length is open: as many as the reference run plays in 0.2 s. */
#define SYNCTEST_OPEN_TICKS_MAX 6000u

typedef struct synctest_config {
    synctest_match match;
    synctest_against against;
    uint32_t perturbations; /* bits */
    uint32_t insisted;      /* bits of those asked for by name: a warning is an error then */
    bool is_length_open;    /* more ticks than the match has are played when there is time */
    bool is_lint_wanted;    /* as a first step; a built-in has no file to look at */
    bool is_only_lint;      /* and nothing else */
    uint32_t patience_ms;
    uint32_t jobs;          /* perturbations at a time */
    const char *json_path;  /* or NULL */
    const char *junit_path; /* or NULL */
} synctest_config;

/* Clean when state hashes were compared and nothing was found; DESYNC when something was. */
ls_exit_code synctest_run(const synctest_config *config, ls_console *console);

#endif
