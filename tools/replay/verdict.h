/* Verdict: the outcome of verifying one journal, and reports of many of them: lines, JSON, and
 * JUnit for those who run this as a test. Called by batch. */
#ifndef LOCKSTEP_TOOLS_REPLAY_VERDICT_H
#define LOCKSTEP_TOOLS_REPLAY_VERDICT_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/common/program/json.h"

typedef enum replay_verdict_kind {
    REPLAY_RIGHT,
    REPLAY_DIFFERS,    /* simulated here, a state or the inputs are not those of the journal */
    REPLAY_UNVERIFIED, /* the file, the simulation or the process failed */
} replay_verdict_kind;

typedef struct replay_verdict {
    const char *path; /* borrowed */
    replay_verdict_kind kind;
    char status[32]; /* "DESYNCED", as lockstep-replay verify gives it */
    ls_text why;     /* empty when it is right */
    uint64_t ticks;
    uint64_t state_hashes;
    uint64_t took_ns;
} replay_verdict;

/* Of all of them: 0, 3 when one differs, else 1. */
ls_exit_code replay_verdicts_exit(const replay_verdict *verdicts, uint32_t count);

/* "12 journals: 10 are right, 1 differs, 1 could not be verified". */
void replay_verdicts_sum(const replay_verdict *verdicts, uint32_t count, ls_text *out);

void replay_verdicts_json(const replay_verdict *verdicts, uint32_t count, ls_json *json);

/* "-" is standard output. IO with the reason. */
ls_status replay_verdicts_junit(const replay_verdict *verdicts, uint32_t count, uint64_t took_ns,
                                const char *path, ls_text *why);

#endif
