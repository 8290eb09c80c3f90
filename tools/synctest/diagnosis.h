/* Diagnosis: the likely cause of a finding, in plain words, from the perturbation that found it,
 * the other perturbations that found something too, and what the machine code shows. Pure: knows no
 * process. Called by reports. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_DIAGNOSIS_H
#define LOCKSTEP_TOOLS_SYNCTEST_DIAGNOSIS_H

#include "lockstep/tools/synctest/exchange.h"

typedef struct synctest_evidence {
    uint32_t
        failed; /* perturbations with a finding that is no race, 1 << synctest_perturbation_id */
    bool is_engine; /* the state is behind a callback: a save is what `save` gives */
    bool has_fused_multiply;
    bool uses_library_random;
    bool has_sanitizer_words;                 /* a process died with the words of a sanitizer */
    char written_variable[LS_NAME_BYTES_MAX]; /* outside the state, by a pass; "" for none */
    bool is_written_thread_local;
    char writing_pass[LS_NAME_BYTES_MAX];
} synctest_evidence;

/* Whether the same run, played again, came out in different ways: then the perturbation that showed
 * it is not to blame. */
bool synctest_diagnosis_is_race(const synctest_outcome *outcome);

/* The kind of difference, in a word or three: "outside the saved state". */
const char *synctest_diagnosis_class(synctest_perturbation_id perturbation,
                                     const synctest_outcome *outcome,
                                     const synctest_evidence *evidence);

void synctest_diagnosis_cause(synctest_perturbation_id perturbation,
                              const synctest_outcome *outcome, const synctest_evidence *evidence,
                              ls_text *out);

#endif
