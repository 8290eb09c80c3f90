/* Result: everything a run of lockstep-synctest found out, for the writers of reports. Filled by
 * synctest; changed by nobody afterwards. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_RESULT_H
#define LOCKSTEP_TOOLS_SYNCTEST_RESULT_H

#include "lockstep/tools/synctest/diagnosis.h"
#include "lockstep/tools/synctest/lint.h"
#include "lockstep/tools/synctest/runner.h"

typedef struct synctest_result {
    const synctest_match *match;
    synctest_facts facts;
    bool has_lint;
    synctest_lint_report lint;
    bool has_reference; /* the reference run was tried */
    synctest_finding reference;
    uint32_t finding_count;
    synctest_finding findings[SYNCTEST_PERTURBATION_COUNT];
    synctest_evidence evidence;
    uint64_t hashes_compared;
    uint32_t failed;    /* findings that are neither the same nor skipped */
    const char *status; /* "clean", "differs", "nothing compared", "failed" */
} synctest_result;

/* Whether a finding says that something is wrong. */
bool synctest_finding_is_bad(const synctest_finding *finding);

/* "same", "differs", "warning", "fault", "crashed", "hung", "failed", "skipped". */
const char *synctest_finding_word(const synctest_finding *finding);

/* Gives each finding that shows the same as a more basic one, or a race as another one does, that
 * one as its lead. */
void synctest_result_merge(synctest_result *result);

/* The kind of difference, in a word or three. */
const char *synctest_finding_class(const synctest_finding *finding,
                                   const synctest_evidence *evidence);

/* One or two sentences for a person: where, what, and the likely cause. */
void synctest_finding_describe(const synctest_finding *finding, const synctest_evidence *evidence,
                               ls_text *where, ls_text *cause);

/* "SIGSEGV", or "signal 40". */
void synctest_signal_name(int signal_number, char *text, size_t capacity);

/* The whole result. `seconds` of each part are in it. IO with the
 * path in `why`. */
ls_status synctest_result_write_json(const synctest_result *result, const char *path, ls_text *why);
ls_status synctest_result_write_junit(const synctest_result *result, const char *path,
                                      ls_text *why);

#endif
