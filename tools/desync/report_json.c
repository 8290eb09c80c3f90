#include "lockstep/tools/desync/report.h"

#include <inttypes.h>

/* Texts are printable ASCII: two characters need help. */
static void write_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', file);
        }
        fputc(*text >= ' ' && *text <= '~' ? *text : '?', file);
    }
    fputc('"', file);
}

static void write_key(FILE *file, const char *key)
{
    fprintf(file, ",\n  \"%s\": ", key);
}

static void write_text(FILE *file, const char *key, const char *text)
{
    write_key(file, key);
    write_string(file, text);
}

static void write_root(FILE *file, const char *key, bool is_known, uint64_t root)
{
    fprintf(file, "\"%s\": ", key);
    if (is_known) {
        fprintf(file, "\"%016" PRIx64 "\"", root);
    } else {
        fprintf(file, "null");
    }
}

static void write_differences(FILE *file, const ls_evidence *evidence)
{
    const ls_state_difference *found = &evidence->difference;
    write_key(file, "elements");
    fprintf(file, "%" PRIu64, found->elements);
    write_key(file, "fields");
    fprintf(file, "%" PRIu32, found->fields);
    write_key(file, "is_lower_bound");
    fprintf(file, "%s", found->is_lower_bound ? "true" : "false");
    write_key(file, "differences");
    fprintf(file, "[");
    for (uint32_t i = 0; i < found->place_count; i++) {
        ls_difference_text text = ls_state_difference_text(
            &found->places[i], evidence->server_state, evidence->client_state);
        fprintf(file, "%s\n    {\"field\": ", i == 0 ? "" : ",");
        write_string(file, text.name);
        fprintf(file, ", \"server\": ");
        write_string(file, text.a);
        fprintf(file, ", \"client\": ");
        write_string(file, text.b);
        fprintf(file, "}");
    }
    fprintf(file, "]");
}

static void write_passes(FILE *file, const ls_evidence *evidence)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    const ls_pass_trace *server = &bundle->server.passes;
    const ls_pass_trace *client = &bundle->client.passes;
    write_key(file, "pass");
    if (evidence->parting == LS_PASS_AT && evidence->pass < bundle->pass_count) {
        write_string(file, bundle->passes[evidence->pass]);
    } else {
        fprintf(file, "null");
    }
    write_key(file, "passes");
    fprintf(file, "[");
    for (uint32_t i = 0; i < bundle->pass_count; i++) {
        fprintf(file, "%s\n    {\"name\": ", i == 0 ? "" : ",");
        write_string(file, bundle->passes[i]);
        fprintf(file, ", ");
        write_root(file, "server", i < server->pass_count, server->roots[i]);
        fprintf(file, ", ");
        write_root(file, "client", i < client->pass_count, client->roots[i]);
        fprintf(file, ", ");
        write_root(file, "here", i < evidence->passes.pass_count, evidence->passes.roots[i]);
        fprintf(file, "}");
    }
    fprintf(file, "]");
}

static void write_inputs(FILE *file, const ls_evidence *evidence)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    bool has_inputs = ls_report_inputs(evidence, slots);
    write_key(file, "inputs");
    fprintf(file, has_inputs ? "[" : "null");
    for (uint32_t slot = 0; has_inputs && slot < evidence->bundle->config.players; slot++) {
        fprintf(file, "%s\n    {\"slot\": %" PRIu32 ", \"events\": ", slot == 0 ? "" : ",", slot);
        write_string(file, ls_report_events_text(slots[slot].events));
        fprintf(file, ", \"bytes\": \"");
        for (uint32_t i = 0; i < slots[slot].size; i++) {
            fprintf(file, "%02x", slots[slot].bytes[i]);
        }
        fprintf(file, "\"}");
    }
    fprintf(file, has_inputs ? "]" : "");
}

static void write_figures(FILE *file, const char *key, const ls_rerun_figures *figures)
{
    uint32_t known = figures->known;
    fprintf(file, "\"%s\": {", key);
    write_root(file, "match", known & LS_RERUN_LIVE, figures->live);
    fprintf(file, ", ");
    write_root(file, "fresh", known & LS_RERUN_FRESH, figures->fresh);
    fprintf(file, ", ");
    write_root(file, "again", known & LS_RERUN_AGAIN, figures->again);
    fprintf(file, ", ");
    write_root(file, "reloaded", known & LS_RERUN_RELOADED, figures->reloaded);
    fprintf(file, ", ");
    write_root(file, "in_place", known & LS_RERUN_IN_PLACE, figures->in_place);
    fprintf(file, "}");
}

static void write_reruns(FILE *file, const ls_evidence *evidence)
{
    ls_rerun_figures here = evidence->figures;
    here.known &= ~LS_RERUN_LIVE;
    write_key(file, "reruns");
    fprintf(file, "{");
    write_figures(file, "server", &evidence->bundle->server.figures);
    fprintf(file, ",\n    ");
    write_figures(file, "client", &evidence->bundle->client.figures);
    fprintf(file, ",\n    ");
    write_figures(file, "here", &here);
    fprintf(file, "}");
}

static void write_machines(FILE *file, const ls_evidence *evidence)
{
    const ls_build_print *prints[] = {&evidence->bundle->server.print,
                                      &evidence->bundle->client.print, &evidence->here};
    static const char *const names[] = {"server", "client", "here"};
    write_key(file, "machines");
    fprintf(file, "[");
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        fprintf(file, "%s\n    {\"item\": ", item == 0 ? "" : ",");
        write_string(file, ls_print_item_name((ls_print_item)item));
        for (uint32_t i = 0; i < 3; i++) {
            fprintf(file, ", \"%s\": ", names[i]);
            write_string(file, prints[i]->items[item]);
        }
        fprintf(file, ", \"differs\": %s}",
                ls_build_print_differs(prints[0], prints[1], (ls_print_item)item) ? "true"
                                                                                  : "false");
    }
    fprintf(file, "]");
}

static void write_write(FILE *file, const ls_report *report, const ls_field_write *write)
{
    const ls_desync_bundle *bundle = report->evidence->bundle;
    char text[128];
    fprintf(file, "{\"pass\": ");
    write_string(file, write->pass < bundle->pass_count ? bundle->passes[write->pass] : "?");
    fprintf(file, ", \"field\": ");
    ls_schema_place_name(&write->place, text, sizeof text);
    write_string(file, text);
    fprintf(file, ", \"before\": ");
    ls_field_write_value(write, false, text, sizeof text);
    write_string(file, text);
    fprintf(file, ", \"after\": ");
    ls_field_write_value(write, true, text, sizeof text);
    write_string(file, text);
    fprintf(file, ", \"by\": ");
    text[0] = '\0';
    if (write->instruction != 0) {
        ls_code_places_name(report->places, write->instruction, text, sizeof text);
    }
    write_string(file, text);
    fprintf(file, "}");
}

static void write_trace(FILE *file, const ls_report *report)
{
    const ls_evidence *evidence = report->evidence;
    if (!evidence->trace_name) {
        return;
    }
    write_text(file, "trace", evidence->trace_name);
    write_text(file, "not_traced", evidence->not_traced.bytes);
    write_key(file, "write_count");
    fprintf(file, "%" PRIu64, evidence->trace.count);
    write_key(file, "writes");
    fprintf(file, "[");
    for (uint32_t i = 0; i < evidence->trace.list_count; i++) {
        fprintf(file, "%s\n    ", i == 0 ? "" : ",");
        write_write(file, report, &evidence->trace.writes[i]);
    }
    fprintf(file, "]");
}

void ls_report_write_json(FILE *file, const ls_report *report)
{
    const ls_evidence *evidence = report->evidence;
    const ls_desync_bundle *bundle = evidence->bundle;
    bool is_run = evidence->agreement != LS_AGREES_NOT_RUN;
    fprintf(file, "{\n  \"program\": \"lockstep-desync\"");
    write_text(file, "bundle", report->bundle_path);
    write_text(file, "sim", bundle->simulation);
    write_key(file, "seed");
    fprintf(file, "\"%" PRIu64 "\"", bundle->config.seed);
    write_key(file, "tick");
    fprintf(file, "%" PRIu32, bundle->tick);
    write_key(file, "slot");
    fprintf(file, "%" PRIu32, bundle->slot);
    write_text(file, "player", bundle->player);
    fprintf(file, ",\n  ");
    write_root(file, "server_root", true, bundle->server_root);
    fprintf(file, ",\n  ");
    write_root(file, "client_root", true, bundle->client_root);
    write_text(file, "missing", evidence->missing.bytes);
    write_text(file, "class", ls_desync_class_word(bundle->verdict.kind));
    write_text(file, "culprit", ls_desync_culprit_word(bundle->verdict.culprit));
    write_text(file, "why", bundle->verdict.why.bytes);
    write_text(file, "agrees_with", ls_agreement_word(evidence->agreement));
    write_text(file, "not_run", is_run ? "" : evidence->not_run.bytes);
    write_differences(file, evidence);
    write_passes(file, evidence);
    write_inputs(file, evidence);
    write_reruns(file, evidence);
    write_machines(file, evidence);
    write_trace(file, report);
    fprintf(file, "\n}\n");
}
