/* Result: everything a run of lockstep-synctest found out, for the writers of reports. Filled by
 * synctest; changed by nobody afterwards. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_RESULT_H
#define LOCKSTEP_TOOLS_SYNCTEST_RESULT_H

#include "lockstep/tools/synctest/diagnosis.h"
#include "lockstep/tools/synctest/lint.h"
#include "lockstep/tools/synctest/runner.h"

typedef struct ls_synctest_result {
    const ls_synctest_match *match;
    ls_facts facts;
    bool has_lint;
    ls_lint_report lint;
    bool has_reference; /* the reference run was tried */
    ls_finding reference;
    uint32_t finding_count;
    ls_finding findings[LS_WORLD_COUNT];
    ls_evidence evidence;
    uint64_t hashes_compared;
    uint32_t failed;    /* findings that are neither the same nor skipped */
    const char *status; /* "clean", "differs", "nothing compared", "failed" */
} ls_synctest_result;

/* Whether a finding says that something is wrong. */
bool ls_finding_is_bad(const ls_finding *finding);

/* "same", "differs", "fault", "crashed", "hung", "failed", "skipped". */
const char *ls_finding_word(const ls_finding *finding);

/* One or two sentences for a person: where, what, and the likely cause. */
void ls_finding_describe(const ls_finding *finding, const ls_evidence *evidence, ls_text *where,
                         ls_text *cause);

/* "SIGSEGV", or "signal 40". */
void ls_signal_name(int signal_number, char *text, size_t capacity);

/* result_json.c, result_junit.c: the whole result. `seconds` of each part are in it. IO with the
 * path in `why`. */
ls_status ls_result_write_json(const ls_synctest_result *result, const char *path, ls_text *why);
ls_status ls_result_write_junit(const ls_synctest_result *result, const char *path, ls_text *why);

#endif
