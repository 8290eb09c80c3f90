#include "lockstep/tools/desync/report.h"

#include <inttypes.h>
#include <string.h>

enum {
    TICKS_SHOWN = 8, /* of the state hashes, before and after the bad tick */
    WRITES_SHOWN = 64,
};

static const char *pass_name(const ls_desync_bundle *bundle, uint32_t pass)
{
    return pass < bundle->pass_count ? bundle->passes[pass] : "?";
}

static void write_heading(FILE *file, const explain_report *report)
{
    const ls_desync_bundle *bundle = report->evidence->bundle;
    fprintf(file, "%s\n", report->bundle_path);
    fprintf(file,
            "Slot %" PRIu32 " (%s) differs from the server from state %" PRIu32
            " on, which tick %" PRIu32 " made.\n",
            bundle->slot, bundle->player[0] != '\0' ? bundle->player : "unnamed", bundle->tick,
            bundle->tick - 1);
    fprintf(file, "%s version %" PRIu32 ", seed %" PRIu64 ", %" PRIu32 " Hz, %" PRIu32 " players\n",
            bundle->simulation, bundle->simulation_version, bundle->config.seed,
            bundle->config.tick_rate_hz, bundle->config.players);
    fprintf(file, "state hash: server %016" PRIx64 ", client %016" PRIx64 "\n\n",
            bundle->server_hash, bundle->client_hash);
    if (report->evidence->missing.bytes[0] != '\0') {
        fprintf(file, "Note: %s.\n\n", report->evidence->missing.bytes);
    }
}

static void write_verdict(FILE *file, const explain_evidence *evidence)
{
    const ls_desync_verdict *verdict = &evidence->bundle->verdict;
    ls_text pass = {{0}};
    explain_evidence_pass_text(evidence, &pass);
    fprintf(file, "class       %s\n", ls_desync_class_word(verdict->kind));
    fprintf(file, "why         %s\n", verdict->why.bytes);
    fprintf(file, "points at   %s\n", ls_desync_culprit_word(verdict->culprit));
    fprintf(file, "first pass  %s\n", pass.bytes);
    fprintf(file, "here        %s%s%s\n\n", explain_agreement_text(evidence->agreement),
            evidence->agreement == EXPLAIN_AGREES_NOT_RUN ? ": " : "",
            evidence->agreement == EXPLAIN_AGREES_NOT_RUN ? evidence->not_run.bytes : "");
}

static void write_fields(FILE *file, const explain_evidence *evidence)
{
    const ls_state_difference *found = &evidence->difference;
    ls_text count = {{0}};
    explain_report_count_text(evidence, &count);
    fprintf(file, "Fields that differ: %s\n", count.bytes);
    if (evidence->has_difference && found->place_count > 0) {
        fprintf(file, "  %-32s %-28s %s\n", "field", "server", "client");
    }
    for (uint32_t i = 0; i < found->place_count; i++) {
        ls_difference_text text = ls_state_difference_text(
            &found->places[i], evidence->server_state, evidence->client_state);
        fprintf(file, "  %-32s %-28s %s\n", text.name, text.a, text.b);
    }
    if (evidence->has_difference && !evidence->is_server_state_proved) {
        fprintf(file,
                "  The server's state in the bundle does not have the state hash of the match.\n");
    }
    if (evidence->has_difference && !evidence->is_client_state_proved) {
        fprintf(file, "  The client's state is known in part: it does not have the state hash that "
                      "the client sent.\n");
    }
    fprintf(file, "\n");
}

static void write_hash(FILE *file, bool is_known, uint64_t state_hash)
{
    if (is_known) {
        fprintf(file, "  %016" PRIx64, state_hash);
    } else {
        fprintf(file, "  %-16s", "-");
    }
}

static void write_pass_hashes(FILE *file, const explain_evidence *evidence)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    const ls_pass_trace *traces[] = {&bundle->server.passes, &bundle->client.passes,
                                     &evidence->passes};
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        count = LS_MAX(traces[i]->pass_count, count);
    }
    if (count == 0) {
        return;
    }
    fprintf(file, "Passes of tick %" PRIu32 ", as each machine ran it again\n", bundle->tick - 1);
    fprintf(file, "  %-16s  %-16s  %-16s  %-16s\n", "after", "server", "client", "here");
    for (uint32_t pass = 0; pass < count; pass++) {
        bool is_first = evidence->differing_pass == LS_PASS_AT && pass == evidence->pass;
        fprintf(file, "  %-16.16s", pass_name(bundle, pass));
        for (uint32_t i = 0; i < 3; i++) {
            write_hash(file, pass < traces[i]->pass_count, traces[i]->state_hashes[pass]);
        }
        fprintf(file, "%s\n", is_first ? "  <- differs first" : "");
    }
    fprintf(file, "\n");
}

static void write_inputs(FILE *file, const explain_evidence *evidence)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    if (!explain_report_inputs(evidence, slots)) {
        fprintf(file, "Inputs of tick %" PRIu32 ": not in the bundle\n\n",
                evidence->bundle->tick - 1);
        return;
    }
    fprintf(file, "Inputs of tick %" PRIu32 "\n", evidence->bundle->tick - 1);
    for (uint32_t slot = 0; slot < evidence->bundle->config.players; slot++) {
        char bytes[EXPLAIN_REPORT_INPUT_TEXT_BYTES];
        const char *events = explain_report_events_text(slots[slot].events);
        explain_report_input_text(&slots[slot], bytes);
        fprintf(file, "  slot %-2" PRIu32 " %4" PRIu32 " bytes  %s%s%s\n", slot, slots[slot].size,
                bytes, events[0] != '\0' ? "  " : "", events);
    }
    fprintf(file, "\n");
}

/* The figures of one machine's runs of the same ticks. */
static void write_figures(FILE *file, const char *who, const ls_rerun_figures *figures)
{
    const struct {
        uint32_t known;
        uint64_t state_hash;
    } runs[] = {{LS_RERUN_LIVE, figures->live},
                {LS_RERUN_FRESH, figures->fresh},
                {LS_RERUN_AGAIN, figures->again},
                {LS_RERUN_RELOADED, figures->reloaded},
                {LS_RERUN_IN_PLACE, figures->in_place}};
    fprintf(file, "  %-8s", who);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        write_hash(file, (figures->known & runs[i].known) != 0, runs[i].state_hash);
    }
    if (figures->known != 0 && figures->strayed < figures->tick) {
        fprintf(file, "  strays from state %" PRIu32 " on", figures->strayed);
    }
    fprintf(file, "\n");
}

static void write_reruns(FILE *file, const explain_evidence *evidence)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    fprintf(file,
            "Hashes of state %" PRIu32 ": in the match, and run again from snapshot %" PRIu32 "\n",
            bundle->tick, bundle->snapshot_tick);
    fprintf(file, "  %-8s  %-16s  %-16s  %-16s  %-16s  %-16s\n", "", "match", "fresh", "once more",
            "saved, loaded", "in place");
    write_figures(file, "server", &bundle->server.figures);
    write_figures(file, "client", &bundle->client.figures);
    ls_rerun_figures here = evidence->figures;
    here.known &= ~LS_RERUN_LIVE; /* it took no part in the match */
    write_figures(file, "here", &here);
    fprintf(file, "\n");
}

static void write_timeline(FILE *file, const explain_evidence *evidence)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    ls_tick first = bundle->tick > TICKS_SHOWN / 2 ? bundle->tick - TICKS_SHOWN / 2 : 0;
    fprintf(file, "State hashes around state %" PRIu32 "\n", bundle->tick);
    fprintf(file, "  %-10s  %-16s  %-16s  %-16s\n", "state", "server", "client", "here");
    for (ls_tick tick = first; tick < first + TICKS_SHOWN; tick++) {
        uint64_t server = 0, client = 0, here = 0;
        bool has_server = explain_bundle_side_hash(&bundle->server, tick, &server);
        bool has_client = explain_bundle_side_hash(&bundle->client, tick, &client);
        bool has_here = explain_evidence_hash(evidence, tick, &here);
        if (!has_server && !has_client && !has_here) {
            continue;
        }
        fprintf(file, "  %-10" PRIu32, tick);
        write_hash(file, has_server, server);
        write_hash(file, has_client, client);
        write_hash(file, has_here, here);
        fprintf(file, "%s\n", has_server && has_client && server != client ? "  differ" : "");
    }
    fprintf(file, "\n");
}

/* One line when all three are the same or not known, else a line each. */
static void write_item(FILE *file, ls_fingerprint_item item,
                       const ls_build_fingerprint *const prints[3])
{
    static const char *const names[] = {"server", "client", "here"};
    const char *known = "-";
    bool is_same = true;
    for (uint32_t i = 0; i < 3; i++) {
        const char *text = prints[i]->items[item];
        is_same = is_same && !ls_build_fingerprint_differs(prints[0], prints[i], item) &&
                  !ls_build_fingerprint_differs(prints[1], prints[i], item);
        known = text[0] != '\0' ? text : known;
    }
    if (is_same) {
        fprintf(file, "    %-15s %-7s %s\n", ls_fingerprint_item_name(item), "all", known);
        return;
    }
    for (uint32_t i = 0; i < 3; i++) {
        const char *text = prints[i]->items[item];
        fprintf(file, "  %s %-15s %-7s %s\n",
                ls_build_fingerprint_differs(prints[0], prints[i], item) ? "*" : " ",
                ls_fingerprint_item_name(item), names[i], text[0] != '\0' ? text : "-");
    }
}

static void write_machines(FILE *file, const explain_evidence *evidence)
{
    const ls_build_fingerprint *const prints[] = {&evidence->bundle->server.print,
                                                  &evidence->bundle->client.print, &evidence->here};
    fprintf(file, "Machines (* differs from the server's)\n");
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        write_item(file, (ls_fingerprint_item)item, prints);
    }
}

static void write_trace(FILE *file, const explain_report *report)
{
    const explain_evidence *evidence = report->evidence;
    const explain_write_trace *trace = &evidence->trace;
    if (!evidence->trace_name) {
        return;
    }
    if (evidence->not_traced.bytes[0] != '\0') {
        fprintf(file, "\nWrites to %s: not traced: %s\n", evidence->trace_name,
                evidence->not_traced.bytes);
        return;
    }
    fprintf(file, "\n%s to %s in tick %" PRIu32 ": %" PRIu64 "\n",
            trace->is_watched ? "Writes" : "Changes by passes", evidence->trace_name,
            evidence->bundle->tick - 1, trace->count);
    for (uint32_t i = 0; i < trace->list_count && i < WRITES_SHOWN; i++) {
        const explain_field_write *write = &trace->writes[i];
        char name[LS_PLACE_NAME_BYTES_MAX], before[LS_PLACE_VALUE_BYTES_MAX],
            after[LS_PLACE_VALUE_BYTES_MAX], place[128] = "";
        ls_schema_place_name(&write->place, name, sizeof name);
        explain_field_write_value(write, false, before, sizeof before);
        explain_field_write_value(write, true, after, sizeof after);
        if (write->instruction != 0) {
            explain_code_places_name(report->places, write->instruction, place, sizeof place);
        }
        fprintf(file, "  %-12s %-28s %s -> %s%s%s\n", pass_name(evidence->bundle, write->pass),
                name, before, after, place[0] != '\0' ? "  by " : "", place);
    }
    if (trace->count > WRITES_SHOWN) {
        fprintf(file, "  ... and %" PRIu64 " more\n", trace->count - WRITES_SHOWN);
    }
}

void explain_report_write_text(FILE *file, const explain_report *report)
{
    const explain_evidence *evidence = report->evidence;
    write_heading(file, report);
    write_verdict(file, evidence);
    write_fields(file, evidence);
    write_pass_hashes(file, evidence);
    write_inputs(file, evidence);
    write_reruns(file, evidence);
    write_timeline(file, evidence);
    write_machines(file, evidence);
    write_trace(file, report);
}
