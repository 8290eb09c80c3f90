#include "lockstep/server/program/desync_report.h"

#include <inttypes.h>
#include <string.h>

enum {
    PLACES_SHOWN = 8 /* all of them are in the summary and in the bundle */
};

/* ---- for a person ---- */

static void log_places(const ls_desync_finding *finding, const ls_log *log)
{
    uint32_t shown = LS_MIN(finding->place_count, PLACES_SHOWN);
    for (uint32_t i = 0; i < shown; i++) {
        const ls_difference_text *place = &finding->places[i];
        ls_log_line(log, LS_LOG_ERROR, "  %s: server %s, client %s", place->name, place->a,
                    place->b);
    }
    if (finding->elements > shown) {
        ls_log_line(log, LS_LOG_ERROR, "  and %s%" PRIu64 " more",
                    finding->is_lower_bound ? "at least " : "", finding->elements - shown);
    }
}

static void log_pass(const ls_desync_finding *finding, const ls_log *log)
{
    switch (finding->differing_pass) {
    case LS_PASS_AT:
        ls_log_line(log, LS_LOG_ERROR, "  first pass that differs, in tick %" PRIu32 ": %s",
                    finding->tick - 1, finding->pass ? finding->pass : "unknown");
        return;
    case LS_PASS_NONE:
        ls_log_line(log, LS_LOG_ERROR,
                    "  simulated again, every pass of tick %" PRIu32
                    " gives the same on both sides",
                    finding->tick - 1);
        return;
    case LS_PASS_BEFORE:
        ls_log_line(log, LS_LOG_ERROR,
                    "  simulated again, the states differ before the first pass of tick %" PRIu32,
                    finding->tick - 1);
        return;
    case LS_PASS_UNKNOWN:
        return;
    }
}

void ls_desync_report_log(const ls_desync_finding *finding, const char *player, const char *bundle,
                          const ls_log *log)
{
    ls_text extent =
        ls_state_difference_extent(finding->elements, finding->fields, finding->is_lower_bound);
    ls_log_line(log, LS_LOG_ERROR, "DESYNC of %s at tick %" PRIu32 ": %s; class %s, at fault: %s",
                player, finding->tick, extent.bytes, ls_desync_class_word(finding->verdict.kind),
                ls_desync_culprit_word(finding->verdict.culprit));
    log_places(finding, log);
    log_pass(finding, log);
    if (finding->inputs.bytes[0]) {
        ls_log_line(log, LS_LOG_ERROR, "  inputs of tick %" PRIu32 ": %s", finding->tick - 1,
                    finding->inputs.bytes);
    }
    ls_log_line(log, LS_LOG_ERROR, "  %s", finding->verdict.why.bytes);
    if (bundle) {
        ls_log_line(log, LS_LOG_ERROR, "  bundle: %s (read it with: lockstep-desync explain %s)",
                    bundle, bundle);
    }
}

/* ---- for programs ---- */

static void fill_place(const ls_desync_finding *finding, uint32_t index, ls_summary_place *out)
{
    const ls_difference_text *text = &finding->places[index];
    const ls_field *field = finding->place_fields[index];
    size_t part_bytes = strcspn(field->path, ".");
    *out = (ls_summary_place){
        .field = text->name, .server_value = text->a, .client_value = text->b, .unit = field->unit};
    if (part_bytes < sizeof out->part) {
        memcpy(out->part, field->path, part_bytes);
    }
}

void ls_desync_report_summarize(const ls_desync_finding *finding, ls_summary_desync *out)
{
    out->has_cause = true;
    out->times = finding->times;
    out->healed = finding->healed;
    out->elements = finding->elements;
    out->is_lower_bound = finding->is_lower_bound;
    out->pass = finding->pass;
    out->class_word = ls_desync_class_word(finding->verdict.kind);
    out->culprit = ls_desync_culprit_word(finding->verdict.culprit);
    out->why = finding->verdict.why.bytes;
    out->inputs = finding->inputs.bytes;
    out->found_ms = (double)finding->took_ns / 1e6;
    out->place_count = finding->place_count;
    for (uint32_t i = 0; i < finding->place_count; i++) {
        fill_place(finding, i, &out->places[i]);
    }
}
