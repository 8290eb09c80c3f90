/* Runner: plays a simulation in worlds, each in processes of their own, and says what came of it.
 * Owns the tape of the reference run. Must never load the simulation itself: a plug-in that crashes
 * or hangs takes a world with it, not the program. Called by synctest. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_RUNNER_H
#define LOCKSTEP_TOOLS_SYNCTEST_RUNNER_H

#include "lockstep/tools/synctest/exchange.h"

typedef struct ls_runner {
    ls_synctest_match match;
    const char *against; /* the other build's file, or NULL; borrowed */
    uint32_t patience_ms;
    ls_facts facts; /* of the simulation, once recorded */
    int tape;
    int saves;
} ls_runner;

/* What came of one world, or of the reference run. */
typedef struct ls_finding {
    ls_world_id world;
    uint32_t variant;
    ls_outcome outcome;
    uint64_t hashes_compared; /* in all its variants */
    uint64_t took_ns;
    ls_static_writes static_writes; /* of the checked world */
    char words[256]; /* the last line that a process wrote before it died; often empty */
} ls_finding;

/* IO. The match is copied. */
ls_status ls_runner_open(ls_runner *runner, const ls_synctest_match *match, const char *against,
                         uint32_t patience_ms);
void ls_runner_close(ls_runner *runner);

/* Plays and records the reference run. The outcome is SAME when there is something to compare with.
 * IO when no process can be started. */
ls_status ls_runner_record(ls_runner *runner, ls_finding *out);

/* Plays a world against the recorded run, variant after variant until one differs; looks for pass
 * and field of a difference. May be called from several threads at a time. */
ls_status ls_runner_play(const ls_runner *runner, ls_world_id world, ls_finding *out);

#endif
