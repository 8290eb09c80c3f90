/* Diagnosis: the likely cause of a finding, in plain words, from the world that found it, the other
 * worlds that found something too, and what the machine code shows. Pure: knows no process.
 * Called by reports. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_DIAGNOSIS_H
#define LOCKSTEP_TOOLS_SYNCTEST_DIAGNOSIS_H

#include "lockstep/tools/synctest/exchange.h"

typedef struct ls_evidence {
    uint32_t failed; /* worlds with a finding, 1 << ls_world_id */
    bool has_fused_multiply;
    bool uses_library_random;
    bool has_sanitizer_words;                 /* a process died with the words of a sanitizer */
    char written_variable[LS_NAME_BYTES_MAX]; /* outside the state, by a pass; "" for none */
    char writing_pass[LS_NAME_BYTES_MAX];
} ls_evidence;

/* What kind of difference it is, in a word or three: "outside the saved state". */
const char *ls_diagnosis_class(ls_world_id world, const ls_outcome *outcome,
                               const ls_evidence *evidence);

void ls_diagnosis_cause(ls_world_id world, const ls_outcome *outcome, const ls_evidence *evidence,
                        ls_text *out);

#endif
