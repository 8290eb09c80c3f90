#include "lockstep/tools/synctest/result.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

bool synctest_finding_is_bad(const synctest_finding *finding)
{
    return finding->outcome.kind != SYNCTEST_OUTCOME_SAME &&
           finding->outcome.kind != SYNCTEST_OUTCOME_SKIPPED;
}

const char *synctest_finding_word(const synctest_finding *finding)
{
    switch ((synctest_outcome_kind)finding->outcome.kind) {
    case SYNCTEST_OUTCOME_SAME:
        return "same";
    case SYNCTEST_OUTCOME_DIFFERS:
        return "differs";
    case SYNCTEST_OUTCOME_FAULT:
        return "fault";
    case SYNCTEST_OUTCOME_CRASHED:
        return "crashed";
    case SYNCTEST_OUTCOME_HUNG:
        return "hung";
    case SYNCTEST_OUTCOME_SKIPPED:
        return "skipped";
    default:
        return "failed";
    }
}

void synctest_signal_name(int signal_number, char *text, size_t capacity)
{
    static const struct {
        int number;
        const char *name;
    } known[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
                 {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"}, {SIGTRAP, "SIGTRAP"},
                 {SIGKILL, "SIGKILL"}, {SIGSYS, "SIGSYS"}};
    snprintf(text, capacity, "signal %d", signal_number);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].number == signal_number) {
            snprintf(text, capacity, "%s", known[i].name);
        }
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
