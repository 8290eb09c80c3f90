#include "lockstep/tools/desync/report.h"

#include <inttypes.h>

enum {
    CELL_WIDTH = 14,
    CELL_HEIGHT = 22,
    LABEL_WIDTH = 64,
    TICKS_MAX = 120, /* of the timeline: what is further from the bad tick is left out */
    TICKS_AFTER = 20,
};

static const char style[] =
    ":root{color-scheme:light dark;--same:#4c9a6a;--bad:#d1495b;--none:#8885;--line:#8884}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .6rem;"
    "border-bottom:1px solid var(--line);vertical-align:top}"
    "td.v,td.r{font-family:ui-monospace,monospace;overflow-wrap:anywhere}"
    "tr.bad td{background:#d1495b22}.tag{background:var(--bad);color:#fff;padding:.1rem .5rem;"
    "border-radius:.3rem}.wide{overflow-x:auto}.note{opacity:.75}svg text{font:12px "
    "system-ui,sans-serif;fill:currentColor}";

static void write_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '&':
            fputs("&amp;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        default:
            fputc(*text, file);
        }
    }
}

static void write_cell(FILE *file, const char *text)
{
    fputs("<td class=v>", file);
    write_escaped(file, text[0] != '\0' ? text : "-");
    fputs("</td>", file);
}

static void write_hash_cell(FILE *file, bool is_known, uint64_t state_hash)
{
    char text[20] = "-";
    if (is_known) {
        snprintf(text, sizeof text, "%016" PRIx64, state_hash);
    }
    write_cell(file, text);
}

static void write_row(FILE *file, const char *label, const char *text)
{
    fputs("<tr><th>", file);
    write_escaped(file, label);
    fputs("</th>", file);
    write_cell(file, text);
    fputs("</tr>\n", file);
}

static void write_summary(FILE *file, const explain_report *report)
{
    const explain_evidence *evidence = report->evidence;
    const ls_desync_bundle *bundle = evidence->bundle;
    ls_text text = {{0}};
    fprintf(file, "<h1>Desync of slot %" PRIu32 " (", bundle->slot);
    write_escaped(file, bundle->player);
    fprintf(file, ") at state %" PRIu32 " <span class=tag>%s</span></h1>\n", bundle->tick,
            ls_desync_class_word(bundle->verdict.kind));
    fputs("<table>\n", file);
    write_row(file, "why", bundle->verdict.why.bytes);
    write_row(file, "points at", ls_desync_culprit_word(bundle->verdict.culprit));
    explain_evidence_pass_text(evidence, &text);
    write_row(file, "first differing pass", text.bytes);
    explain_report_count_text(evidence, &text);
    write_row(file, "what differs", text.bytes);
    ls_text_set(&text, "%s", explain_agreement_text(evidence->agreement));
    if (evidence->agreement == EXPLAIN_AGREES_NOT_RUN) {
        ls_text_add(&text, ": %s", evidence->not_run.bytes);
    }
    write_row(file, "here", text.bytes);
    ls_text_set(&text,
                "%s version %" PRIu32 ", seed %" PRIu64 ", %" PRIu32 " Hz, %" PRIu32 " players",
                bundle->simulation, bundle->simulation_version, bundle->config.seed,
                bundle->config.tick_rate_hz, bundle->config.players);
    write_row(file, "simulation", text.bytes);
    if (evidence->missing.bytes[0] != '\0') {
        write_row(file, "note", evidence->missing.bytes);
    }
    fputs("</table>\n", file);
}

/* ---- timeline: a row a machine, a cell a state ---- */

typedef struct timeline_row {
    const char *name;
    bool (*state_hash)(const explain_evidence *evidence, ls_tick tick, uint64_t *out);
} timeline_row;

static bool server_hash(const explain_evidence *evidence, ls_tick tick, uint64_t *out)
{
    return explain_bundle_side_hash(&evidence->bundle->server, tick, out);
}

static bool client_hash(const explain_evidence *evidence, ls_tick tick, uint64_t *out)
{
    return explain_bundle_side_hash(&evidence->bundle->client, tick, out);
}

static void write_timeline_cell(FILE *file, const explain_evidence *evidence,
                                const timeline_row *row, ls_tick tick, uint32_t x, uint32_t y)
{
    uint64_t state_hash = 0, reference = 0;
    bool is_known = row->state_hash(evidence, tick, &state_hash);
    bool has_reference = server_hash(evidence, tick, &reference);
    const char *colour = !is_known                                  ? "none"
                         : has_reference && state_hash != reference ? "bad"
                                                                    : "same";
    fprintf(file,
            "<rect x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" width=\"%d\" height=\"%d\" rx=\"2\" "
            "fill=\"var(--%s)\"><title>%s, state %" PRIu32,
            x, y, CELL_WIDTH - 2, CELL_HEIGHT - 4, colour, row->name, tick);
    if (is_known) {
        fprintf(file, ": %016" PRIx64, state_hash);
    }
    fputs("</title></rect>\n", file);
}

static void write_timeline(FILE *file, const explain_evidence *evidence)
{
    static const timeline_row rows[] = {
        {"server", server_hash}, {"client", client_hash}, {"here", explain_evidence_hash}};
    const ls_desync_bundle *bundle = evidence->bundle;
    ls_tick last =
        bundle->tick < UINT32_MAX - TICKS_AFTER ? bundle->tick + TICKS_AFTER : bundle->tick;
    ls_tick first = last >= TICKS_MAX ? last - TICKS_MAX + 1 : 0;
    first = bundle->snapshot && bundle->snapshot_tick > first ? bundle->snapshot_tick : first;
    uint32_t width = LABEL_WIDTH + (last - first + 1) * CELL_WIDTH;
    fprintf(file,
            "<h2>Roots, state %" PRIu32 " to %" PRIu32 "</h2><div class=wide>"
            "<svg width=\"%" PRIu32 "\" height=\"%d\" role=img aria-label=\"Timeline of "
            "roots\">\n",
            first, last, width, 4 * CELL_HEIGHT);
    for (uint32_t i = 0; i < 3; i++) {
        fprintf(file, "<text x=\"0\" y=\"%" PRIu32 "\">%s</text>\n", i * CELL_HEIGHT + 14,
                rows[i].name);
        for (ls_tick tick = first; tick <= last; tick++) {
            write_timeline_cell(file, evidence, &rows[i], tick,
                                LABEL_WIDTH + (tick - first) * CELL_WIDTH, i * CELL_HEIGHT);
        }
    }
    fprintf(file, "<text x=\"%" PRIu32 "\" y=\"%d\">&#9650; state %" PRIu32 "</text></svg></div>\n",
            LABEL_WIDTH + (bundle->tick - first) * CELL_WIDTH, 3 * CELL_HEIGHT + 14, bundle->tick);
    fputs("<p class=note>Green: the server's state hash. Red: another one. Grey: not known.</p>\n",
          file);
}

/* ---- tables ---- */

static void write_fields(FILE *file, const explain_evidence *evidence)
{
    const ls_state_difference *found = &evidence->difference;
    fputs("<h2>Fields that differ</h2>\n<table><tr><th>field<th>server<th>client</tr>\n", file);
    for (uint32_t i = 0; i < found->place_count; i++) {
        ls_difference_text text = ls_state_difference_text(
            &found->places[i], evidence->server_state, evidence->client_state);
        fputs("<tr>", file);
        write_cell(file, text.name);
        write_cell(file, text.a);
        write_cell(file, text.b);
        fputs("</tr>\n", file);
    }
    fputs("</table>\n", file);
}

static void write_passes(FILE *file, const explain_evidence *evidence)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    const ls_pass_trace *traces[] = {&bundle->server.passes, &bundle->client.passes,
                                     &evidence->passes};
    fprintf(file,
            "<h2>Passes of tick %" PRIu32 ", as each machine ran it again</h2>\n"
            "<table><tr><th>after<th>server<th>client<th>here</tr>\n",
            bundle->tick - 1);
    for (uint32_t pass = 0; pass < bundle->pass_count; pass++) {
        bool is_bad = evidence->differing_pass == LS_PASS_AT && pass >= evidence->pass;
        fputs(is_bad ? "<tr class=bad>" : "<tr>", file);
        write_cell(file, bundle->passes[pass]);
        for (uint32_t i = 0; i < 3; i++) {
            write_hash_cell(file, pass < traces[i]->pass_count, traces[i]->state_hashes[pass]);
        }
        fputs("</tr>\n", file);
    }
    fputs("</table>\n", file);
}

static void write_inputs(FILE *file, const explain_evidence *evidence)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    if (!explain_report_inputs(evidence, slots)) {
        return;
    }
    fprintf(file,
            "<h2>Inputs of tick %" PRIu32 "</h2>\n<table><tr><th>slot<th>bytes<th>events"
            "</tr>\n",
            evidence->bundle->tick - 1);
    for (uint32_t slot = 0; slot < evidence->bundle->config.players; slot++) {
        char bytes[EXPLAIN_REPORT_INPUT_TEXT_BYTES];
        explain_report_input_text(&slots[slot], bytes);
        fprintf(file, "<tr><td>%" PRIu32 "</td>", slot);
        write_cell(file, bytes);
        write_cell(file, explain_report_events_text(slots[slot].events));
        fputs("</tr>\n", file);
    }
    fputs("</table>\n", file);
}

static void write_machines(FILE *file, const explain_evidence *evidence)
{
    const ls_build_fingerprint *prints[] = {&evidence->bundle->server.print,
                                            &evidence->bundle->client.print, &evidence->here};
    fputs("<h2>Machines</h2>\n<table><tr><th><th>server<th>client<th>here</tr>\n", file);
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        bool differs =
            ls_build_fingerprint_differs(prints[0], prints[1], (ls_fingerprint_item)item);
        fprintf(file, "<tr%s><th>%s</th>", differs ? " class=bad" : "",
                ls_fingerprint_item_name((ls_fingerprint_item)item));
        for (uint32_t i = 0; i < 3; i++) {
            write_cell(file, prints[i]->items[item]);
        }
        fputs("</tr>\n", file);
    }
    fputs("</table>\n", file);
}

static void write_trace(FILE *file, const explain_report *report)
{
    const explain_evidence *evidence = report->evidence;
    if (!evidence->trace_name) {
        return;
    }
    fputs("<h2>Writes to ", file);
    write_escaped(file, evidence->trace_name);
    fprintf(file, " in tick %" PRIu32 ": %" PRIu64 "</h2>\n", evidence->bundle->tick - 1,
            evidence->trace.count);
    fputs("<p>", file);
    write_escaped(file, evidence->not_traced.bytes);
    fputs("</p><table><tr><th>pass<th>field<th>before<th>after<th>by</tr>\n", file);
    for (uint32_t i = 0; i < evidence->trace.list_count; i++) {
        const explain_field_write *write = &evidence->trace.writes[i];
        const ls_desync_bundle *bundle = evidence->bundle;
        char text[128];
        fputs("<tr>", file);
        write_cell(file, write->pass < bundle->pass_count ? bundle->passes[write->pass] : "?");
        ls_schema_place_name(&write->place, text, sizeof text);
        write_cell(file, text);
        explain_field_write_value(write, false, text, sizeof text);
        write_cell(file, text);
        explain_field_write_value(write, true, text, sizeof text);
        write_cell(file, text);
        text[0] = '\0';
        if (write->instruction != 0) {
            explain_code_places_name(report->places, write->instruction, text, sizeof text);
        }
        write_cell(file, text);
        fputs("</tr>\n", file);
    }
    fputs("</table>\n", file);
}

void explain_report_write_html(FILE *file, const explain_report *report)
{
    const explain_evidence *evidence = report->evidence;
    fprintf(file,
            "<!doctype html>\n<html lang=en><meta charset=utf-8>"
            "<meta name=viewport content=\"width=device-width\">"
            "<title>Desync at state %" PRIu32 "</title>\n<style>%s</style>\n",
            evidence->bundle->tick, style);
    write_summary(file, report);
    write_timeline(file, evidence);
    write_fields(file, evidence);
    write_passes(file, evidence);
    write_inputs(file, evidence);
    write_machines(file, evidence);
    write_trace(file, report);
    fputs("</html>\n", file);
}
