#include "lockstep/common/program/html.h"
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

/* ---- parts of a page ---- */

static void write_cell(ls_html *html, const char *text)
{
    ls_html_element(html, "td", "v", text[0] != '\0' ? text : "-");
}

static void write_hash_cell(ls_html *html, bool is_known, uint64_t state_hash)
{
    char text[20] = "-";
    if (is_known) {
        snprintf(text, sizeof text, "%016" PRIx64, state_hash);
    }
    write_cell(html, text);
}

static void begin_row(ls_html *html, bool is_bad)
{
    ls_html_begin(html, "tr");
    if (is_bad) {
        ls_html_attribute(html, "class", "bad");
    }
}

static void write_row(ls_html *html, const char *label, const char *text)
{
    begin_row(html, false);
    ls_html_element(html, "th", NULL, label);
    write_cell(html, text);
    ls_html_end(html);
}

/* A heading, and a table with a first row of names, which end with NULL. */
static void begin_table(ls_html *html, const char *heading, const char *const *columns)
{
    ls_html_element(html, "h2", NULL, heading);
    ls_html_begin(html, "table");
    begin_row(html, false);
    for (; *columns; columns++) {
        ls_html_element(html, "th", NULL, *columns);
    }
    ls_html_end(html);
}

static void write_summary(ls_html *html, const explain_report *report)
{
    const explain_evidence *evidence = report->evidence;
    const ls_desync_bundle *bundle = evidence->bundle;
    ls_text text = {{0}};
    ls_html_begin(html, "h1");
    ls_text_set(&text, "Desync of slot %" PRIu32 " (%s) at state %" PRIu32 " ", bundle->slot,
                bundle->player, bundle->tick);
    ls_html_text(html, text.bytes);
    ls_html_element(html, "span", "tag", ls_desync_class_word(bundle->verdict.kind));
    ls_html_end(html);
    ls_html_begin(html, "table");
    write_row(html, "why", bundle->verdict.why.bytes);
    write_row(html, "points at", ls_desync_culprit_word(bundle->verdict.culprit));
    explain_evidence_pass_text(evidence, &text);
    write_row(html, "first differing pass", text.bytes);
    explain_report_count_text(evidence, &text);
    write_row(html, "what differs", text.bytes);
    ls_text_set(&text, "%s", explain_agreement_text(evidence->agreement));
    if (evidence->agreement == EXPLAIN_AGREES_NOT_RUN) {
        ls_text_add(&text, ": %s", evidence->not_run.bytes);
    }
    write_row(html, "here", text.bytes);
    ls_text_set(&text,
                "%s version %" PRIu32 ", seed %" PRIu64 ", %" PRIu32 " Hz, %" PRIu32 " players",
                bundle->simulation, bundle->simulation_version, bundle->config.seed,
                bundle->config.tick_rate_hz, bundle->config.players);
    write_row(html, "simulation", text.bytes);
    if (evidence->missing.bytes[0] != '\0') {
        write_row(html, "note", evidence->missing.bytes);
    }
    ls_html_end(html);
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

static void write_label(ls_html *html, uint32_t x, uint32_t y, const char *text)
{
    ls_html_begin(html, "text");
    ls_html_number_attribute(html, "x", x);
    ls_html_number_attribute(html, "y", y);
    ls_html_text(html, text);
    ls_html_end(html);
}

static void write_timeline_cell(ls_html *html, const explain_evidence *evidence,
                                const timeline_row *row, ls_tick tick, uint32_t x, uint32_t y)
{
    uint64_t state_hash = 0, reference = 0;
    bool is_known = row->state_hash(evidence, tick, &state_hash);
    bool has_reference = server_hash(evidence, tick, &reference);
    const char *colour = !is_known                                  ? "var(--none)"
                         : has_reference && state_hash != reference ? "var(--bad)"
                                                                    : "var(--same)";
    ls_text title = {{0}};
    ls_text_set(&title, "%s, state %" PRIu32, row->name, tick);
    if (is_known) {
        ls_text_add(&title, ": %016" PRIx64, state_hash);
    }
    ls_html_begin(html, "rect");
    ls_html_number_attribute(html, "x", x);
    ls_html_number_attribute(html, "y", y);
    ls_html_number_attribute(html, "width", CELL_WIDTH - 2);
    ls_html_number_attribute(html, "height", CELL_HEIGHT - 4);
    ls_html_number_attribute(html, "rx", 2);
    ls_html_attribute(html, "fill", colour);
    ls_html_element(html, "title", NULL, title.bytes);
    ls_html_end(html);
}

static void write_drawing(ls_html *html, const explain_evidence *evidence, ls_tick first,
                          ls_tick last)
{
    static const timeline_row rows[] = {
        {"server", server_hash}, {"client", client_hash}, {"here", explain_evidence_hash}};
    ls_tick bad = evidence->bundle->tick;
    ls_text mark = {{0}};
    ls_html_begin(html, "svg");
    ls_html_number_attribute(html, "width", LABEL_WIDTH + (last - first + 1) * CELL_WIDTH);
    ls_html_number_attribute(html, "height", 4 * CELL_HEIGHT);
    ls_html_attribute(html, "role", "img");
    ls_html_attribute(html, "aria-label", "Timeline of state hashes");
    for (uint32_t i = 0; i < 3; i++) {
        write_label(html, 0, i * CELL_HEIGHT + 14, rows[i].name);
        for (ls_tick tick = first; tick <= last; tick++) {
            write_timeline_cell(html, evidence, &rows[i], tick,
                                LABEL_WIDTH + (tick - first) * CELL_WIDTH, i * CELL_HEIGHT);
        }
    }
    ls_text_set(&mark, "\u25b2 state %" PRIu32, bad);
    write_label(html, LABEL_WIDTH + (bad - first) * CELL_WIDTH, 3 * CELL_HEIGHT + 14, mark.bytes);
    ls_html_end(html);
}

static void write_timeline(ls_html *html, const explain_evidence *evidence)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    ls_tick last =
        bundle->tick < UINT32_MAX - TICKS_AFTER ? bundle->tick + TICKS_AFTER : bundle->tick;
    ls_tick first = last >= TICKS_MAX ? last - TICKS_MAX + 1 : 0;
    first = bundle->snapshot && bundle->snapshot_tick > first ? bundle->snapshot_tick : first;
    ls_text heading = {{0}};
    ls_text_set(&heading, "State hashes, state %" PRIu32 " to %" PRIu32, first, last);
    ls_html_element(html, "h2", NULL, heading.bytes);
    ls_html_begin(html, "div");
    ls_html_attribute(html, "class", "wide");
    write_drawing(html, evidence, first, last);
    ls_html_end(html);
    ls_html_element(html, "p", "note",
                    "Green: the server's state hash. Red: another one. Grey: not known.");
}

/* ---- tables ---- */

static void write_fields(ls_html *html, const explain_evidence *evidence)
{
    static const char *const columns[] = {"field", "server", "client", NULL};
    const ls_state_difference *found = &evidence->difference;
    begin_table(html, "Fields that differ", columns);
    for (uint32_t i = 0; i < found->place_count; i++) {
        ls_difference_text text = ls_state_difference_text(
            &found->places[i], evidence->server_state, evidence->client_state);
        begin_row(html, false);
        write_cell(html, text.name);
        write_cell(html, text.a);
        write_cell(html, text.b);
        ls_html_end(html);
    }
    ls_html_end(html);
}

static void write_passes(ls_html *html, const explain_evidence *evidence)
{
    static const char *const columns[] = {"after", "server", "client", "here", NULL};
    const ls_desync_bundle *bundle = evidence->bundle;
    const ls_pass_trace *traces[] = {&bundle->server.passes, &bundle->client.passes,
                                     &evidence->passes};
    ls_text heading = {{0}};
    ls_text_set(&heading, "Passes of tick %" PRIu32 ", as each machine ran it again",
                bundle->tick - 1);
    begin_table(html, heading.bytes, columns);
    for (uint32_t pass = 0; pass < bundle->pass_count; pass++) {
        begin_row(html, evidence->differing_pass == LS_PASS_AT && pass >= evidence->pass);
        write_cell(html, bundle->passes[pass]);
        for (uint32_t i = 0; i < 3; i++) {
            write_hash_cell(html, pass < traces[i]->pass_count, traces[i]->state_hashes[pass]);
        }
        ls_html_end(html);
    }
    ls_html_end(html);
}

static void write_inputs(ls_html *html, const explain_evidence *evidence)
{
    static const char *const columns[] = {"slot", "bytes", "events", NULL};
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_text text = {{0}};
    if (!explain_report_inputs(evidence, slots)) {
        return;
    }
    ls_text_set(&text, "Inputs of tick %" PRIu32, evidence->bundle->tick - 1);
    begin_table(html, text.bytes, columns);
    for (uint32_t slot = 0; slot < evidence->bundle->config.players; slot++) {
        char bytes[EXPLAIN_REPORT_INPUT_TEXT_BYTES];
        explain_report_input_text(&slots[slot], bytes);
        ls_text_set(&text, "%" PRIu32, slot);
        begin_row(html, false);
        ls_html_element(html, "td", NULL, text.bytes);
        write_cell(html, bytes);
        write_cell(html, explain_report_events_text(slots[slot].events));
        ls_html_end(html);
    }
    ls_html_end(html);
}

static void write_machines(ls_html *html, const explain_evidence *evidence)
{
    static const char *const columns[] = {"", "server", "client", "here", NULL};
    const ls_build_fingerprint *prints[] = {&evidence->bundle->server.print,
                                            &evidence->bundle->client.print, &evidence->here};
    begin_table(html, "Machines", columns);
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        begin_row(html,
                  ls_build_fingerprint_differs(prints[0], prints[1], (ls_fingerprint_item)item));
        ls_html_element(html, "th", NULL, ls_fingerprint_item_name((ls_fingerprint_item)item));
        for (uint32_t i = 0; i < 3; i++) {
            write_cell(html, prints[i]->items[item]);
        }
        ls_html_end(html);
    }
    ls_html_end(html);
}

static void write_write(ls_html *html, const explain_report *report,
                        const explain_field_write *write)
{
    const ls_desync_bundle *bundle = report->evidence->bundle;
    char text[128];
    begin_row(html, false);
    write_cell(html, write->pass < bundle->pass_count ? bundle->passes[write->pass] : "?");
    ls_schema_place_name(&write->place, text, sizeof text);
    write_cell(html, text);
    explain_field_write_value(write, false, text, sizeof text);
    write_cell(html, text);
    explain_field_write_value(write, true, text, sizeof text);
    write_cell(html, text);
    text[0] = '\0';
    if (write->instruction != 0) {
        explain_code_places_name(report->places, write->instruction, text, sizeof text);
    }
    write_cell(html, text);
    ls_html_end(html);
}

static void write_trace(ls_html *html, const explain_report *report)
{
    static const char *const columns[] = {"pass", "field", "before", "after", "by", NULL};
    const explain_evidence *evidence = report->evidence;
    ls_text heading = {{0}};
    if (!evidence->trace_name) {
        return;
    }
    ls_text_set(&heading, "Writes to %s in tick %" PRIu32 ": %" PRIu64, evidence->trace_name,
                evidence->bundle->tick - 1, evidence->trace.count);
    begin_table(html, heading.bytes, columns);
    for (uint32_t i = 0; i < evidence->trace.list_count; i++) {
        write_write(html, report, &evidence->trace.writes[i]);
    }
    ls_html_end(html);
    ls_html_element(html, "p", NULL, evidence->not_traced.bytes);
}

void explain_report_write_html(FILE *file, const explain_report *report)
{
    ls_text title = {{0}};
    ls_text_set(&title, "Desync at state %" PRIu32, report->evidence->bundle->tick);
    ls_html html = ls_html_page(file, title.bytes, style);
    write_summary(&html, report);
    write_timeline(&html, report->evidence);
    write_fields(&html, report->evidence);
    write_passes(&html, report->evidence);
    write_inputs(&html, report->evidence);
    write_machines(&html, report->evidence);
    write_trace(&html, report);
    ls_html_end(&html);
    fputs("\n", file);
}
