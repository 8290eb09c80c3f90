#include "lockstep/tools/desync/machine_code.h"
#include "lockstep/tools/desync/report.h"

#include <inttypes.h>
#include <string.h>

/* ---- code ---- */

enum {
    WRITES_SHOWN = 64,
};

/* The levels around the innermost one, a row each, in the last of `columns` cells. */
static void add_stack(explain_sheet *sheet, const explain_report *report, uint32_t columns,
                      const explain_field_write *write)
{
    explain_code_level levels[EXPLAIN_LEVELS_MAX];
    uint32_t count = explain_report_levels(report, write, levels);
    const char *cells[8] = {" ", " ", " ", " ", " ", " ", " ", " "};
    for (uint32_t i = 1; i < count; i++) {
        char level[176];
        ls_text text = {{0}};
        explain_code_level_text(&levels[i], level, sizeof level);
        ls_text_set(&text, "  %s %s", levels[i - 1].is_put_into_next ? "inlined into" : "called by",
                    level);
        cells[columns - 1] = text.bytes;
        explain_sheet_row(sheet, false, cells);
    }
}

static void add_trace(explain_sheet *sheet, const explain_report *report)
{
    static const explain_column columns[] = {{"pass", 12},  {"field", 28}, {"before", 24},
                                             {"after", 24}, {"by", 0},     {NULL, 0}};
    const explain_evidence *evidence = report->evidence;
    const explain_write_trace *trace = &evidence->trace;
    const char *why_not = evidence->not_traced.bytes;
    ls_text heading = {{0}}, more = {{0}};
    if (!evidence->trace_name) {
        return;
    }
    ls_text_set(&heading, "%s to %s in tick %" PRIu32 ": ",
                trace->is_watched ? "Writes" : "Changes by passes", evidence->trace_name,
                evidence->bundle->tick - 1);
    if (why_not[0] != '\0') {
        ls_text_add(&heading, "not traced: %s", why_not);
    } else {
        ls_text_add(&heading, "%" PRIu64, trace->count);
    }
    explain_sheet_begin(sheet, heading.bytes, columns);
    uint32_t shown = sheet->html ? EXPLAIN_WRITES_MAX : WRITES_SHOWN;
    for (uint32_t i = 0; i < trace->list_count && i < shown; i++) {
        explain_write_text text = explain_report_write_of(report, &trace->writes[i]);
        explain_sheet_row(
            sheet, false,
            (const char *const[]){text.pass, text.field, text.before, text.after, text.by});
        add_stack(sheet, report, 5, &trace->writes[i]);
    }
    if (trace->count > shown) {
        ls_text_set(&more, "... and %" PRIu64 " more", trace->count - shown);
    }
    explain_sheet_end(sheet, more.bytes[0] != '\0' ? more.bytes : NULL);
}

/* One side of the first write in which two builds differ. */
static void add_differing_row(explain_sheet *sheet, const explain_report *report, const char *build,
                              const explain_field_write *write)
{
    if (!write) {
        explain_sheet_row(sheet, false,
                          (const char *const[]){build, "", "", "", "", "it does not write this"});
        return;
    }
    explain_write_text text = explain_report_write_of(report, write);
    explain_sheet_row(
        sheet, true,
        (const char *const[]){build, text.pass, text.field, text.before, text.after, text.by});
    add_stack(sheet, report, 6, write);
}

/* ---- machine code ---- */

void explain_report_listings(const explain_report *report, const explain_field_write *here,
                             const explain_field_write *other, explain_listing listings[2])
{
    explain_machine_code *code = explain_machine_code_open();
    const explain_field_write *writes[2] = {here, other};
    for (uint32_t i = 0; i < 2; i++) {
        listings[i] = (explain_listing){.count = 0};
        if (writes[i] && writes[i]->instruction != 0) {
            explain_machine_code_list(code, report->places, writes[i]->instruction, &listings[i]);
        }
    }
    explain_machine_code_close(code);
    if (listings[0].count > 0 && listings[1].count > 0) {
        explain_listing_compare(&listings[0], &listings[1]);
    }
}

/* "write", "differs", both or "". */
static const char *mark_of(const explain_instruction *instruction)
{
    static const char *const marks[] = {"", "<- differs", "<- writes it", "<- writes it, differs"};
    return marks[(instruction->is_wanted ? 2 : 0) + (instruction->differs ? 1 : 0)];
}

static void add_listing(explain_sheet *sheet, const explain_report *report, const char *build,
                        const explain_listing *listing)
{
    static const explain_column columns[] = {
        {"at", 10}, {"instruction", 56}, {"line", 32}, {"", 0}, {NULL, 0}};
    ls_text heading = {{0}};
    if (listing->count == 0) {
        return;
    }
    ls_text_set(&heading, "Machine code of %s around that write (* the other has none such)",
                build);
    explain_sheet_begin(sheet, heading.bytes, columns);
    for (uint32_t i = 0; i < listing->count; i++) {
        const explain_instruction *instruction = &listing->list[i];
        explain_code_level level;
        char at[24], line[80] = "";
        ls_text text = {{0}};
        explain_code_places_levels(report->places, instruction->address, false, &level, 1);
        snprintf(at, sizeof at, "+0x%" PRIx64, instruction->address - listing->function);
        ls_text_set(&text, "%s %s", instruction->mnemonic, instruction->operands);
        if (level.file[0] != '\0') {
            snprintf(line, sizeof line, "%s:%d", level.file, level.line);
        }
        const char *const cells[] = {listing->function != 0 ? at : "", text.bytes, line,
                                     mark_of(instruction)};
        explain_sheet_row(sheet, instruction->differs, cells);
    }
    explain_sheet_end(sheet, NULL);
}

static void add_differing_write(explain_sheet *sheet, const explain_report *report)
{
    static const explain_column columns[] = {{"build", 8},   {"pass", 12},  {"field", 28},
                                             {"before", 24}, {"after", 24}, {"by", 0},
                                             {NULL, 0}};
    const explain_evidence *evidence = report->evidence;
    const explain_field_write *here = NULL, *other = NULL;
    bool do_differ = explain_evidence_differing_write(evidence, &here, &other);
    if (!evidence->has_other) {
        return;
    }
    ls_text heading = {{0}};
    ls_text_set(&heading, "The first write to %s in which the two builds differ",
                evidence->trace_name ? evidence->trace_name : "a field");
    explain_sheet_begin(sheet, heading.bytes, columns);
    if (do_differ) {
        add_differing_row(sheet, report, "--sim", here);
        add_differing_row(sheet, report, "--against", other);
    }
    bool has_none = evidence->trace.list_count == 0;
    const char *why = evidence->not_compared.bytes[0] ? evidence->not_compared.bytes
                      : evidence->not_traced.bytes[0] ? evidence->not_traced.bytes
                      : has_none                      ? "neither writes it in this tick"
                                                      : "both write the same values to it";
    explain_sheet_end(sheet, do_differ ? NULL : why);
    if (do_differ) {
        explain_listing listings[2];
        explain_report_listings(report, here, other, listings);
        add_listing(sheet, report, "--sim", &listings[0]);
        add_listing(sheet, report, "--against", &listings[1]);
    }
}

/* ---- the chain of differences ---- */

static void add_chain_write(explain_sheet *sheet, const explain_report *report,
                            const explain_link *link, uint32_t number)
{
    explain_write_text here = {.pass = "", .after = ""};
    explain_write_text other = {.pass = "", .after = ""};
    char what[24];
    snprintf(what, sizeof what, "%" PRIu32 " write", number);
    if (link->has_here) {
        here = explain_report_write_of(report, &link->here);
    }
    if (link->has_other) {
        other = explain_report_write_of(report, &link->other);
    }
    const explain_write_text *shown = link->has_here ? &here : &other;
    const char *no = report->chain->has_other ? "not written" : "";
    explain_sheet_row(sheet, true,
                      (const char *const[]){what, shown->field, link->has_here ? here.after : no,
                                            link->has_other ? other.after : no, shown->pass,
                                            shown->by});
    add_stack(sheet, report, 6, link->has_here ? &link->here : &link->other);
}

static void add_chain_reads(explain_sheet *sheet, const explain_report *report,
                            const explain_link *link)
{
    bool has_other = report->chain->has_other;
    for (uint32_t i = 0; i < link->read_count; i++) {
        const explain_read *read = &link->reads[i];
        explain_read_text text = explain_report_read_of(read);
        const char *word = !read->differs ? " "
                           : has_other    ? "<- differs before it"
                                          : "<- differs after the tick";
        explain_sheet_row(sheet, false,
                          (const char *const[]){link->is_decided ? "  decides" : "  reads",
                                                text.field, text.here, has_other ? text.other : "",
                                                " ", word});
    }
    if (link->reads_inputs) {
        explain_sheet_row(sheet, false,
                          (const char *const[]){"  reads", "players' inputs", " ", " ", " ", " "});
    }
    if (link->reads_more) {
        explain_sheet_row(sheet, false,
                          (const char *const[]){"  reads", "... and more", " ", " ", " ", " "});
    }
}

static void add_chain(explain_sheet *sheet, const explain_report *report)
{
    static const explain_column columns[] = {{"", 10},          {"field", 28}, {"--sim", 24},
                                             {"--against", 24}, {"pass", 12},  {"by", 0},
                                             {NULL, 0}};
    const explain_chain *chain = report->chain;
    ls_text heading = {{0}};
    if (!chain->field) {
        return;
    }
    ls_text_set(&heading, "Why %s differs in tick %" PRIu32 ", back to the first difference",
                chain->field, report->evidence->bundle->tick - 1);
    explain_sheet_begin(sheet, heading.bytes, columns);
    for (uint32_t i = 0; i < chain->count; i++) {
        add_chain_write(sheet, report, &chain->links[i], i + 1);
        add_chain_reads(sheet, report, &chain->links[i]);
    }
    explain_sheet_end(sheet, chain->end.bytes);
}

/* ---- tables ---- */

enum {
    TICKS_SHOWN = 8, /* of the state hashes, before and after the bad tick */
    HASH_TEXT_BYTES = 20,
    MACHINES = EXPLAIN_MACHINE_COUNT,
};

static const char *hash_text(bool is_known, uint64_t state_hash, char text[HASH_TEXT_BYTES])
{
    snprintf(text, HASH_TEXT_BYTES, "%016" PRIx64, state_hash);
    return is_known ? text : "";
}

/* Of a refused client the server knows no more than the hash. */
const char *explain_report_next(const explain_evidence *evidence)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    const ls_build_fingerprint *server = &bundle->server.print;
    if (bundle->tick > 0) {
        return ls_desync_class_next(bundle->verdict.kind);
    } else if (evidence->agreement != EXPLAIN_AGREES_CLIENT) {
        return "run this on the client's machine, or give --sim its plug-in";
    } else if (ls_build_fingerprint_differs(server, &evidence->here, LS_PRINT_SIMULATION)) {
        return ls_desync_class_next(LS_DESYNC_CLASS_BUILD);
    }
    return explain_is_of_arithmetic(bundle)
               ? "make floating point below the same: flags, libraries that are preloaded, the "
                 "processor"
               : "look at what init reads: files, the environment, the time, memory not set";
}

static void add_verdict(explain_sheet *sheet, const explain_report *report)
{
    static const explain_column columns[] = {{"", 10}, {"", 0}, {NULL, 0}};
    const explain_evidence *evidence = report->evidence;
    const ls_desync_verdict *verdict = &evidence->bundle->verdict;
    const ls_desync_bundle *bundle = evidence->bundle;
    const char *cause = explain_line_cause(report->line);
    ls_text pass = {{0}}, here = {{0}}, simulation = {{0}}, hashes = {{0}}, kind = {{0}};
    ls_text_set(&kind, "%s%s%s", ls_desync_class_word(verdict->kind), cause[0] ? ": " : "", cause);
    explain_evidence_pass_text(evidence, &pass);
    ls_text_set(&here, "%s", explain_agreement_text(evidence->agreement));
    if (evidence->agreement == EXPLAIN_AGREES_NOT_RUN) {
        ls_text_add(&here, ": %s", evidence->not_run.bytes);
    }
    ls_text rate = {{0}};
    ls_rate_add_text(ls_sim_config_rate(&bundle->config), &rate);
    ls_text_set(&simulation, "%s version %" PRIu32 ", seed %" PRIu64 ", %s Hz, %" PRIu32 " players",
                bundle->simulation, bundle->simulation_version, bundle->config.seed, rate.bytes,
                bundle->config.players);
    ls_text_set(&hashes, "server %016" PRIx64 ", client %016" PRIx64, bundle->server_hash,
                bundle->client_hash);
    const char *const rows[][2] = {{"simulation", simulation.bytes},
                                   {"hashes", hashes.bytes},
                                   {"class", kind.bytes},
                                   {"why", verdict->why.bytes},
                                   {"at fault", ls_desync_culprit_word(verdict->culprit)},
                                   {"next", explain_report_next(evidence)},
                                   {"first pass", pass.bytes},
                                   {"here", here.bytes}};
    explain_sheet_begin(sheet, NULL, columns);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        explain_sheet_row(sheet, false, rows[i]);
    }
    explain_sheet_end(sheet, evidence->missing.bytes[0] != '\0' ? evidence->missing.bytes : NULL);
}

static const explain_column field_columns[] = {
    {"field", 32}, {"server", 28}, {"client", 0}, {NULL, 0}};

static void add_fields_after_pass(explain_sheet *sheet, const explain_evidence *evidence)
{
    const ls_bundle_pass_places *after = &evidence->bundle->after_pass;
    if (after->count == 0 || after->pass >= evidence->bundle->pass_count) {
        return;
    }
    ls_text heading = {{0}};
    ls_text extent =
        ls_state_difference_extent(after->elements, after->fields, after->is_lower_bound);
    ls_text_set(&heading, "Fields that differ after pass %s, as each machine ran it again: %s",
                evidence->bundle->passes[after->pass], extent.bytes);
    explain_sheet_begin(sheet, heading.bytes, field_columns);
    for (uint32_t i = 0; i < after->count; i++) {
        const ls_difference_text *text = &after->places[i];
        explain_sheet_row(sheet, false, (const char *const[]){text->name, text->a, text->b});
    }
    explain_sheet_end(sheet, NULL);
}

static void add_fields(explain_sheet *sheet, const explain_evidence *evidence)
{
    const ls_state_difference *found = &evidence->difference;
    ls_text count = {{0}}, heading = {{0}};
    explain_report_count_text(evidence, &count);
    ls_text_set(&heading, "Fields that differ %s: %s",
                evidence->bundle->tick > 0 ? "at the end of the tick" : "in the first state",
                count.bytes);
    explain_sheet_begin(sheet, heading.bytes, field_columns);
    for (uint32_t i = 0; i < found->place_count; i++) {
        ls_difference_text text = ls_state_difference_text(
            &found->places[i], evidence->server_state, evidence->client_state);
        explain_sheet_row(sheet, false, (const char *const[]){text.name, text.a, text.b});
    }
    const char *note = NULL;
    if (evidence->has_difference && !evidence->is_server_state_proved) {
        note = "The server's state in the bundle does not have the state hash of the match.";
    } else if (evidence->has_difference && !evidence->is_client_state_proved) {
        note = evidence->bundle->tick > 0
                   ? "The client's state is known in part: it does not have the state hash that "
                     "the client sent."
                   : "The client's are what this machine makes, which does not have the client's "
                     "hash either.";
    }
    explain_sheet_end(sheet, note);
}

static void add_passes(explain_sheet *sheet, const explain_evidence *evidence)
{
    static const explain_column columns[] = {{"after", 16}, {"server", 16}, {"client", 16},
                                             {"here", 16},  {"", 0},        {NULL, 0}};
    const ls_desync_bundle *bundle = evidence->bundle;
    char texts[MACHINES][HASH_TEXT_BYTES];
    ls_text heading = {{0}};
    ls_text_set(&heading, "Passes of tick %" PRIu32 ", as each machine ran it again",
                bundle->tick - 1);
    explain_sheet_begin(sheet, heading.bytes, columns);
    for (uint32_t pass = 0; pass < bundle->pass_count; pass++) {
        bool is_first = evidence->differing_pass == LS_PASS_AT && pass == evidence->pass;
        const char *cells[MACHINES + 2] = {bundle->passes[pass]};
        for (uint32_t i = 0; i < MACHINES; i++) {
            const ls_pass_trace *trace = explain_evidence_passes(evidence, i);
            cells[i + 1] = hash_text(pass < trace->pass_count, trace->state_hashes[pass], texts[i]);
        }
        cells[MACHINES + 1] = is_first ? "<- differs first" : "";
        explain_sheet_row(sheet, is_first, cells);
    }
    explain_sheet_end(sheet, NULL);
}

static void add_inputs(explain_sheet *sheet, const explain_evidence *evidence)
{
    static const explain_column columns[] = {{"slot", 4}, {"events", 12}, {"bytes", 0}, {NULL, 0}};
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_text heading = {{0}};
    bool is_known = explain_report_inputs(evidence, slots);
    ls_text_set(&heading, "Inputs of tick %" PRIu32 "%s", evidence->bundle->tick - 1,
                is_known ? "" : ": not in the bundle");
    explain_sheet_begin(sheet, heading.bytes, columns);
    for (uint32_t slot = 0; is_known && slot < evidence->bundle->config.players; slot++) {
        char number[12], bytes[EXPLAIN_REPORT_INPUT_TEXT_BYTES];
        snprintf(number, sizeof number, "%" PRIu32, slot);
        explain_report_input_text(&slots[slot], bytes);
        const char *events = explain_report_events_text(slots[slot].events);
        explain_sheet_row(sheet, false, (const char *const[]){number, events, bytes});
    }
    explain_sheet_end(sheet, NULL);
}

/* The figures of one machine's runs of the same ticks. */
static void add_figures(explain_sheet *sheet, const char *who, const ls_rerun_figures *figures)
{
    const struct {
        uint32_t known;
        uint64_t state_hash;
    } runs[] = {{LS_RERUN_LIVE, figures->live},
                {LS_RERUN_FRESH, figures->fresh},
                {LS_RERUN_AGAIN, figures->again},
                {LS_RERUN_RELOADED, figures->reloaded},
                {LS_RERUN_APART, figures->apart}};
    enum {
        RUNS = sizeof runs / sizeof runs[0]
    };
    char texts[RUNS][HASH_TEXT_BYTES];
    const char *cells[RUNS + 2] = {who};
    ls_text stray = {{0}};
    for (uint32_t i = 0; i < RUNS; i++) {
        cells[i + 1] =
            hash_text((figures->known & runs[i].known) != 0, runs[i].state_hash, texts[i]);
    }
    if (figures->known != 0 && figures->strayed < figures->tick) {
        ls_text_set(&stray, "strays from state %" PRIu32 " on", figures->strayed);
    }
    cells[RUNS + 1] = stray.bytes;
    explain_sheet_row(sheet, stray.bytes[0] != '\0', cells);
}

static void add_reruns(explain_sheet *sheet, const explain_evidence *evidence)
{
    static const explain_column columns[] = {
        {"machine", 8},        {"match", 16},         {"fresh", 16}, {"once more", 16},
        {"saved, loaded", 16}, {"other process", 16}, {"", 0},       {NULL, 0}};
    const ls_desync_bundle *bundle = evidence->bundle;
    ls_rerun_figures here = evidence->figures;
    ls_text heading = {{0}};
    here.known &= ~LS_RERUN_LIVE; /* it took no part in the match */
    ls_text_set(&heading,
                "Hashes of state %" PRIu32 ": in the match, and run again from snapshot %" PRIu32,
                bundle->tick, bundle->snapshot_tick);
    explain_sheet_begin(sheet, heading.bytes, columns);
    add_figures(sheet, "server", &bundle->server.figures);
    add_figures(sheet, "client", &bundle->client.figures);
    add_figures(sheet, "here", &here);
    explain_sheet_end(sheet, NULL);
}

static void add_timeline(explain_sheet *sheet, const explain_evidence *evidence)
{
    static const explain_column columns[] = {
        {"state", 10}, {"server", 16}, {"client", 16}, {"here", 0}, {NULL, 0}};
    ls_tick bad = evidence->bundle->tick;
    ls_tick first = bad > TICKS_SHOWN / 2 ? bad - TICKS_SHOWN / 2 : 0;
    ls_text heading = {{0}};
    ls_text_set(&heading, "State hashes around state %" PRIu32, bad);
    explain_sheet_begin(sheet, heading.bytes, columns);
    for (ls_tick tick = first; tick < first + TICKS_SHOWN; tick++) {
        uint64_t hashes[MACHINES] = {0};
        bool is_known[MACHINES];
        char texts[MACHINES][HASH_TEXT_BYTES], number[12];
        const char *cells[MACHINES + 1] = {number};
        snprintf(number, sizeof number, "%" PRIu32, tick);
        for (uint32_t i = 0; i < MACHINES; i++) {
            is_known[i] = explain_evidence_hash(evidence, i, tick, &hashes[i]);
            cells[i + 1] = hash_text(is_known[i], hashes[i], texts[i]);
        }
        if (is_known[0] || is_known[1] || is_known[2]) {
            explain_sheet_row(sheet, is_known[0] && is_known[1] && hashes[0] != hashes[1], cells);
        }
    }
    explain_sheet_end(sheet, NULL);
}

/* One row when all three are the same or not known, else a row each. */
static void add_item(explain_sheet *sheet, const explain_evidence *evidence,
                     ls_fingerprint_item item)
{
    const ls_build_fingerprint *server = &evidence->bundle->server.print;
    const ls_build_fingerprint *client = &evidence->bundle->client.print;
    const char *name = ls_fingerprint_item_name(item);
    const char *known = "";
    bool is_same = true;
    for (uint32_t i = 0; i < MACHINES; i++) {
        const ls_build_fingerprint *print = explain_evidence_print(evidence, i);
        is_same = is_same && !ls_build_fingerprint_differs(server, print, item) &&
                  !ls_build_fingerprint_differs(client, print, item);
        known = print->items[item][0] != '\0' ? print->items[item] : known;
    }
    if (is_same) {
        explain_sheet_row(sheet, false, (const char *const[]){name, "all", known});
        return;
    }
    for (uint32_t i = 0; i < MACHINES; i++) {
        const ls_build_fingerprint *print = explain_evidence_print(evidence, i);
        const char *const cells[] = {name, explain_machine_name(i), print->items[item]};
        explain_sheet_row(sheet, ls_build_fingerprint_differs(server, print, item), cells);
    }
}

static void add_machines(explain_sheet *sheet, const explain_evidence *evidence)
{
    static const explain_column columns[] = {
        {"item", 14}, {"side", 6}, {"what it has", 0}, {NULL, 0}};
    explain_sheet_begin(sheet, "Machines (* differs from the server's)", columns);
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        add_item(sheet, evidence, (ls_fingerprint_item)item);
    }
    explain_sheet_end(sheet, NULL);
}

static void add_reproductions(explain_sheet *sheet, const explain_reproductions *reproductions)
{
    static const explain_column columns[] = {
        {"here, with this changed", 42}, {"result", 0}, {NULL, 0}};
    static const char *const results[] = {"not run", "the server's", "the client's",
                                          "neither side's", "unstable"};
    ls_text note;
    explain_sheet_begin(sheet, "Run again under changes", columns);
    for (uint32_t i = 0; i < reproductions->count; i++) {
        const explain_reproduction *run = &reproductions->runs[i];
        ls_text result;
        ls_text_set(&result, "%s%s%s", run->has_report ? "it reports" : results[run->agreement],
                    run->why.bytes[0] ? ": " : "", run->why.bytes);
        explain_sheet_row(sheet, run->agreement == EXPLAIN_AGREES_CLIENT || run->has_report,
                          (const char *const[]){run->change, result.bytes});
    }
    explain_reproductions_text(reproductions, &note);
    explain_sheet_end(sheet, note.bytes);
}

void explain_report_fill(explain_sheet *sheet, const explain_report *report)
{
    const explain_evidence *evidence = report->evidence;
    add_verdict(sheet, report);
    add_fields_after_pass(sheet, evidence);
    add_fields(sheet, evidence);
    if (evidence->bundle->tick == 0) {
        add_machines(sheet, evidence);
        return;
    }
    add_passes(sheet, evidence);
    add_inputs(sheet, evidence);
    add_reruns(sheet, evidence);
    add_reproductions(sheet, report->reproductions);
    add_timeline(sheet, evidence);
    add_machines(sheet, evidence);
    add_differing_write(sheet, report);
    add_trace(sheet, report);
    add_chain(sheet, report);
}

ls_text explain_report_began(const ls_desync_bundle *bundle)
{
    ls_text text = {{0}};
    if (bundle->tick > 0) {
        ls_text_set(&text,
                    "differs from the server from state %" PRIu32 " on, which tick %" PRIu32
                    " made.",
                    bundle->tick, bundle->tick - 1);
    } else {
        ls_text_set(&text, "was refused: its %s the server's.",
                    explain_is_of_arithmetic(bundle) ? "arithmetic is not" : "first state is not");
    }
    return text;
}

void explain_report_write_text(FILE *file, const explain_report *report)
{
    const ls_desync_bundle *bundle = report->evidence->bundle;
    explain_sheet sheet = {.file = file};
    ls_text whose = {"A spectator"};
    ls_text began = explain_report_began(bundle);
    if (bundle->slot < bundle->config.players) {
        ls_text_set(&whose, "Slot %" PRIu32, bundle->slot);
    } else if (explain_is_of_arithmetic(bundle)) {
        ls_text_set(&whose, "A client");
    }
    fprintf(file, "%s\n%s (%s) %s\n", report->bundle_path, whose.bytes,
            bundle->player[0] != '\0' ? bundle->player : "unnamed", began.bytes);
    ls_text lines[EXPLAIN_LINE_TEXTS];
    uint32_t count = explain_line_text(report->line, report->evidence, lines);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(file, "%s%s\n", i == 0 ? "" : "  ", lines[i].bytes);
    }
    if (report->reproductions->memory.bytes[0]) {
        fprintf(file, "  %s\n", report->reproductions->memory.bytes);
    }
    fprintf(file, "\n");
    explain_report_fill(&sheet, report);
}
