#include "lockstep/tools/desync/report.h"

#include "lockstep/common/base/text.h"

#include <inttypes.h>
#include <string.h>

void explain_report_input_text(const ls_slot_input *input,
                               char text[EXPLAIN_REPORT_INPUT_TEXT_BYTES])
{
    uint32_t shown = LS_MIN(input->size, EXPLAIN_REPORT_INPUT_BYTES);
    char digits[2 * EXPLAIN_REPORT_INPUT_BYTES + 1];
    ls_hex_write(digits, input->bytes, shown);
    snprintf(text, EXPLAIN_REPORT_INPUT_TEXT_BYTES, "%s%s", shown == 0 ? "empty" : digits,
             shown < input->size ? "..." : "");
}

const char *explain_report_events_text(uint32_t events)
{
    static const char *const texts[] = {"", "joined", "left", "joined, left"};
    return texts[events & (LS_EVENT_JOINED | LS_EVENT_LEFT)];
}

bool explain_report_inputs(const explain_evidence *evidence, ls_slot_input slots[LS_PLAYERS_MAX])
{
    const ls_desync_bundle *bundle = evidence->bundle;
    return bundle->inputs && ls_input_buffer_tick(bundle->inputs, bundle->tick - 1, slots) == LS_OK;
}

void explain_report_count_text(const explain_evidence *evidence, ls_text *out)
{
    const ls_state_difference *found = &evidence->difference;
    if (!evidence->has_difference) {
        ls_text_set(out, "not known: the bundle does not have both states");
        return;
    }
    if (found->elements == 0) {
        ls_text_set(out, "none: the bundle has the same state for both sides%s",
                    found->is_lower_bound ? ", as far as the client's is known" : "");
        return;
    }
    *out = ls_state_difference_extent(found->elements, found->fields, found->is_lower_bound);
    if (found->place_count < found->elements) {
        ls_text_add(out, ", %" PRIu32 " of them shown", found->place_count);
    }
}

explain_write_text explain_report_write_of(const explain_report *report,
                                           const explain_field_write *write)
{
    const ls_desync_bundle *bundle = report->evidence->bundle;
    explain_write_text text = {
        .pass = write->pass < bundle->pass_count ? bundle->passes[write->pass] : "?"};
    explain_field_write_name(write, text.field, sizeof text.field);
    explain_field_write_value(write, false, text.before, sizeof text.before);
    explain_field_write_value(write, true, text.after, sizeof text.after);
    if (write->instruction != 0) {
        explain_code_level innermost;
        explain_code_places_levels(report->places, write->instruction, false, &innermost, 1);
        explain_code_level_text(&innermost, text.by, sizeof text.by);
    }
    return text;
}

uint32_t explain_report_levels(const explain_report *report, const explain_field_write *write,
                               explain_code_level levels[EXPLAIN_LEVELS_MAX])
{
    return explain_code_places_stack(report->places, write->instruction, write->stack,
                                     write->stack_count, levels);
}

explain_read_text explain_report_read_of(const explain_read *read)
{
    explain_read_text text;
    explain_field_write as_write = {.place = read->place};
    memcpy(as_write.before, read->here, sizeof as_write.before);
    memcpy(as_write.after, read->other, sizeof as_write.after);
    explain_field_write_name(&as_write, text.field, sizeof text.field);
    explain_field_write_value(&as_write, false, text.here, sizeof text.here);
    explain_field_write_value(&as_write, true, text.other, sizeof text.other);
    return text;
}

/* ---- sheet ---- */

static void write_cell(explain_sheet *sheet, const char *tag, const explain_column *column,
                       const char *text)
{
    if (sheet->html) {
        ls_html_element(sheet->html, tag, "v", text);
    } else if (column[1].name) {
        fprintf(sheet->file, "%-*s  ", column->width, text);
    } else {
        fprintf(sheet->file, "%s\n", text);
    }
}

static void begin_row(explain_sheet *sheet, bool is_bad)
{
    if (!sheet->html) {
        fputs(is_bad ? "* " : "  ", sheet->file);
        return;
    }
    ls_html_begin(sheet->html, "tr");
    if (is_bad) {
        ls_html_attribute(sheet->html, "class", "bad");
    }
}

static void end_row(explain_sheet *sheet)
{
    if (sheet->html) {
        ls_html_end(sheet->html);
    }
}

static void write_names(explain_sheet *sheet)
{
    begin_row(sheet, false);
    for (const explain_column *column = sheet->columns; column->name; column++) {
        write_cell(sheet, "th", column, column->name);
    }
    end_row(sheet);
}

void explain_sheet_begin(explain_sheet *sheet, const char *heading, const explain_column *columns)
{
    sheet->columns = columns;
    sheet->has_rows = columns[0].name[0] == '\0' && columns[1].name[0] == '\0'; /* no names */
    if (sheet->html) {
        ls_html_begin(sheet->html, "details");
        if (sheet->is_open) {
            ls_html_attribute(sheet->html, "open", "");
        }
        ls_html_element(sheet->html, "summary", NULL, heading ? heading : "Summary");
        ls_html_begin(sheet->html, "table");
    } else if (heading) {
        fprintf(sheet->file, "%s\n", heading);
    }
}

void explain_sheet_row(explain_sheet *sheet, bool is_bad, const char *const *cells)
{
    if (!sheet->has_rows) {
        write_names(sheet);
        sheet->has_rows = true;
    }
    begin_row(sheet, is_bad);
    for (const explain_column *column = sheet->columns; column->name; column++, cells++) {
        bool is_missing = **cells == '\0' && column->name[0] != '\0';
        write_cell(sheet, "td", column, is_missing ? "-" : *cells);
    }
    end_row(sheet);
}

void explain_sheet_end(explain_sheet *sheet, const char *note)
{
    if (sheet->html) {
        ls_html_end(sheet->html);
        if (note) {
            ls_html_element(sheet->html, "p", "note", note);
        }
        ls_html_end(sheet->html);
    } else {
        fprintf(sheet->file, "%s%s%s\n", note ? "  " : "", note ? note : "", note ? "\n" : "");
    }
}
