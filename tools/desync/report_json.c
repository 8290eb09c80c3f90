#include "lockstep/common/program/json.h"
#include "lockstep/tools/desync/report.h"

/* Texts came with the bundle, from another machine. */
static void add_text(ls_json *json, const char *key, const char *text)
{
    char clean[4096];
    ls_name_copy(clean, sizeof clean, text);
    ls_json_text(json, key, clean);
}

static void add_hash(ls_json *json, const char *key, bool is_known, uint64_t state_hash)
{
    if (is_known) {
        ls_json_hash(json, key, state_hash);
    } else {
        ls_json_null(json, key);
    }
}

static void add_differences(ls_json *json, const explain_evidence *evidence)
{
    const ls_state_difference *found = &evidence->difference;
    ls_json_number(json, "elements", (double)found->elements);
    ls_json_number(json, "fields", found->fields);
    ls_json_bool(json, "is_lower_bound", found->is_lower_bound);
    ls_json *differences = ls_json_array(json, "differences");
    for (uint32_t i = 0; i < found->place_count; i++) {
        ls_difference_text text = ls_state_difference_text(
            &found->places[i], evidence->server_state, evidence->client_state);
        ls_json *item = ls_json_append(differences);
        add_text(item, "field", text.name);
        add_text(item, "server", text.a);
        add_text(item, "client", text.b);
    }
}

static void add_after_pass(ls_json *json, const explain_evidence *evidence)
{
    const ls_bundle_pass_places *after = &evidence->bundle->after_pass;
    if (after->count == 0 || after->pass >= evidence->bundle->pass_count) {
        ls_json_null(json, "after_pass");
        return;
    }
    ls_json *found = ls_json_object(json, "after_pass");
    add_text(found, "pass", evidence->bundle->passes[after->pass]);
    ls_json_number(found, "elements", (double)after->elements);
    ls_json_number(found, "fields", after->fields);
    ls_json_bool(found, "is_lower_bound", after->is_lower_bound);
    ls_json *differences = ls_json_array(found, "differences");
    for (uint32_t i = 0; i < after->count; i++) {
        ls_json *item = ls_json_append(differences);
        add_text(item, "field", after->places[i].name);
        add_text(item, "server", after->places[i].a);
        add_text(item, "client", after->places[i].b);
    }
}

static void add_passes(ls_json *json, const explain_evidence *evidence)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    bool is_known =
        evidence->differing_pass == LS_PASS_AT || evidence->differing_pass == LS_PASS_UNSTABLE;
    if (is_known && evidence->pass < bundle->pass_count) {
        add_text(json, "pass", bundle->passes[evidence->pass]);
    } else {
        ls_json_null(json, "pass");
    }
    ls_json *passes = ls_json_array(json, "passes");
    for (uint32_t i = 0; i < bundle->pass_count; i++) {
        ls_json *item = ls_json_append(passes);
        add_text(item, "name", bundle->passes[i]);
        for (explain_machine machine = 0; machine < EXPLAIN_MACHINE_COUNT; machine++) {
            const ls_pass_trace *trace = explain_evidence_passes(evidence, machine);
            add_hash(item, explain_machine_name(machine), i < trace->pass_count,
                     trace->state_hashes[i]);
        }
    }
}

static void add_inputs(ls_json *json, const explain_evidence *evidence)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    if (!explain_report_inputs(evidence, slots)) {
        ls_json_null(json, "inputs");
        return;
    }
    ls_json *inputs = ls_json_array(json, "inputs");
    for (uint32_t slot = 0; slot < evidence->bundle->config.players; slot++) {
        ls_json *item = ls_json_append(inputs);
        ls_json_number(item, "slot", slot);
        add_text(item, "events", explain_report_events_text(slots[slot].events));
        ls_json_bytes(item, "bytes", slots[slot].bytes, slots[slot].size);
    }
}

static void add_figures(ls_json *json, const ls_rerun_figures *figures)
{
    uint32_t known = figures->known;
    add_hash(json, "match", known & LS_RERUN_LIVE, figures->live);
    add_hash(json, "fresh", known & LS_RERUN_FRESH, figures->fresh);
    add_hash(json, "again", known & LS_RERUN_AGAIN, figures->again);
    add_hash(json, "reloaded", known & LS_RERUN_RELOADED, figures->reloaded);
    add_hash(json, "apart", known & LS_RERUN_APART, figures->apart);
    add_hash(json, "in_place", false, 0); /* a key of version 0.1.0 */
}

static void add_reruns(ls_json *json, const explain_evidence *evidence)
{
    ls_rerun_figures here = evidence->figures;
    here.known &= ~LS_RERUN_LIVE;
    ls_json *reruns = ls_json_object(json, "reruns");
    add_figures(ls_json_object(reruns, "server"), &evidence->bundle->server.figures);
    add_figures(ls_json_object(reruns, "client"), &evidence->bundle->client.figures);
    add_figures(ls_json_object(reruns, "here"), &here);
}

static void add_machines(ls_json *json, const explain_evidence *evidence)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    ls_json *machines = ls_json_array(json, "machines");
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        ls_json *row = ls_json_append(machines);
        add_text(row, "item", ls_fingerprint_item_name((ls_fingerprint_item)item));
        for (explain_machine machine = 0; machine < EXPLAIN_MACHINE_COUNT; machine++) {
            add_text(row, explain_machine_name(machine),
                     explain_evidence_print(evidence, machine)->items[item]);
        }
        ls_json_bool(row, "differs",
                     ls_build_fingerprint_differs(&bundle->server.print, &bundle->client.print,
                                                  (ls_fingerprint_item)item));
    }
}

/* From the inside out. */
static void add_levels(ls_json *json, const explain_code_level *levels, uint32_t count)
{
    ls_json *stack = ls_json_array(json, "stack");
    for (uint32_t i = 0; i < count; i++) {
        ls_json *item = ls_json_append(stack);
        add_text(item, "function", levels[i].function);
        add_text(item, "file", levels[i].file);
        ls_json_number(item, "line", levels[i].line);
        ls_json_bool(item, "is_inlined", levels[i].is_put_into_next);
    }
}

static void add_stack(ls_json *json, const explain_report *report, const explain_field_write *write)
{
    explain_code_level levels[EXPLAIN_LEVELS_MAX];
    uint32_t count = explain_report_levels(report, write, levels);
    add_levels(json, levels, count);
}

static void add_write(ls_json *json, const explain_report *report, const explain_field_write *write)
{
    explain_write_text text = explain_report_write_of(report, write);
    add_text(json, "pass", text.pass);
    add_text(json, "field", text.field);
    add_text(json, "before", text.before);
    add_text(json, "after", text.after);
    add_text(json, "by", text.by);
    add_stack(json, report, write);
}

static void add_trace(ls_json *json, const explain_report *report)
{
    const explain_evidence *evidence = report->evidence;
    if (!evidence->trace_name) {
        return;
    }
    add_text(json, "trace", evidence->trace_name);
    add_text(json, "not_traced", evidence->not_traced.bytes);
    ls_json_number(json, "write_count", (double)evidence->trace.count);
    ls_json *writes = ls_json_array(json, "writes");
    for (uint32_t i = 0; i < evidence->trace.list_count; i++) {
        add_write(ls_json_append(writes), report, &evidence->trace.writes[i]);
    }
}

static void add_listing(ls_json *json, const explain_listing *listing)
{
    ls_json *code = ls_json_array(json, "code");
    for (uint32_t i = 0; i < listing->count; i++) {
        const explain_instruction *instruction = &listing->list[i];
        ls_text text = {{0}};
        ls_text_set(&text, "%s %s", instruction->mnemonic, instruction->operands);
        ls_json *item = ls_json_append(code);
        ls_json_number(item, "offset", (double)(instruction->address - listing->function));
        ls_json_text(item, "instruction", text.bytes);
        ls_json_bool(item, "writes", instruction->is_wanted);
        ls_json_bool(item, "differs", instruction->differs);
    }
}

static void add_side(ls_json *pair, const char *key, const explain_report *report,
                     const explain_field_write *write, const explain_listing *listing)
{
    if (write) {
        ls_json *side = ls_json_object(pair, key);
        add_write(side, report, write);
        add_listing(side, listing);
    }
}

static void add_differing_write(ls_json *json, const explain_report *report)
{
    const explain_field_write *here = NULL, *other = NULL;
    if (!explain_evidence_differing_write(report->evidence, &here, &other)) {
        ls_json_null(json, "first_differing_write");
        return;
    }
    ls_json *pair = ls_json_object(json, "first_differing_write");
    explain_listing listings[2];
    explain_report_listings(report, here, other, listings);
    add_side(pair, "sim", report, here, &listings[0]);
    add_side(pair, "against", report, other, &listings[1]);
}

static void add_reads(ls_json *json, const explain_report *report, const explain_link *link)
{
    ls_json *reads = ls_json_array(json, "reads");
    for (uint32_t i = 0; i < link->read_count; i++) {
        explain_read_text text = explain_report_read_of(&link->reads[i]);
        ls_json *item = ls_json_append(reads);
        add_text(item, "field", text.field);
        add_text(item, "sim", text.here);
        if (report->chain->has_other) {
            add_text(item, "against", text.other);
        } else {
            ls_json_null(item, "against");
        }
        ls_json_bool(item, "differs", link->reads[i].differs);
    }
    ls_json_bool(json, "reads_inputs", link->reads_inputs);
    ls_json_bool(json, "reads_more", link->reads_more);
    ls_json_bool(json, "is_decided_by_reads", link->is_decided);
}

/* Of the field that was asked for, back to the first difference. */
static void add_chain(ls_json *json, const explain_report *report)
{
    const explain_chain *chain = report->chain;
    if (!chain->field) {
        return;
    }
    ls_json *origin = ls_json_object(json, "origin");
    add_text(origin, "field", chain->field);
    ls_json *links = ls_json_array(origin, "links");
    for (uint32_t i = 0; i < chain->count; i++) {
        const explain_link *link = &chain->links[i];
        ls_json *item = ls_json_append(links);
        if (link->has_here) {
            add_write(ls_json_object(item, "sim"), report, &link->here);
        }
        if (link->has_other) {
            add_write(ls_json_object(item, "against"), report, &link->other);
        }
        add_reads(item, report, link);
    }
    add_text(origin, "end", chain->end.bytes);
}

static void add_reproductions(ls_json *json, const explain_reproductions *reproductions)
{
    ls_text text;
    ls_json *runs = ls_json_array(json, "under_changes");
    for (uint32_t i = 0; i < reproductions->count; i++) {
        const explain_reproduction *run = &reproductions->runs[i];
        ls_json *item = ls_json_append(runs);
        ls_json_text(item, "change", run->word);
        ls_json_text(item, "agrees_with", explain_agreement_word(run->agreement));
        ls_json_number(item, "results", run->results);
        ls_json_number(item, "other_results", run->other_results);
        add_text(item, "why", run->why.bytes);
    }
    explain_reproductions_text(reproductions, &text);
    add_text(json, "under_changes_text", text.bytes);
    add_text(json, "memory", reproductions->memory.bytes);
}

/* The line at which the two sides part. */
static void add_line(ls_json *json, const explain_report *report)
{
    static const char *const words[] = {"", "builds", "cause", "suspect", "values"};
    const explain_line *found = report->line;
    const explain_stream_code *code = explain_line_code(found);
    const explain_code_level *level = explain_line_level(found);
    ls_text lines[EXPLAIN_LINE_TEXTS];
    add_text(json, "no_line", level ? "" : found->why.bytes);
    if (!code || !level) {
        ls_json_null(json, "line");
        return;
    }
    explain_field_write write = {.pass = code->write.pass, .place = found->place};
    explain_write_text text = explain_report_write_of(report, &write);
    ls_json *line = ls_json_object(json, "line");
    add_text(line, "file", level->file);
    ls_json_number(line, "line", level->line);
    add_text(line, "function", level->function);
    add_text(line, "source", found->source);
    add_text(line, "pass", text.pass);
    add_text(line, "field", text.field);
    add_text(line, "found_by", words[found->kind]);
    add_text(line, "change", found->change);
    add_text(line, "cause", explain_line_cause(found));
    uint32_t count = explain_line_text(found, report->evidence, lines);
    add_text(line, "values", lines[count - 1].bytes);
    add_levels(line, code->levels, code->level_count);
}

static void add_report(ls_json *json, const void *of)
{
    const explain_report *report = of;
    const explain_evidence *evidence = report->evidence;
    const ls_desync_bundle *bundle = evidence->bundle;
    bool is_run = evidence->agreement != EXPLAIN_AGREES_NOT_RUN;
    ls_json_text(json, "program", "lockstep-desync");
    add_text(json, "bundle", report->bundle_path);
    add_text(json, "sim", bundle->simulation);
    ls_json_decimal(json, "seed", bundle->config.seed);
    ls_json_number(json, "tick", bundle->tick);
    ls_json_number(json, "slot", bundle->slot);
    add_text(json, "player", bundle->player);
    ls_json_hash(json, "server_hash", bundle->server_hash);
    ls_json_hash(json, "client_hash", bundle->client_hash);
    add_text(json, "missing", evidence->missing.bytes);
    add_text(json, "class", ls_desync_class_word(bundle->verdict.kind));
    add_text(json, "culprit", ls_desync_culprit_word(bundle->verdict.culprit));
    add_text(json, "why", bundle->verdict.why.bytes);
    add_text(json, "next", explain_report_next(evidence));
    add_text(json, "agrees_with", explain_agreement_word(evidence->agreement));
    add_text(json, "not_run", is_run ? "" : evidence->not_run.bytes);
    add_line(json, report);
    add_after_pass(json, evidence);
    add_differences(json, evidence);
    add_passes(json, evidence);
    add_inputs(json, evidence);
    add_reruns(json, evidence);
    add_reproductions(json, report->reproductions);
    add_differing_write(json, report);
    add_machines(json, evidence);
    add_trace(json, report);
    add_chain(json, report);
}

ls_status explain_report_write_json(const explain_report *report, const char *path, ls_text *why)
{
    return ls_json_save(add_report, report, path, why);
}
