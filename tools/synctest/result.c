#include "lockstep/tools/synctest/result.h"

#include "lockstep/common/program/html.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/signals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

static void add_word(ls_json *object, const char *key, const char *text)
{
    ls_json_text(object, key, text[0] != '\0' ? text : NULL);
}

static double seconds_of(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void add_outcome(ls_json *json, const synctest_finding *finding,
                        const synctest_evidence *evidence)
{
    const synctest_outcome *outcome = &finding->outcome;
    ls_text where = {""};
    ls_text cause = {""};
    char signal[32] = "";
    synctest_finding_describe(finding, evidence, &where, &cause);
    if (outcome->signal != 0) {
        synctest_signal_name(outcome->signal, signal, sizeof signal);
    }
    ls_json_number(json, "variant", finding->variant);
    ls_json_number(json, "tick", outcome->tick);
    add_word(json, "pass", outcome->pass);
    add_word(json, "field", outcome->field);
    add_word(json, "expected", outcome->expected);
    add_word(json, "found", outcome->found);
    ls_json_number(json, "elements", (double)outcome->elements);
    add_word(json, "signal", signal);
    add_word(json, "last_words", finding->words);
    add_word(json, "class", synctest_finding_class(finding, evidence));
    add_word(json, "cause", cause.bytes);
    add_word(json, "text", where.bytes);
    add_word(json, "same_as",
             finding->lead ? synctest_perturbation_of(finding->lead->perturbation)->name : "");
    ls_json_number(json, "played", outcome->repeats.played);
    ls_json_number(json, "differing", outcome->repeats.differing);
}

static void add_finding(ls_json *json, const synctest_finding *finding,
                        const synctest_evidence *evidence)
{
    ls_json_text(json, "name", synctest_perturbation_of(finding->perturbation)->name);
    ls_json_text(json, "result", synctest_finding_word(finding));
    ls_json_number(json, "hashes_compared", (double)finding->hashes_compared);
    ls_json_number(json, "seconds", seconds_of(finding->took_ns));
    if (finding->outcome.kind == SYNCTEST_OUTCOME_SKIPPED) {
        add_word(json, "reason", finding->outcome.text.bytes);
    } else if (synctest_finding_is_bad(finding) || finding->is_warning) {
        add_outcome(json, finding, evidence);
    }
}

/* Variables outside the state that a pass was seen to write to. */
static void add_writes(ls_json *array, const synctest_result *result)
{
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const synctest_static_writes *writes = &result->findings[i].static_writes;
        for (uint32_t k = 0; k < writes->count; k++) {
            const synctest_static_write *write = &writes->list[k];
            char name[SYNCTEST_LINT_NAME_BYTES_MAX] = "";
            synctest_lint_variable_at(result->match->sim, write->address, name, sizeof name);
            ls_json *json = ls_json_append(array);
            add_word(json, "variable", name);
            add_word(json, "pass",
                     write->pass < LS_PASSES_MAX ? result->facts.pass_names[write->pass] : "");
            ls_json_number(json, "tick", write->tick);
        }
    }
}

static void add_item(ls_json *json, const synctest_lint_item *item)
{
    static const char *const kinds[] = {"call",    "instruction", "static", "schema",
                                        "library", "flag",        "type"};
    ls_json_text(json, "severity", item->is_error ? "error" : "warning");
    ls_json_text(json, "kind", kinds[item->kind]);
    ls_json_text(json, "name", item->name);
    add_word(json, "function", item->place);
    add_word(json, "library", item->library);
    ls_json_number(json, "count", (double)item->count);
    ls_json_text(json, "topic", item->topic);
    ls_json_text(json, "why", item->why);
    ls_json_text(json, "instead", item->instead);
}

static void add_lint(ls_json *json, const synctest_lint_report *report)
{
    ls_json *lint = ls_json_object(json, "lint");
    ls_json_number(lint, "errors", report->errors);
    ls_json_number(lint, "warnings", report->warnings);
    ls_json_number(lint, "left_out", report->left_out);
    ls_json_bool(lint, "is_code_read", report->is_code_read);
    ls_json_number(lint, "libraries_read", (double)report->libraries_read);
    ls_json_number(lint, "functions_read", (double)report->functions_read);
    ls_json *items = ls_json_array(lint, "items");
    for (uint32_t i = 0; i < report->count; i++) {
        add_item(ls_json_append(items), &report->items[i]);
    }
}

static void add_tapped(ls_json *json, const synctest_tapped *tapped)
{
    ls_text words = {""};
    if (tapped->times == 0) {
        ls_json_null(json, "taps");
        return;
    }
    ls_json *taps = ls_json_object(json, "taps");
    synctest_tapped_describe(tapped, &words);
    ls_json_number(taps, "times", tapped->times);
    ls_json_bool(taps, "is_whole", tapped->is_whole);
    ls_json_number(taps, "byte", tapped->byte);
    ls_json_number(taps, "bits", tapped->bits);
    ls_json_text(taps, "what", words.bytes);
}

static void add_simulation(ls_json *json, const synctest_result *result)
{
    add_word(json, "sim", result->facts.name);
    ls_json_text(json, "file", result->match->sim);
    ls_json_decimal(json, "seed", result->match->seed);
    ls_json_number(json, "ticks", result->match->ticks);
    ls_json_number(json, "tick_rate_hz", result->facts.tick_rate_hz);
    ls_json_number(json, "players", result->facts.players);
    ls_json_number(json, "state_bytes", (double)result->facts.state_bytes);
    ls_json_number(json, "inputs_played", (double)result->facts.inputs_played);
    add_tapped(json, &result->facts.tapped);
}

static void add_result(ls_json *json, const void *of)
{
    const synctest_result *result = of;
    ls_json_text(json, "program", "lockstep-synctest");
    ls_json_text(json, "status", result->status);
    add_simulation(json, result);
    ls_json_number(json, "hashes_compared", (double)result->hashes_compared);
    ls_json_number(json, "failed", result->failed);
    if (result->has_lint || result->lint.count > 0) {
        add_lint(json, &result->lint);
    } else {
        ls_json_null(json, "lint");
    }
    ls_json *reference = ls_json_object(json, "reference");
    ls_json_text(reference, "result", synctest_finding_word(&result->reference));
    ls_json_number(reference, "seconds", seconds_of(result->reference.took_ns));
    if (result->has_reference && synctest_finding_is_bad(&result->reference)) {
        add_outcome(reference, &result->reference, &result->evidence);
    }
    add_writes(ls_json_array(json, "static_writes"), result);
    ls_json *perturbations = ls_json_array(json, "perturbations");
    for (uint32_t i = 0; i < result->finding_count; i++) {
        add_finding(ls_json_append(perturbations), &result->findings[i], &result->evidence);
    }
}

ls_status synctest_result_write_json(const synctest_result *result, const char *path, ls_text *why)
{
    return ls_json_save(add_result, result, path, why);
}

/* ---- JUnit ---- */

static void begin_case(ls_html *xml, const char *class, const char *name, uint64_t took_ns)
{
    ls_text text = {""};
    ls_html_begin(xml, "testcase");
    ls_text_set(&text, "lockstep-synctest.%s", class);
    ls_html_attribute(xml, "classname", text.bytes);
    ls_html_attribute(xml, "name", name);
    ls_text_set(&text, "%" PRIu64 ".%03u", took_ns / 1000000000u,
                (unsigned)(took_ns / 1000000u % 1000u));
    ls_html_attribute(xml, "time", text.bytes);
}

static void write_failure(ls_html *xml, const char *type, const char *message, const char *details)
{
    ls_html_begin(xml, "failure");
    ls_html_attribute(xml, "type", type);
    ls_html_attribute(xml, "message", message);
    ls_html_text(xml, details);
    ls_html_end(xml);
}

static void write_finding(ls_html *xml, const char *class, const char *name,
                          const synctest_finding *finding, const synctest_evidence *evidence)
{
    begin_case(xml, class, name, finding->took_ns);
    if (finding->outcome.kind == SYNCTEST_OUTCOME_SKIPPED) {
        ls_html_begin(xml, "skipped");
        ls_html_attribute(xml, "message", finding->outcome.text.bytes);
        ls_html_end(xml);
    } else if (synctest_finding_is_bad(finding)) {
        ls_text where = {""};
        ls_text cause = {""};
        synctest_finding_describe(finding, evidence, &where, &cause);
        write_failure(xml, synctest_finding_word(finding), where.bytes, cause.bytes);
    }
    ls_html_end(xml);
}

static void write_lint(ls_html *xml, const char *class, const synctest_lint_report *report)
{
    begin_case(xml, class, "lint", 0);
    for (uint32_t i = 0; i < report->count; i++) {
        const synctest_lint_item *item = &report->items[i];
        if (item->is_error) {
            ls_text message = {""};
            ls_text_set(&message, "%s: %s", item->name, item->why);
            write_failure(xml, item->topic, message.bytes, item->instead);
        }
    }
    ls_html_end(xml);
}

static void write_suite(FILE *stream, const void *content)
{
    const synctest_result *result = content;
    const char *class = result->facts.name[0] != '\0' ? result->facts.name : "simulation";
    bool has_lint = result->has_lint || result->lint.count > 0;
    bool is_reference_bad = result->has_reference && synctest_finding_is_bad(&result->reference);
    uint32_t skipped = 0;
    for (uint32_t i = 0; i < result->finding_count; i++) {
        skipped += result->findings[i].outcome.kind == SYNCTEST_OUTCOME_SKIPPED;
    }
    ls_html xml = ls_xml_document(stream);
    ls_html_begin(&xml, "testsuite");
    ls_html_attribute(&xml, "name", class);
    ls_html_number_attribute(&xml, "tests",
                             result->finding_count + has_lint + result->has_reference);
    ls_html_number_attribute(&xml, "failures",
                             result->failed + (result->lint.errors > 0) + is_reference_bad);
    ls_html_number_attribute(&xml, "skipped", skipped);
    if (has_lint) {
        write_lint(&xml, class, &result->lint);
    }
    if (result->has_reference) {
        write_finding(&xml, class, "reference", &result->reference, &result->evidence);
    }
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const synctest_finding *finding = &result->findings[i];
        write_finding(&xml, class, synctest_perturbation_of(finding->perturbation)->name, finding,
                      &result->evidence);
    }
    ls_html_end(&xml);
    fputc('\n', stream);
}

ls_status synctest_result_write_junit(const synctest_result *result, const char *path, ls_text *why)
{
    return ls_output_write_by(path, "summary", write_suite, result, why);
}

/* ---- results ---- */

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
    const char *name = ls_crash_signal_name(signal_number);
    if (name) {
        snprintf(text, capacity, "%s", name);
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
    const synctest_finding *named = finding->lead ? finding->lead : finding;
    synctest_diagnosis_cause(named->perturbation, &named->outcome, evidence, cause);
}

const char *synctest_finding_class(const synctest_finding *finding,
                                   const synctest_evidence *evidence)
{
    const synctest_finding *named = finding->lead ? finding->lead : finding;
    return synctest_diagnosis_class(named->perturbation, &named->outcome, evidence);
}

/* ---- findings that are one ---- */

/* A process that is started in another environment has other addresses as well. */
static bool moves_addresses(synctest_perturbation_id id)
{
    return id == SYNCTEST_PERTURBATION_CPU || id == SYNCTEST_PERTURBATION_ENVIRONMENT;
}

static bool is_same_place(const synctest_outcome *a, const synctest_outcome *b)
{
    return strcmp(a->pass, b->pass) == 0 && strcmp(a->field, b->field) == 0;
}

/* Two builds are compared for their own sake: what `against` finds is never another's. */
static bool is_shown_by(const synctest_finding *finding, const synctest_finding *other)
{
    const synctest_outcome *a = &finding->outcome, *b = &other->outcome;
    if (a->kind != SYNCTEST_OUTCOME_DIFFERS || b->kind != SYNCTEST_OUTCOME_DIFFERS ||
        finding->is_warning || other->is_warning ||
        synctest_perturbation_rank(other->perturbation) >=
            synctest_perturbation_rank(finding->perturbation)) {
        return false;
    }
    if (synctest_diagnosis_is_race(a) || synctest_diagnosis_is_race(b)) {
        return synctest_diagnosis_is_race(a) && synctest_diagnosis_is_race(b);
    }
    bool is_same_tick = finding->perturbation != SYNCTEST_PERTURBATION_AGAINST &&
                        a->tick == b->tick && a->is_initial == b->is_initial;
    bool is_moved = moves_addresses(finding->perturbation) &&
                    other->perturbation == SYNCTEST_PERTURBATION_ADDRESSES && is_same_place(a, b);
    return is_same_tick && (a->found_hash == b->found_hash || is_moved);
}

void synctest_result_merge(synctest_result *result)
{
    for (uint32_t i = 0; i < result->finding_count; i++) {
        synctest_finding *finding = &result->findings[i];
        for (uint32_t k = 0; k < result->finding_count; k++) {
            const synctest_finding *other = &result->findings[k];
            bool is_better =
                is_shown_by(finding, other) &&
                (!finding->lead || synctest_perturbation_rank(other->perturbation) <
                                       synctest_perturbation_rank(finding->lead->perturbation));
            finding->lead = is_better ? other : finding->lead;
        }
    }
}
