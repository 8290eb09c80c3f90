#include "lockstep/common/program/json.h"
#include "lockstep/tools/synctest/result.h"

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
    add_word(json, "class", synctest_diagnosis_class(finding->perturbation, outcome, evidence));
    add_word(json, "cause", cause.bytes);
    add_word(json, "text", where.bytes);
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
    static const char *const kinds[] = {"call",   "instruction", "static",
                                        "schema", "library",     "flag"};
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
