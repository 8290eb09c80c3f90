#include "lockstep/tools/desync/picture.h"
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
    "details{border-bottom:1px solid var(--line);padding:.3rem 0}summary{cursor:pointer}"
    ".verdict{font-size:1.1rem}"
    "tr.bad td{background:#d1495b22}.tag{background:var(--bad);color:#fff;padding:.1rem .5rem;"
    "border-radius:.3rem}.wide{overflow-x:auto}.note{opacity:.75}svg text{font:12px "
    "system-ui,sans-serif;fill:currentColor}" EXPLAIN_PICTURE_STYLE;

const char *explain_report_style(void)
{
    return style;
}

/* ---- timeline: a row a machine, a cell a state ---- */

static void write_label(ls_html *html, uint32_t x, uint32_t y, const char *text)
{
    ls_html_begin(html, "text");
    ls_html_number_attribute(html, "x", x);
    ls_html_number_attribute(html, "y", y);
    ls_html_text(html, text);
    ls_html_end(html);
}

static void write_timeline_cell(ls_html *html, const explain_evidence *evidence,
                                explain_machine machine, ls_tick tick, uint32_t x, uint32_t y)
{
    uint64_t state_hash = 0, reference = 0;
    bool is_known = explain_evidence_hash(evidence, machine, tick, &state_hash);
    bool has_reference = explain_evidence_hash(evidence, EXPLAIN_SERVER, tick, &reference);
    const char *colour = !is_known                                  ? "var(--none)"
                         : has_reference && state_hash != reference ? "var(--bad)"
                                                                    : "var(--same)";
    ls_text title = {{0}};
    ls_text_set(&title, "%s, state %" PRIu32, explain_machine_name(machine), tick);
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
    ls_tick bad = evidence->bundle->tick;
    ls_text mark = {{0}};
    ls_html_begin(html, "svg");
    ls_html_number_attribute(html, "width", LABEL_WIDTH + (last - first + 1) * CELL_WIDTH);
    ls_html_number_attribute(html, "height", 4 * CELL_HEIGHT);
    ls_html_attribute(html, "role", "img");
    ls_html_attribute(html, "aria-label", "Timeline of state hashes");
    for (explain_machine i = 0; i < EXPLAIN_MACHINE_COUNT; i++) {
        write_label(html, 0, i * CELL_HEIGHT + 14, explain_machine_name(i));
        for (ls_tick tick = first; tick <= last; tick++) {
            write_timeline_cell(html, evidence, i, tick, LABEL_WIDTH + (tick - first) * CELL_WIDTH,
                                i * CELL_HEIGHT);
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
    ls_html_begin(html, "details");
    ls_html_element(html, "summary", NULL, heading.bytes);
    ls_html_begin(html, "div");
    ls_html_attribute(html, "class", "wide");
    write_drawing(html, evidence, first, last);
    ls_html_end(html);
    ls_html_element(html, "p", "note",
                    "Green: the server's state hash. Red: another one. Grey: not known.");
    ls_html_end(html);
}

/* ---- the verdict: what happened, what to do next ---- */

static void write_verdict(ls_html *html, const explain_report *report)
{
    const explain_evidence *evidence = report->evidence;
    const char *cause = explain_line_cause(report->line);
    const ls_desync_bundle *bundle = evidence->bundle;
    const ls_state_difference *found = &evidence->difference;
    ls_text text = {{0}};
    ls_text began = explain_report_began(bundle);
    ls_text_set(&text, "%s %s", bundle->player[0] != '\0' ? bundle->player : "The client",
                began.bytes);
    if (found->elements > 0) {
        ls_text extent = ls_state_difference_extent(found->elements, found->fields, false);
        ls_text_add(&text, " They differ in %s%s", found->is_lower_bound ? "at least " : "",
                    extent.bytes);
    }
    ls_text_add(&text, " (%s%s%s).", ls_desync_class_text(bundle->verdict.kind),
                cause[0] ? ": " : "", cause);
    ls_html_begin(html, "p");
    ls_html_attribute(html, "class", "verdict");
    ls_html_text(html, text.bytes);
    ls_html_begin(html, "br");
    ls_html_end_empty(html);
    ls_text_set(&text, "Next: %s.", explain_report_next(evidence));
    ls_html_element(html, "b", NULL, text.bytes);
    ls_html_end(html);
}

/* ---- where the two part ---- */

/* The functions around the innermost one. */
static void write_stack(ls_html *html, const explain_stream_code *code)
{
    for (uint32_t i = 1; i < code->level_count; i++) {
        char level[176];
        explain_code_level_text(&code->levels[i], level, sizeof level);
        ls_html_begin(html, "br");
        ls_html_end_empty(html);
        ls_html_text(html, code->levels[i - 1].is_put_into_next ? "inlined into " : "called by ");
        ls_html_element(html, "code", NULL, level);
    }
}

/* The line of code, before anything else. */
static void write_line(ls_html *html, const explain_report *report)
{
    ls_text lines[EXPLAIN_LINE_TEXTS];
    const explain_stream_code *code = explain_line_code(report->line);
    uint32_t count = explain_line_text(report->line, report->evidence, lines);
    for (uint32_t i = 0; i < count; i++) {
        bool is_source = i == 1 && report->line->source[0] != '\0';
        ls_html_begin(html, is_source ? "pre" : "p");
        ls_html_text(html, lines[i].bytes);
        if (code && i + 1 == count) {
            write_stack(html, code);
        }
        ls_html_end(html);
    }
}

static void write_changes(ls_html *html, const explain_reproductions *reproductions)
{
    ls_text text = {{0}};
    explain_reproductions_text(reproductions, &text);
    ls_html_element(html, "p", NULL, text.bytes);
}

static void write_first_difference(ls_html *html, const explain_evidence *evidence)
{
    const ls_bundle_pass_places *after = &evidence->bundle->after_pass;
    const ls_state_difference *found = &evidence->difference;
    if (after->count == 0 && found->place_count == 0) {
        return;
    }
    ls_text text = {{0}};
    ls_difference_text first =
        after->count > 0 ? after->places[0]
                         : ls_state_difference_text(&found->places[0], evidence->server_state,
                                                    evidence->client_state);
    ls_text_set(&text, ": server %s, client %s.", first.a, first.b);
    ls_html_begin(html, "p");
    ls_html_element(html, "code", NULL, first.name);
    ls_html_text(html, text.bytes);
    ls_html_end(html);
}

static void write_first_differing_pass(ls_html *html, const explain_report *report)
{
    ls_text pass = {{0}}, text = {{0}};
    explain_evidence_pass_text(report->evidence, &pass);
    ls_text_set(&text, "First pass that differs in tick %" PRIu32 ": %s.",
                report->evidence->bundle->tick - 1, pass.bytes);
    ls_html_element(html, "h2", NULL, "Where the two part");
    ls_html_element(html, "p", NULL, text.bytes);
    write_first_difference(html, report->evidence);
    write_changes(html, report->reproductions);
}

void explain_report_write_html(FILE *file, const explain_report *report)
{
    const ls_desync_bundle *bundle = report->evidence->bundle;
    ls_text text = {{0}};
    ls_text_set(&text, "Desync at state %" PRIu32, bundle->tick);
    ls_html html = ls_html_page(file, text.bytes, style);
    explain_sheet sheet = {.file = file, .html = &html};
    ls_html_begin(&html, "h1");
    ls_text whose = {"a spectator"};
    if (bundle->slot < bundle->config.players) {
        ls_text_set(&whose, "slot %" PRIu32, bundle->slot);
    }
    ls_text_set(&text, "Desync of %s (%s) at state %" PRIu32 " ", whose.bytes, bundle->player,
                bundle->tick);
    ls_html_text(&html, text.bytes);
    ls_html_element(&html, "span", "tag", ls_desync_class_word(bundle->verdict.kind));
    ls_html_end(&html);
    write_verdict(&html, report);
    write_line(&html, report);
    explain_report_write_picture(&html, &report->evidence->picture);
    if (bundle->tick > 0) {
        write_first_differing_pass(&html, report);
    }
    ls_html_element(&html, "h2", NULL, "All that is known");
    if (bundle->tick > 0) {
        write_timeline(&html, report->evidence);
    }
    explain_report_fill(&sheet, report);
    ls_html_end(&html);
    fputs("\n", file);
}
