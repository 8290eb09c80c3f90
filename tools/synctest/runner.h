/* Runner: plays a simulation with each perturbation, in processes of their own, and says what came
 * of it. Owns the tape of the reference run. Must never load the simulation itself: a plug-in that
 * crashes or hangs takes its own process with it, not the program. Called by synctest. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_RUNNER_H
#define LOCKSTEP_TOOLS_SYNCTEST_RUNNER_H

#include "lockstep/tools/synctest/exchange.h"

typedef struct synctest_runner {
    synctest_match match;
    synctest_against against; /* borrowed */
    uint32_t patience_ms;
    synctest_facts facts; /* of the simulation, once recorded */
    int tape;
    int saves;
} synctest_runner;

/* The result of one perturbation, or of the reference run. */
typedef struct synctest_finding {
    synctest_perturbation_id perturbation;
    uint32_t variant;
    synctest_outcome outcome;
    uint64_t hashes_compared; /* in all its variants */
    uint64_t took_ns;
    uint64_t worked_ns;                   /* of the last process, without what it waited for */
    synctest_static_writes static_writes; /* of the perturbation that checks values */
    const struct synctest_finding *lead; /* another one, which shows the same and names the cause */
    bool is_warning; /* a difference that a healthy simulation may have as well */
    char words[256]; /* the last line that a process wrote before it died; often empty */
} synctest_finding;

/* IO. The match is copied. */
ls_status synctest_runner_open(synctest_runner *runner, const synctest_match *match,
                               synctest_against against, uint32_t patience_ms);
void synctest_runner_close(synctest_runner *runner);

/* Plays and records the reference run. The outcome is SAME when there is something to compare with.
 * IO when no process can be started. */
ls_status synctest_runner_record(synctest_runner *runner, synctest_finding *out);

/* Plays one perturbation against the recorded run, variant after variant until one differs; looks
 * for pass and field of a difference. May be called from several threads at a time. */
ls_status synctest_runner_play(const synctest_runner *runner, synctest_perturbation_id perturbation,
                               synctest_finding *out);

#endif
