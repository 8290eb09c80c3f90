#include "lockstep/tools/desync/report_code.h"

#include <inttypes.h>

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

void explain_report_add_trace(explain_sheet *sheet, const explain_report *report)
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
                          (const char *const[]){build, "", "", "", "", "it writes no more"});
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

void explain_report_add_differing_write(explain_sheet *sheet, const explain_report *report)
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
    const char *why = evidence->not_compared.bytes[0] ? evidence->not_compared.bytes
                      : evidence->not_traced.bytes[0] ? evidence->not_traced.bytes
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

void explain_report_add_chain(explain_sheet *sheet, const explain_report *report)
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
