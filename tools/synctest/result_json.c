#include "lockstep/common/program/output.h"
#include "lockstep/tools/synctest/result.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_word(cJSON *object, const char *key, const char *text)
{
    cJSON_AddItemToObject(object, key,
                          text[0] != '\0' ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static double seconds_of(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void add_outcome(cJSON *json, const ls_finding *finding, const ls_evidence *evidence)
{
    const ls_outcome *outcome = &finding->outcome;
    ls_text where = {""};
    ls_text cause = {""};
    char signal[32] = "";
    ls_finding_describe(finding, evidence, &where, &cause);
    if (outcome->signal != 0) {
        ls_signal_name(outcome->signal, signal, sizeof signal);
    }
    cJSON_AddNumberToObject(json, "variant", finding->variant);
    cJSON_AddNumberToObject(json, "tick", outcome->tick);
    add_word(json, "pass", outcome->pass);
    add_word(json, "field", outcome->field);
    add_word(json, "expected", outcome->expected);
    add_word(json, "found", outcome->found);
    cJSON_AddNumberToObject(json, "elements", (double)outcome->elements);
    add_word(json, "signal", signal);
    add_word(json, "last_words", finding->words);
    add_word(json, "class", ls_diagnosis_class(finding->world, outcome, evidence));
    add_word(json, "cause", cause.bytes);
    add_word(json, "text", where.bytes);
}

static cJSON *finding_json(const ls_finding *finding, const ls_evidence *evidence)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", ls_world_of(finding->world)->name);
    cJSON_AddStringToObject(json, "result", ls_finding_word(finding));
    cJSON_AddNumberToObject(json, "roots_compared", (double)finding->roots_compared);
    cJSON_AddNumberToObject(json, "seconds", seconds_of(finding->took_ns));
    if (finding->outcome.kind == LS_OUTCOME_SKIPPED) {
        add_word(json, "reason", finding->outcome.text.bytes);
    } else if (ls_finding_is_bad(finding)) {
        add_outcome(json, finding, evidence);
    }
    return json;
}

/* Variables outside the state that a pass was seen to write to. */
static cJSON *writes_json(const ls_synctest_result *result)
{
    cJSON *array = cJSON_CreateArray();
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const ls_static_writes *writes = &result->findings[i].static_writes;
        for (uint32_t k = 0; k < writes->count; k++) {
            const ls_static_write *write = &writes->list[k];
            char name[LS_LINT_NAME_BYTES_MAX] = "";
            ls_lint_variable_at(result->match->sim, write->address, name, sizeof name);
            cJSON *json = cJSON_CreateObject();
            add_word(json, "variable", name);
            add_word(json, "pass",
                     write->pass < LS_PASSES_MAX ? result->facts.pass_names[write->pass] : "");
            cJSON_AddNumberToObject(json, "tick", write->tick);
            cJSON_AddItemToArray(array, json);
        }
    }
    return array;
}

static cJSON *item_json(const ls_lint_item *item)
{
    static const char *const kinds[] = {"call", "instruction", "static", "schema"};
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "severity", item->is_error ? "error" : "warning");
    cJSON_AddStringToObject(json, "kind", kinds[item->kind]);
    cJSON_AddStringToObject(json, "name", item->name);
    add_word(json, "function", item->place);
    cJSON_AddNumberToObject(json, "count", (double)item->count);
    cJSON_AddStringToObject(json, "topic", item->topic);
    cJSON_AddStringToObject(json, "why", item->why);
    cJSON_AddStringToObject(json, "instead", item->instead);
    return json;
}

static void add_lint(cJSON *json, const ls_lint_report *report)
{
    cJSON *lint = cJSON_AddObjectToObject(json, "lint");
    cJSON_AddNumberToObject(lint, "errors", report->errors);
    cJSON_AddNumberToObject(lint, "warnings", report->warnings);
    cJSON_AddNumberToObject(lint, "left_out", report->left_out);
    cJSON_AddBoolToObject(lint, "is_code_read", report->is_code_read);
    cJSON_AddNumberToObject(lint, "functions_read", (double)report->functions_read);
    cJSON *items = cJSON_AddArrayToObject(lint, "items");
    for (uint32_t i = 0; i < report->count; i++) {
        cJSON_AddItemToArray(items, item_json(&report->items[i]));
    }
}

static void add_simulation(cJSON *json, const ls_synctest_result *result)
{
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, result->match->seed);
    add_word(json, "sim", result->facts.name);
    cJSON_AddStringToObject(json, "file", result->match->sim);
    cJSON_AddStringToObject(json, "seed", seed);
    cJSON_AddNumberToObject(json, "ticks", result->match->ticks);
    cJSON_AddNumberToObject(json, "tick_rate_hz", result->facts.tick_rate_hz);
    cJSON_AddNumberToObject(json, "players", result->facts.players);
    cJSON_AddNumberToObject(json, "state_bytes", (double)result->facts.state_bytes);
    cJSON_AddNumberToObject(json, "inputs_played", (double)result->facts.inputs_played);
}

static cJSON *result_json(const ls_synctest_result *result)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "program", "lockstep-synctest");
    cJSON_AddStringToObject(json, "status", result->status);
    add_simulation(json, result);
    cJSON_AddNumberToObject(json, "roots_compared", (double)result->roots_compared);
    cJSON_AddNumberToObject(json, "failed", result->failed);
    if (result->has_lint || result->lint.count > 0) {
        add_lint(json, &result->lint);
    } else {
        cJSON_AddNullToObject(json, "lint");
    }
    cJSON *reference = cJSON_AddObjectToObject(json, "reference");
    cJSON_AddStringToObject(reference, "result", ls_finding_word(&result->reference));
    cJSON_AddNumberToObject(reference, "seconds", seconds_of(result->reference.took_ns));
    if (result->has_reference && ls_finding_is_bad(&result->reference)) {
        add_outcome(reference, &result->reference, &result->evidence);
    }
    cJSON_AddItemToObject(json, "static_writes", writes_json(result));
    cJSON *worlds = cJSON_AddArrayToObject(json, "worlds");
    for (uint32_t i = 0; i < result->finding_count; i++) {
        cJSON_AddItemToArray(worlds, finding_json(&result->findings[i], &result->evidence));
    }
    return json;
}

ls_status ls_result_write_json(const ls_synctest_result *result, const char *path, ls_text *why)
{
    cJSON *json = result_json(result);
    char *text = cJSON_Print(json);
    cJSON_Delete(json);
    if (!text) {
        ls_text_set(why, "%s", ls_status_text(LS_NO_MEMORY));
        return LS_NO_MEMORY;
    }
    ls_status status = ls_output_write(path, text, why);
    cJSON_free(text);
    return status;
}
