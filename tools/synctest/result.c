#define _GNU_SOURCE
#include "lockstep/tools/synctest/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool synctest_finding_is_bad(const synctest_finding *finding)
{
    return finding->outcome.kind != SYNCTEST_OUTCOME_SAME &&
           finding->outcome.kind != SYNCTEST_OUTCOME_SKIPPED && !finding->is_warning;
}

const char *synctest_finding_word(const synctest_finding *finding)
{
    static const char *const words[] = {
        [SYNCTEST_OUTCOME_NONE] = "failed",     [SYNCTEST_OUTCOME_SAME] = "same",
        [SYNCTEST_OUTCOME_DIFFERS] = "differs", [SYNCTEST_OUTCOME_FAULT] = "fault",
        [SYNCTEST_OUTCOME_FAILED] = "failed",   [SYNCTEST_OUTCOME_CRASHED] = "crashed",
        [SYNCTEST_OUTCOME_HUNG] = "hung",       [SYNCTEST_OUTCOME_SKIPPED] = "skipped",
    };
    uint32_t kind = finding->outcome.kind;
    if (finding->is_warning) {
        return "warning";
    }
    return kind < sizeof words / sizeof words[0] ? words[kind] : "failed"; /* from a plug-in */
}

void synctest_signal_name(int signal_number, char *text, size_t capacity)
{
    const char *name = sigabbrev_np(signal_number);
    if (name) {
        snprintf(text, capacity, "SIG%s", name);
    } else {
        snprintf(text, capacity, "signal %d", signal_number);
    }
}

static void describe_values(const synctest_outcome *outcome, ls_text *where)
{
    if (outcome->field[0] == '\0') {
        return;
    }
    ls_text_add(where, ": %s", outcome->field);
    if (outcome->found[0] != '\0') {
        ls_text_add(where, " is %s", outcome->found);
    }
    if (outcome->expected[0] != '\0') {
        ls_text_add(where, ", in the reference %s", outcome->expected);
    }
    if (outcome->elements > 1) {
        ls_text_add(where, " (and %" PRIu64 " more)", outcome->elements - 1);
    }
}

static void describe_death(const synctest_finding *finding, ls_text *where)
{
    char name[32];
    const synctest_outcome *outcome = &finding->outcome;
    bool is_signal = outcome->signal != 0;
    synctest_signal_name(outcome->signal, name, sizeof name);
    if (outcome->text.bytes[0] != '\0') {
        ls_text_add(where, " of %s", outcome->text.bytes);
    }
    ls_text_add(where, ": %s",
                outcome->kind == SYNCTEST_OUTCOME_HUNG ? "no progress"
                : is_signal                            ? name
                                                       : "it ended the process itself");
    if (finding->words[0] != '\0') {
        ls_text_add(where, ", saying \"%s\"", finding->words);
    }
}

void synctest_finding_describe(const synctest_finding *finding, const synctest_evidence *evidence,
                               ls_text *where, ls_text *cause)
{
    const synctest_outcome *outcome = &finding->outcome;
    ls_text_set(cause, "%s", "");
    if (outcome->kind == SYNCTEST_OUTCOME_FAILED || outcome->kind == SYNCTEST_OUTCOME_SKIPPED) {
        ls_text_set(where, "%s", outcome->text.bytes);
        return;
    }
    ls_text_set(where, "tick %" PRIu32, outcome->tick);
    if (outcome->pass[0] != '\0') {
        ls_text_add(where, ", %s", outcome->pass);
    }
    describe_values(outcome, where);
    if (outcome->kind == SYNCTEST_OUTCOME_CRASHED || outcome->kind == SYNCTEST_OUTCOME_HUNG) {
        describe_death(finding, where);
    } else if (outcome->text.bytes[0] != '\0') {
        ls_text_add(where, "; %s", outcome->text.bytes);
    }
    synctest_diagnosis_cause(finding->perturbation, outcome, evidence, cause);
}
